"""Conditions that relate events, judged over columns of complete matches for every choice of an event from each set."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.events import EventStream, one_chunk
from ensue.found import Found
from ensue.kernels.masks import holds, named_by_text
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.scope import variables_of
from ensue.plan import Plan

Positions = npt.NDArray[np.int64]


def finished(found: Found, plan: Plan, events: EventStream) -> Found:
    """What a query reports of the matches of its plan: those for which the conditions hold that relate events.

    Positions are those of the events. The variables that only the conditions spoke of are then left out, and complex
    events that are the same without them are one.
    """
    if not plan.judged:
        return found
    if plan.related:
        found = satisfying(found, plan.related, events).only(plan.shown)
    return _each_once(found).first_of_each_end(plan.query.limit)


def _each_once(found: Found) -> Found:
    from ensue.kernels.select import find_distinct  # numba is loaded where it is used

    first = np.empty(len(found), dtype=np.bool_)
    find_distinct(found.start, found.end, found.offset, found.position, found.mark, first)
    return found if bool(first.all()) else found.in_order(np.flatnonzero(first))


def satisfying(found: Found, conditions: Iterable[ast.Expression], events: EventStream) -> Found:
    """The matches for which all conditions hold."""
    for condition in conditions:
        if len(found):
            kept = _holds(found, condition, events.table)
            found = found if bool(kept.all()) else found.in_order(np.flatnonzero(kept))
    return found


def _holds(found: Found, condition: ast.Expression, table: pa.Table) -> npt.NDArray[np.bool_]:
    """For each match, whether the condition is TRUE for every choice; a variable without events leaves no choice."""
    of_match, chosen = _choices(found, sorted(variables_of(condition)))
    terms = {print_expression(a): a for a in ast.find(condition, ast.Attribute)}
    columns = {text: one_chunk(table.column(a.name).take(pa.array(chosen[a.variable]))) for text, a in terms.items()}
    good = holds(named_by_text(condition), columns, len(of_match))
    kept = np.ones(len(found), dtype=np.bool_)
    kept[of_match[~good]] = False
    return kept


def _choices(found: Found, variables: list[str]) -> tuple[Positions, dict[str, Positions]]:
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
