"""Conditions that relate events, judged over columns of complete matches for every choice of an event from each set."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.evaluation import holds, named_by_text
from ensue.columns.match_aggregates import aggregated
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream, integers, one_chunk
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.scope import aggregates_of, chosen_of, without_aggregates

Positions = npt.NDArray[np.int64]


def satisfying(found: ComplexEvents, conditions: Iterable[ast.Expression], events: EventStream) -> ComplexEvents:
    """The matches for which all conditions hold."""
    for condition in conditions:
        if len(found):
            kept = _holds(found, condition, events)
            found = found if bool(kept.all()) else found.in_order(np.flatnonzero(kept))
    return found


def _holds(found: ComplexEvents, condition: ast.Expression, events: EventStream) -> npt.NDArray[np.bool_]:
    """For each match, whether the condition is TRUE for every choice; a variable without events leaves no choice."""
    of_match, chosen = _choices(found, sorted(chosen_of(condition)))
    aggregates = {print_expression(a): a for a in aggregates_of(condition)}
    terms = {print_expression(a): a for a in ast.find(without_aggregates(condition), ast.Attribute)}

    def values_at(attribute: str, positions: Positions) -> pa.Array:
        return one_chunk(events.table.column(attribute).take(integers(positions)))

    columns = {text: values_at(a.name, chosen[a.variable]) for text, a in terms.items()}
    for text, a in aggregates.items():
        columns[text] = aggregated(a, found.marks, values_at).take(integers(of_match))
    good = holds(named_by_text(condition), columns, len(of_match))
    kept = np.ones(len(found), dtype=np.bool_)
    kept[of_match[~good]] = False
    return kept


def _choices(found: ComplexEvents, variables: list[str]) -> tuple[Positions, dict[str, Positions]]:
    """Every choice of one event a variable: the match it belongs to, and the event of each variable."""
    of_match = np.arange(len(found))
    chosen: dict[str, Positions] = {}
    for x in variables:
        marks = found.marks(x)
        counts = np.diff(marks.offsets)[of_match]
        before = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(marks.offsets[of_match] - before[:-1], counts) + np.arange(before[-1])
        chosen = {y: np.repeat(positions, counts) for y, positions in chosen.items()}
        chosen[x] = marks.positions[places]
        of_match = np.repeat(of_match, counts)
    return of_match, chosen
