"""Conditions that relate events, judged over columns of complete matches for every choice of an event from each set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.evaluation import holds, named_by_text
from ensue.columns.match_aggregates import aggregated_of
from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Marks
from ensue.data.events import EventStream, integers, one_chunk
from ensue.engines.judging_rounds import holds_in_rounds
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.scope import aggregates_of, chosen_variables, without_aggregates

Positions = npt.NDArray[np.int64]
#: So many choices of events are judged at a time, and no match that has more than so many in all: that takes minutes.
_CHOICES, _MOST_CHOICES = 1 << 18, 1 << 32


def satisfying(
    found: ComplexEvents, conditions: Iterable[ast.Expression], events: EventStream, budget: Budget
) -> ComplexEvents:
    """The matches for which all conditions hold."""
    for condition in conditions:
        if len(found):
            kept = _holds(found, condition, events, budget)
            found = found if bool(kept.all()) else found.in_order(np.flatnonzero(kept))
    return found


def _holds(
    found: ComplexEvents, condition: ast.Expression, events: EventStream, budget: Budget
) -> npt.NDArray[np.bool_]:
    """For each match, whether the condition is TRUE for every choice; a variable without events leaves no choice."""

    def values_at(attribute: str, positions: Positions) -> pa.Array:
        return one_chunk(events.table.column(attribute).take(integers(positions)))

    if isinstance(condition, ast.EachRound):
        return holds_in_rounds(found, condition, values_at)
    aggregates = aggregated_of(found, aggregates_of(condition), values_at)
    terms = {print_expression(a): a for a in ast.find(without_aggregates(condition), ast.Attribute)}
    kept = np.ones(len(found), dtype=np.bool_)
    for of_match, chosen in _choices(found, sorted(chosen_variables(condition)), budget):
        columns = {text: values_at(a.name, chosen[a.variable]) for text, a in terms.items()}
        columns |= {text: values.take(integers(of_match)) for text, values in aggregates.items()}
        good = holds(named_by_text(condition), columns, len(of_match))
        kept[of_match[~good]] = False
    return kept


#: The match that each choice belongs to, and the event that it takes of each variable.
_Choices = tuple[Positions, dict[str, Positions]]


def _choices(found: ComplexEvents, variables: list[str], budget: Budget) -> Iterator[_Choices]:
    """Every choice of one event a variable, some of them at a time."""
    marks = [found.marks(x) for x in variables]
    if all(len(m.positions) == len(found) and bool((np.diff(m.offsets) == 1).all()) for m in marks):
        for first in range(0, len(found), _CHOICES):
            own = slice(first, first + _CHOICES)
            yield np.arange(len(found))[own], {x: m.positions[own] for x, m in zip(variables, marks, strict=True)}
        return
    # As floats, since a few sets have more choices than an integer can say.
    counts = np.prod([np.diff(m.offsets).astype(np.float64) for m in marks], axis=0) if marks else np.ones(len(found))
    most = float(counts.max(initial=0.0))
    if most > _MOST_CHOICES:
        raise budget.refused(Large.CHOICES, most)
    so_far = np.cumsum(counts)
    first = 0
    while first < len(found):
        done = so_far[first - 1] if first else 0.0
        last = max(int(np.searchsorted(so_far, done + _CHOICES, side="right")), first + 1)
        if last == first + 1 and counts[first] > _CHOICES:
            yield from _of_one_match(first, variables, marks)
        else:
            yield _of_matches(np.arange(first, last), variables, marks)
        first = last


def _of_matches(of_match: Positions, variables: list[str], marks: Sequence[Marks]) -> _Choices:
    """All choices of some matches."""
    chosen: dict[str, Positions] = {}
    for x, mark in zip(variables, marks, strict=True):
        counts = mark.offsets[of_match + 1] - mark.offsets[of_match]
        before = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(mark.offsets[of_match] - before[:-1], counts) + np.arange(before[-1])
        chosen = {y: np.repeat(positions, counts) for y, positions in chosen.items()}
        chosen[x] = mark.positions[places]
        of_match = np.repeat(of_match, counts)
    return of_match, chosen


def _of_one_match(match: int, variables: list[str], marks: Sequence[Marks]) -> Iterator[_Choices]:
    """The choices of a match that has many: their numbers, whose digits say which event each variable has."""
    events = [mark.of(match) for mark in marks]
    total = math.prod(map(len, events))
    for first in range(0, total, _CHOICES):
        number = np.arange(first, min(first + _CHOICES, total))
        chosen = {}
        for x, positions in zip(variables, events, strict=True):
            number, digit = np.divmod(number, len(positions))
            chosen[x] = positions[digit]
        yield np.full(len(number), match), chosen
