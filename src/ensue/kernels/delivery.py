"""How an evaluator gives its matches, and how much memory it may take for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ensue.data.budget import Budget
from ensue.plan import Plan
from ensue.plan.mode import Mode


@dataclass(frozen=True)
class Delivery:
    """What is asked of an evaluator beside its plan."""

    union: bool = False  # the matches of an end are found as one, which has all their events
    together: bool = False  # all matches of an end come in one part: something is still decided among them
    passing: bool = False  # each part is let go before the next one is asked for: no more than one is held
    budget: Budget = field(default_factory=Budget)


def delivery_of(plan: Plan, mode: Mode, budget: Budget, *, passing: bool = False) -> Delivery:
    """What an evaluator is asked for if its complex events are then finished in this mode."""
    union = plan.walks(mode)
    decided = plan.judged or (mode is Mode.UNION and not union)
    return Delivery(union, decided, passing or decided, budget)
