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
from ensue.logic.related import Apart, Condition
from ensue.logic.scope import variables_of
from ensue.plan import Plan

Positions = npt.NDArray[np.int64]


def finished(found: Found, plan: Plan, events: EventStream) -> Found:
    """What a query reports of the matches of its plan: those for which the conditions hold that relate events.

    Positions are those of the events. The variables that only the conditions spoke of are then left out, and complex
    events that are the same without them are one.
    """
    if not plan.related:
        return found
    kept = satisfying(found, plan.related, events).only(plan.shown)
    return _each_once(kept).first_of_each_end(plan.query.limit)


def _each_once(found: Found) -> Found:
    from ensue.kernels.select import find_distinct  # numba is loaded where it is used

    first = np.empty(len(found), dtype=np.bool_)
    find_distinct(found.start, found.end, found.offset, found.position, found.mark, first)
    return found if bool(first.all()) else found.in_order(np.flatnonzero(first))


def satisfying(found: Found, conditions: Iterable[Condition], events: EventStream) -> Found:
    """The matches for which all conditions hold."""
    for condition in conditions:
        if len(found):
            if isinstance(condition, Apart):
                kept = _are_apart(found, condition, events)
            else:
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


def _are_apart(found: Found, condition: Apart, events: EventStream) -> npt.NDArray[np.bool_]:
    """For each match, whether the time between the two events lies in the interval."""
    earlier, later = found.marks(condition.earlier), found.marks(condition.later)
    whole = condition.earlier == condition.later  # from the first event to the last, not from the last to the first
    first = (earlier.offsets[:-1] if whole else earlier.offsets[1:] - 1, earlier)
    last = (later.offsets[1:] - 1 if whole else later.offsets[:-1], later)
    there = (np.diff(earlier.offsets) > 0) & (np.diff(later.offsets) > 0)
    begin, end = (events.times[marks.positions[places[there]]] for places, marks in (first, last))
    assert events.tick is not None, "a query that compares times runs over a stream whose unit is known"
    kept = np.ones(len(found), dtype=np.bool_)
    kept[there] = _inside(begin, end, condition.interval, events.tick)
    return kept


def _inside(begin: Positions, end: Positions, interval: ast.Interval, tick: int) -> npt.NDArray[np.bool_]:
    """Where the time from `begin` to `end`, which is not before it, lies in the interval. Exact, also for far times."""
    apart = end.astype(np.uint64) - begin.astype(np.uint64)  # never negative, so right even where int64 would overflow
    good = np.ones(len(apart), dtype=np.bool_)
    for bound, sign in ((interval.low, 1), (interval.high, -1)):
        if bound is None:
            continue
        length = bound.duration.nanoseconds() / tick
        whole = length.denominator == 1
        ticks = length.numerator // length.denominator  # the last step not after the bound
        if ticks >= 2**64:
            good &= sign < 0
        elif sign > 0:
            good &= apart >= np.uint64(ticks) if whole and bound.inclusive else apart > np.uint64(ticks)
        else:
            good &= apart < np.uint64(ticks) if whole and not bound.inclusive else apart <= np.uint64(ticks)
    return good


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
