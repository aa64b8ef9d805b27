"""Opens the engine that was chosen for a query, with its layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream
from ensue.engines.closings import ClosingEngine, Closings
from ensue.engines.deadlines import DeadlineEngine
from ensue.engines.pairs_apart import PairsApart
from ensue.engines.protocol import Engine
from ensue.logic.check import Checked
from ensue.plan import Plan
from ensue.plan.choice import Choice
from ensue.plan.closing import searched
from ensue.plan.mode import Mode

if TYPE_CHECKING:
    from ensue.engines.reference.totals_by_definition import ReferenceTotals

Progress = Callable[[int, int], None]


def opened(
    choice: Choice,
    tick: int | None,
    *,
    given: int = 0,
    mode: Mode = Mode.ENUMERATE,
    progress: Progress | None = None,
    budget: Budget | None = None,
    passing: bool = False,
    closing: bool = False,
) -> Engine:
    """The engine at the beginning of a stream; `tick` is the nanoseconds of one step of its times.

    `given` are the predicates that come evaluated with the events (`EventStream.predicate_bits`). The reference tells
    its `progress` through the partitions of a batch. With `passing`, no part of the matches is held for longer than it
    takes to hand it on, so that they may be more in all than the `budget` holds. `closing` says that `finish` will be
    called at the end.
    """
    budget = budget or Budget()
    if choice.runs is not None:
        from ensue.engines.runs_engine import RunsEngine  # numba is loaded where it is used

        return RunsEngine(choice.runs, tick, budget)
    if choice.layers is not None:
        from ensue.engines.layered_engine import LayeredEngine  # numba is loaded where it is used

        def opened_part(part: Choice) -> Engine:
            return opened(part, tick, budget=budget, closing=closing)

        return LayeredEngine(choice.layers, tick, budget, opened_part, closing=closing)
    if choice.plan is None:
        from ensue.engines.reference.batches import ReferenceEngine

        return ReferenceEngine(choice.evaluated, tick, progress, budget)
    if choice.plan.alternatives:
        each = (replace(choice, plan=p) for p in choice.plan.alternatives)
        return PairsApart([opened(c, tick, given=given, budget=budget) for c in each], choice.plan.marks)
    from ensue.engines.automaton import AutomatonEngine  # numba is loaded where it is used
    from ensue.kernels.delivery import delivery_of

    waiting = choice.plan.absence is not None or choice.plan.closing is not None
    plan = searched(choice.plan)
    delivery = delivery_of(plan, mode, budget, passing=passing and not waiting)
    engine = AutomatonEngine(plan, tick, delivery, given=given)
    if choice.plan.closing is not None:
        return ClosingEngine(engine, opened_closings(choice.plan, tick, budget))
    return engine if choice.plan.absence is None else DeadlineEngine(engine, choice.plan, tick, budget, closing=closing)


def totals_by_definition(
    checked: Checked, stream: EventStream, found: ComplexEvents, every: int | None
) -> ReferenceTotals:
    """What AGGREGATE asks of these matches, as the reference defines it."""
    from ensue.engines.reference.totals_by_definition import ReferenceTotals

    return ReferenceTotals(checked, stream, found, every)


def opened_closings(plan: Plan, tick: int | None, budget: Budget) -> Closings:
    """The layer that waits for what closes the windows of a plan, at the beginning of a stream."""
    followers = None if plan.closing is None else plan.closing.followers
    return Closings(plan, None if followers is None else opened_plan(followers, tick, budget), budget)


def opened_plan(plan: Plan, tick: int | None, budget: Budget) -> Engine:
    """The automaton engine of a plan by itself, at the beginning of a stream."""
    from ensue.engines.automaton import AutomatonEngine  # numba is loaded where it is used
    from ensue.kernels.delivery import delivery_of

    return AutomatonEngine(plan, tick, delivery_of(plan, Mode.ENUMERATE, budget))
