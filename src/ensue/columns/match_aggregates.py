"""Aggregates over the events that a variable marks in each match: for conditions on whole matches, and for items."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from ensue.columns.aggregates import aggregate
from ensue.columns.evaluation import evaluated, named_by_text
from ensue.columns.own_calls import of_sets
from ensue.data.complex_events import ComplexEvents, Marks, Positions
from ensue.data.events import integers
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.own_aggregates import OwnAggregate
from ensue.logic.scope import attribute_variables

#: The values of an attribute at some positions.
ValuesAt = Callable[[str, Positions], pa.Array]


def aggregated(e: ast.Call, marks_of: Callable[[str], Marks], values_at: ValuesAt) -> pa.Array:
    """What the aggregate comes to in each match.

    It runs over the set of one variable. Others that it speaks of mark one event in each match, whose values go with
    every event of the set.
    """
    (argument,) = e.arguments
    if isinstance(argument, ast.Name):
        return integers(np.diff(marks_of(argument.name).offsets))
    marks = {x: marks_of(x) for x in sorted(attribute_variables(argument))}
    variable = next((x for x, m in marks.items() if not _is_single(m)), next(iter(marks)))
    if e.function in ("first", "last"):
        marks[variable] = _only(e.function, marks[variable])
    offsets = marks[variable].offsets
    match_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    columns = {}
    for term in ast.find(argument, ast.Attribute):
        positions = marks[term.variable].positions
        columns[print_expression(term)] = values_at(
            term.name, positions if term.variable == variable else positions[match_of]
        )
    values = evaluated(named_by_text(argument), columns, len(match_of))
    return (
        of_sets(e.own, values, offsets) if isinstance(e.own, OwnAggregate) else aggregate(e.function, values, offsets)
    )


def aggregated_of(found: ComplexEvents, aggregates: Iterable[ast.Call], values_at: ValuesAt) -> dict[str, pa.Array]:
    """What aggregates come to in each match, by their texts; those that were computed already are taken as they are."""
    return {
        text: found.computed[text] if text in found.computed else aggregated(e, _ends_of(found, e), values_at)
        for e in aggregates
        for text in (print_expression(e),)
    }


def _ends_of(found: ComplexEvents, e: ast.Call) -> Callable[[str], Marks]:
    """The marks of a match; of a window that was found by its ends, the one that the aggregate is of."""

    def marks(variable: str) -> Marks:
        if variable != found.span:
            return found.marks(variable)
        return Marks(np.arange(len(found) + 1), found.start if e.function == "first" else found.end)

    return marks


def _is_single(marks: Marks) -> bool:
    return bool((np.diff(marks.offsets) == 1).all())


def _only(end: str, marks: Marks) -> Marks:
    """The first or the last event of each set, so that others need not be looked at."""
    full = marks.offsets[1:] > marks.offsets[:-1]
    places = marks.offsets[:-1] if end == "first" else marks.offsets[1:] - 1
    return Marks(np.concatenate([[0], np.cumsum(full)]), marks.positions[places[full]])
