"""ORDER BY and LIMIT: the rows of a result in their order, and the first of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ensue.engines.reference.expressions import Events, Expressions, Scope
from ensue.engines.reference.patterns import ComplexEvent
from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.own_automata import literal_of
from ensue.logic.partition_keys import key_name
from ensue.logic.sort_columns import SortColumn


def in_order(checked: Checked, events: Events, found: list[ComplexEvent]) -> list[ComplexEvent]:
    """The complex events as ORDER BY sorts their rows. Equal rows stay as they are."""
    rows = list(found)
    for by in reversed(checked.order):
        values = {c: _value(by, checked, events, c) for c in rows}
        rows.sort(key=lambda c: _rank(values[c], by), reverse=by.descending)
    return rows


def first_rows(checked: Checked, found: list[ComplexEvent], partition_of: Mapping[int, int]) -> list[ComplexEvent]:
    """What LIMIT takes of the whole result, or of each partition; `partition_of` are those of the ends."""
    query = checked.query
    if query.limit is None or query.per is ast.Per.END:
        return found
    taken: Counter[int] = Counter()
    kept = []
    for c in found:
        group = partition_of[c.end] if query.per is ast.Per.PARTITION else 0
        if taken[group] < query.limit:
            kept.append(c)
        taken[group] += 1
    return kept


def _value(by: SortColumn, checked: Checked, events: Events, c: ComplexEvent) -> Any:
    if by.name in ("start_time", "end_time"):
        return events.nanoseconds[c.start if by.name == "start_time" else c.end]
    for key in checked.query.partition:
        if key_name(key) == by.name:
            return Expressions(events).value(key.expression or ast.Name(key.attribute), Scope(here=c.end))
    e = next(o.expression for o in checked.outputs if o.name == by.name)
    register = dict(c.register)

    def held(part: ast.Expression) -> ast.Expression | None:
        return literal_of(register[part.name], part.type) if isinstance(part, ast.InRegister) else None

    e = ast.replaced(e, held)
    marked: dict[str, list[int]] = {}
    for variable, position in sorted(c.marks, key=lambda mark: mark[1]):
        marked.setdefault(variable, []).append(position)
    single = {variable: positions[0] for variable, positions in marked.items() if len(positions) == 1}
    used = [n.variable for n in ast.find(e, ast.Attribute)] + [n.name for n in ast.find(e, ast.Name)]
    nothing: dict[str, Sequence[int]] = dict.fromkeys(used, ())
    return Expressions(events).value(e, Scope(chosen=single, sets={**nothing, **marked}))


def _rank(value: Any, by: SortColumn) -> tuple[Any, ...]:
    """NULLs before or after all else; NaN is the greatest number."""
    if value is None:
        return (2 if by.nulls_first == by.descending else 0,)
    return (1, True, 0) if value != value else (1, False, value)
