"""Looks ahead of an evaluator: how much it is still going to write, counted without writing it.

A query may have more matches than any memory holds, at one end or over many. To find that out by writing them takes as
long as filling the memory. So once much is written, a twin of the evaluator goes ahead and counts, for a small part of
the time that the writing took. It is an evaluator as any other, with programs and partial matches of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ensue.data.budget import Holder, Large
from ensue.kernels import evaluate
from ensue.kernels.arena import USED, grown
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
from ensue.kernels.evaluate import Batch, Partitions
from ensue.kernels.select import CHOOSE_ALL

if TYPE_CHECKING:
    from ensue.kernels.runner import Evaluator

#: It looks ahead when so many bytes are written in a batch, and again each time when so many times as many are.
_FIRST_LOOK, _NEXT_LOOK = 1 << 24, 4
#: For so many bytes written it looks at one node: that takes a twentieth of the time (measured).
_BYTES_A_NODE = 32
#: The matches of an end that wait for something to be decided are copied meanwhile.
_COPIES = 3
_NOTHING_KNOWN = (0.0, 0.0)


class Forecast:
    """Belongs to one evaluator; `twin` makes another one of the same plan, which counts."""

    def __init__(self, twin: Callable[[], Evaluator], delivery: Delivery, holder: Holder) -> None:
        self._make_twin = twin
        self._twin: Evaluator | None = None
        self._delivery = delivery
        self._holder = holder
        self._next = _FIRST_LOOK

    def begin(self) -> None:
        """A batch begins."""
        self._next = _FIRST_LOOK

    def look(self, evaluator: Evaluator, batch: Batch, report_from: int, written: int) -> tuple[float, float]:
        """Raises the error where the matches that are coming do not fit; so many bytes are written in this batch.

        Gives how many matches, and marked events of them, end at the event that is being evaluated, if it was counted.
        """
        if written < self._next or not _is_counted(evaluator):
            return _NOTHING_KNOWN
        self._next = _NEXT_LOOK * written
        work = written / _BYTES_A_NODE
        if evaluator.arena.used[USED] > work:
            return _NOTHING_KNOWN
        room = self._holder.budget.left
        at_one_end = room / _COPIES if self._delivery.together else room
        return self._count(evaluator, batch, report_from, (room, at_one_end), work)

    def _count(
        self, evaluator: Evaluator, batch: Batch, report_from: int, room: tuple[float, float], work: float
    ) -> tuple[float, float]:
        in_all, at_one_end = (np.inf if self._delivery.passing else room[0]), room[1]
        if self._twin is None:
            self._twin = self._make_twin()
        twin = self._twin
        counts = new_counts(in_all, at_one_end, work)
        _go_on_from(evaluator, twin)
        while True:
            status = twin.advance(batch, report_from, counts)
            full = twin.programs.full if status == evaluate.NEEDS_PROGRAM else twin.arena.used[USED] > work
            if status in (evaluate.DONE, evaluate.NEEDS_OUTPUT) or full:
                break
            twin.provide(status, batch)
        totals = counts.totals
        # What is written of this end already is counted again.
        done = min(1.0, evaluator.progress[evaluate.REPORTED] / max(totals[FIRST_MATCHES], 1.0))
        written = done * _size(totals[FIRST_MATCHES], totals[FIRST_MARKED])
        most = _size(totals[MOST_MATCHES], totals[MOST_MARKED])
        if most - written > at_one_end:
            what = Large.JUDGED if self._delivery.together else Large.ENDING
            copies = _COPIES if self._delivery.together else 1
            raise self._holder.budget.exceeded(what, copies * most, totals[MOST_MATCHES])
        more = _size(totals[MATCHES_IN_ALL], totals[MARKED_IN_ALL]) - written
        if more > in_all:
            raise self._holder.budget.exceeded(Large.MATCHES, more, totals[MATCHES_IN_ALL])
        return float(totals[FIRST_MATCHES]), float(totals[FIRST_MARKED])


def _is_counted(evaluator: Evaluator) -> bool:
    """Whether what it writes is what the nodes stand for: a choice takes some of it back, a clock has other nodes."""
    return evaluator.rules.choose == CHOOSE_ALL and not evaluator.rules.union and not evaluator.plan.on_one_clock


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
    twin.arena = grown(evaluator.arena, 2 * int(evaluator.arena.used[USED]) + evaluate.NODES_A_MOVE)
    twin.latest = evaluator.latest
    twin.progress[:] = 0
    for entry in (evaluate.CURSOR, evaluate.EPOCH):
        twin.progress[entry] = evaluator.progress[entry]
    twin.progress[evaluate.NODE] = evaluate.NOTHING
