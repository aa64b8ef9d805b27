"""The lines of `explain` about conditions between events: looked up, judged late, or asked of each partial match."""

from __future__ import annotations

from collections.abc import Iterator

from ensue.automata.registers import formulas_of
from ensue.data.schema import Schema
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.aggregate_bounds import is_bounded
from ensue.logic.classify import conjuncts_of
from ensue.logic.comparisons import comparison
from ensue.logic.earlier_forms import earlier_form, is_exact, why_late
from ensue.logic.linear_bounds import is_linear
from ensue.logic.local_conditions import local_conditions
from ensue.logic.narrowing import looked_up
from ensue.logic.scope import Bindings, bindings, variables_of
from ensue.plan import Plan
from ensue.plan.choice import Choice

_INDENT = " " * 14


def late_lines(choice: Choice) -> list[str]:
    """What is looked up, what is judged late or interpreted, why, and how to write it so that it is not."""
    plan, checked = choice.plan, choice.checked
    assert plan is not None
    schema = checked.schema
    lines: list[str] = []
    early = _interpreted(choice, plan)
    orders = {c: order for c in early if (order := _order(c, schema))}
    lines += [f"looked up     in the order of {order}: {print_expression(c)}" for c, order in orders.items()]
    for kind, conditions in (
        ("judged        on whole matches: ", plan.related),
        ("interpreted   for each open partial match: ", [c for c in early if c not in orders]),
    ):
        for c in conditions:
            lines.append(f"{kind}{print_expression(c)}")
            known = _known(checked.query.pattern, c)
            lines += [f"{_INDENT}{line}" for line in _advice(c, known, earlier_form(c, known, schema))]
            if plan.bounds and (is_bounded(c) or is_linear(c)):
                lines.append(f"{_INDENT}what cannot pass is left out while matches are listed")
    return lines


def _known(pattern: ast.Pattern, c: ast.Expression) -> Bindings:
    """The variables where the filter with this condition stands."""
    inside = (f.body for f in ast.find(pattern, ast.Filter) if c in conjuncts_of(f.condition))
    return bindings(next(inside, pattern))


def _interpreted(choice: Choice, plan: Plan) -> list[ast.Expression]:
    """The conditions between events that no register checks alone, where the plan computes some."""
    if not any(formulas_of(actions) for actions in plan.actions):
        return []
    filters = ast.find(choice.checked.query.pattern, ast.Filter)
    said = [c for f in filters for c in conjuncts_of(f.condition)]
    judged = (c.condition if isinstance(c, ast.EachRound) else c for c in plan.related)
    elsewhere = {*judged, *local_conditions(choice.checked.query.pattern)}
    several = [c for c in said if len(variables_of(c)) > 1 and c not in elsewhere]
    return [c for c in dict.fromkeys(several) if comparison(c, choice.checked.schema) is None]


def _order(c: ast.Expression, schema: Schema | None) -> str:
    """What the events that the condition may hold for are looked up by, whichever of them comes first."""
    found = looked_up(c, schema)
    return " or ".join(sorted(min(parts) for parts in found.values())) if all(found.values()) else ""


def _advice(c: ast.Expression, known: Bindings, other: str | None) -> Iterator[str]:
    yield f"because {why_late(c, known)}"
    if other is not None:
        yield f"write {other}: it is checked when the second event comes"
        if not is_exact(c):
            yield "the two differ for NaN, and where arithmetic rounds or overflows"
