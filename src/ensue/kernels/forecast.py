"""Looks ahead of an evaluator: how much it is still going to write, counted without writing it.

A query may have more matches than any memory holds, at one end or over many. To find that out by writing them takes as
long as filling the memory. So once much is written, a twin of the evaluator goes ahead and counts, for a small part of
the time that the writing took. It is an evaluator as any other, with programs and partial matches of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ensue.data.budget import Holder, Large
from ensue.errors import EngineError
from ensue.kernels import stepping
from ensue.kernels.arena import NODES_A_MOVE, NOTHING, USED, grown
from ensue.kernels.counting import (
    BYTES_A_MATCH,
    BYTES_AN_EVENT,
    FIRST_MARKED,
    FIRST_MATCHES,
    MARKED_IN_ALL,
    MATCHES_IN_ALL,
    MOST_MARKED,
    MOST_MATCHES,
    TOTALS,
    new_counts,
)
from ensue.kernels.delivery import Delivery
from ensue.kernels.stepping import Batch, Partitions

Totals = npt.NDArray[np.float64]

if TYPE_CHECKING:
    from ensue.kernels.evaluator import Evaluator

#: It looks ahead when this many bytes were written in a batch, and again each time when four times as many were. After
#: it has found that all is well, it waits for four times as many in the next batch, up to this number.
_FIRST_LOOK, _NEXT_LOOK, _LAST_FIRST_LOOK = 1 << 24, 4, 1 << 28
#: It visits one node for this many bytes written: that takes a twentieth of the time of writing (measured).
_BYTES_A_NODE = 32
#: The programs that it learns at a time: each costs as much as ten thousand nodes.
_PROGRAMS = 512
#: It evaluates an event again for so many visits.
_VISITS_AN_EVENT = 64
#: The matches of an end that wait for a decision are copied meanwhile.
_COPIES = 3
_NOTHING_KNOWN = (0.0, 0.0)


class Forecast:
    """Belongs to one evaluator."""

    def __init__(self, delivery: Delivery, holder: Holder) -> None:
        self._twin: Evaluator | None = None
        self._delivery = delivery
        self._holder = holder
        self._first = self._next = _FIRST_LOOK

    def begin(self) -> None:
        """A batch begins."""
        self._next = self._first

    def look(self, evaluator: Evaluator, batch: Batch, written: int) -> tuple[float, float]:
        """Raises the error if the matches that are coming do not fit; `written` is what the batch has written so far.

        Returns how many matches end at the present event, and how many events they mark, if these were counted.
        """
        rules = evaluator.rules
        # What a choice takes back again cannot be counted, nor what is left out because it cannot pass.
        counts = evaluator.plan.chooses is None and evaluator.weights is None
        if written < self._next or rules.union or not counts:
            return _NOTHING_KNOWN
        self._next = _NEXT_LOOK * written
        visits = written // _BYTES_A_NODE
        if evaluator.arena.used[USED] > visits:
            return _NOTHING_KNOWN
        if evaluator.plan.on_one_clock:
            self._compare(self._counted_again(evaluator, batch.report_from, visits), written)
            return _NOTHING_KNOWN
        if self._twin is None:
            self._twin = evaluator.counting_twin()
        _go_on_from(evaluator, self._twin)
        totals = _counted(self._twin, batch, visits)
        # A part of the present end is written already, and is counted again.
        here = totals[FIRST_MATCHES], totals[FIRST_MARKED]
        done = min(1.0, int(evaluator.progress[stepping.REPORTED]) / max(here[0], 1.0))
        self._compare(totals, done * _size(*here))
        return float(here[0]), float(here[1])

    def _counted_again(self, evaluator: Evaluator, report_from: int, visits: int) -> Totals:
        """Counts the matches of a query with one clock, whose nodes are of another kind, from the batch's beginning."""
        again = evaluator.read_again(visits // _VISITS_AN_EVENT)
        if again is None:
            return np.zeros(TOTALS)
        reader, batch = again
        twin = evaluator.counting_twin(reader)
        twin.grow_partitions(len(reader.keys) if twin.rules.keyed else 1)
        return _counted(twin, batch._replace(report_from=report_from), visits)

    def _compare(self, totals: Totals, written: float) -> None:
        """Raises the error if so much does not fit, apart from what is written already."""
        together, budget = self._delivery.together, self._holder.budget
        most = _size(totals[MOST_MATCHES], totals[MOST_MARKED]) * (_COPIES if together else 1)
        budget.check(Large.JUDGED if together else Large.ENDING, most - written, totals[MOST_MATCHES])
        if not self._delivery.passing:
            more = _size(totals[MATCHES_IN_ALL], totals[MARKED_IN_ALL]) - written
            budget.check(Large.MATCHES, more, totals[MATCHES_IN_ALL])
        self._first = min(_NEXT_LOOK * self._first, max(_FIRST_LOOK, min(_LAST_FIRST_LOOK, budget.limit // 8)))


def _counted(twin: Evaluator, batch: Batch, visits: int) -> Totals:
    """Counts from the twin's present event on, as far as it gets with so many visits."""
    counts, learned = new_counts(visits, twin.rules.limit), 0
    totals: Totals = counts.totals
    while True:
        status = twin.advance(batch, counts)
        learned += status == stepping.NEEDS_PROGRAM
        tired = learned > _PROGRAMS or twin.programs.full or twin.arena.used[USED] > visits
        if tired or status in (stepping.DONE, stepping.NEEDS_OUTPUT):
            return totals
        try:
            twin.provide(status, batch)
        except EngineError:  # if the evaluator gets there it will say so itself
            return totals


def _size(matches: float, marked: float) -> float:
    return BYTES_A_MATCH * matches + BYTES_AN_EVENT * marked


def _go_on_from(evaluator: Evaluator, twin: Evaluator) -> None:
    """Puts the twin where the evaluator is, at the beginning of the event that it is evaluating."""
    old = evaluator.partitions
    in_use, places = np.unique(old.configuration, return_inverse=True)
    if twin.programs.full:
        twin.programs.forget(np.zeros(1, dtype=np.int32))
    known = [twin.programs.number(evaluator.programs.configurations[c]) for c in in_use]
    twin.partitions = Partitions(
        np.array(known, dtype=np.int32)[places], old.slots.copy(), old.count.copy(), old.epoch.copy()
    )
    twin.grow_partitions(len(old.configuration))
    twin.arena = grown(evaluator.arena, 2 * int(evaluator.arena.used[USED]) + NODES_A_MOVE)
    twin.latest = evaluator.latest
    twin.progress[:] = 0
    for entry in (stepping.CURSOR, stepping.EPOCH):
        twin.progress[entry] = evaluator.progress[entry]
    twin.progress[stepping.NODE] = NOTHING
