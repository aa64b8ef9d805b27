"""Looks ahead of an evaluator: how much it is still going to write, counted without writing it.

A query may have more matches than any memory holds, at one end or over many. To find that out by writing them takes as
long as filling the memory. So once much is written, a twin of the evaluator goes ahead and counts, for a small part of
the time that the writing took. It is an evaluator as any other, with programs and partial matches of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ensue.data.budget import Holder, Large
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
    new_counts,
)
from ensue.kernels.delivery import Delivery
from ensue.kernels.stepping import Batch, Partitions

Totals = npt.NDArray[np.float64]

if TYPE_CHECKING:
    from ensue.kernels.runner import Evaluator

#: It looks ahead when this many bytes were written in a batch, and again each time when four times as many were. After
#: it has found that all is well, it waits for four times as many in the next batch, up to this number.
_FIRST_LOOK, _NEXT_LOOK, _LAST_FIRST_LOOK = 1 << 24, 4, 1 << 28
#: It visits one node for this many bytes written: that takes a twentieth of the time of writing (measured).
_BYTES_A_NODE = 32
#: The programs that it learns at a time: each costs as much as ten thousand nodes.
_PROGRAMS = 512
#: The matches of an end that wait for a decision are copied meanwhile.
_COPIES = 3
_NOTHING_KNOWN = (0.0, 0.0)


class Forecast:
    """Belongs to one evaluator; `twin` makes another evaluator of the same plan, which counts."""

    def __init__(self, twin: Callable[[], Evaluator], delivery: Delivery, holder: Holder) -> None:
        self._make_twin = twin
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
        if written < self._next or not _is_counted(evaluator):
            return _NOTHING_KNOWN
        self._next = _NEXT_LOOK * written
        visits = written // _BYTES_A_NODE
        if evaluator.arena.used[USED] <= visits:
            totals = self._count(evaluator, batch, visits)
            self._compare(totals, int(evaluator.progress[stepping.REPORTED]))
            return float(totals[FIRST_MATCHES]), float(totals[FIRST_MARKED])
        return _NOTHING_KNOWN

    def _count(self, evaluator: Evaluator, batch: Batch, visits: int) -> Totals:
        """Counts from the present event on, as far as it gets with so many visits."""
        if self._twin is None:
            self._twin = self._make_twin()
        twin, counts, learned = self._twin, new_counts(float(visits)), 0
        _go_on_from(evaluator, twin)
        while True:
            status = twin.advance(batch, counts)
            learned += status == stepping.NEEDS_PROGRAM
            tired = learned > _PROGRAMS or twin.programs.full or twin.arena.used[USED] > visits
            if tired or status in (stepping.DONE, stepping.NEEDS_OUTPUT):
                return counts.totals
            twin.provide(status, batch)

    def _compare(self, totals: Totals, reported: int) -> None:
        """Raises the error if so much does not fit; of the matches of the present end, some are reported already."""
        together, budget = self._delivery.together, self._holder.budget
        first = _size(totals[FIRST_MATCHES], totals[FIRST_MARKED])
        written = first * min(1.0, reported / max(totals[FIRST_MATCHES], 1.0))
        most = _size(totals[MOST_MATCHES], totals[MOST_MARKED]) * (_COPIES if together else 1)
        budget.check(Large.JUDGED if together else Large.ENDING, most - written, totals[MOST_MATCHES])
        if not self._delivery.passing:
            more = _size(totals[MATCHES_IN_ALL], totals[MARKED_IN_ALL]) - written
            budget.check(Large.MATCHES, more, totals[MATCHES_IN_ALL])
        self._first = min(_NEXT_LOOK * self._first, max(_FIRST_LOOK, min(_LAST_FIRST_LOOK, budget.limit // 8)))


def _is_counted(evaluator: Evaluator) -> bool:
    """Whether what it writes is what the nodes stand for: a choice takes some of it back, a clock has other nodes."""
    return evaluator.plan.chooses is None and not evaluator.rules.union and not evaluator.plan.on_one_clock


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
    twin.widen()
    twin.arena = grown(evaluator.arena, 2 * int(evaluator.arena.used[USED]) + NODES_A_MOVE)
    twin.latest = evaluator.latest
    twin.progress[:] = 0
    for entry in (stepping.CURSOR, stepping.EPOCH):
        twin.progress[entry] = evaluator.progress[entry]
    twin.progress[stepping.NODE] = NOTHING
