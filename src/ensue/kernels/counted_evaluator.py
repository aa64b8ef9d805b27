"""Evaluates windows of a fixed number of events (`counted_windows.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ensue.data.complex_events import ComplexEvents, Piece
from ensue.kernels.arena import NOTHING
from ensue.kernels.counted_windows import BEGINS, BEHIND, FOLLOWS, find_counted, open_begins
from ensue.kernels.evaluator import Evaluator, Positions
from ensue.kernels.stepping import Batch


class CountedEvaluator(Evaluator):
    """Constant time an event, however many windows are open; the slots of a partition are its ring."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        spans = self.plan.spans
        assert spans is not None
        assert spans.count is not None
        self._count = spans.count
        width = self._count + BEHIND
        self.partitions = self.partitions._replace(slots=np.zeros((0, width), dtype=np.int64))
        self._second = next(t.target for t in self.plan.automaton.transitions if t.source == 0)
        self._mark = self.plan.marks.index(frozenset({spans.variable}))
        self._says = np.zeros(0, dtype=np.int64)  # of each class

    def parts(self, batch: Batch, report_from: int = 0) -> Iterator[ComplexEvents]:
        """The windows that end in the batch, at the position `report_from` or later."""
        assert self.windows is not None
        self.grow_partitions(len(self._reader.keys) if self.rules.keyed else 1)
        self.windows.begin(batch.folded, batch.base, len(self.partitions.slots))
        self._learn_classes()
        size = len(batch.classes)
        start, end = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        given = batch._replace(columns=None, folded=None, report_from=report_from)
        found = find_counted(given, self.rules, self.partitions.slots, self._count, self._says, start, end)
        if len(batch.times):
            self.latest = int(batch.times[-1])
        if found:
            mark = np.full(found, self._mark, dtype=np.uint16)
            yield self._events_of(Piece(start[:found], end[:found], np.arange(found + 1), start[:found], mark))
        if self.windows.finish():
            self.windows.keep_begun(self.begun())

    def _learn_classes(self) -> None:
        words = self._reader.classifier.words
        new = [
            BEGINS * self._determinizer.moves(0, word) + FOLLOWS * self._determinizer.moves(self._second, word)
            for word in words[len(self._says) :]
        ]
        self._says = np.append(self._says, np.array(new, dtype=np.int64))

    def grow_partitions(self, count: int) -> None:
        """Room for so many partitions, each with its ring."""
        old = self.partitions
        rows, width = old.slots.shape
        if count <= rows:
            return
        more = max(count, 2 * rows) - rows
        slots = np.concatenate([old.slots, np.full((more, width), NOTHING, dtype=np.int64)])
        configuration = np.zeros(rows + more, dtype=np.int32)
        zeros = np.zeros(rows + more, dtype=np.int64)
        self.partitions = old._replace(configuration=configuration, slots=slots, count=zeros, epoch=zeros)
        self._hold_partitions()

    def busy(self, _position: int) -> Positions:
        found: Positions = np.flatnonzero(self.partitions.slots[:, -BEHIND] != NOTHING)
        return found

    def collect(self, _position: int) -> None:
        """There is nothing to collect: a ring forgets by itself."""

    def started(self) -> Positions:
        return self.begun()

    @property
    def nodes(self) -> int:
        """A ring has no nodes: how many windows are open."""
        return len(self.begun())

    def begun(self) -> Positions:
        room = np.empty(len(self.partitions.slots) * self._count, dtype=np.int64)
        found: Positions = np.sort(room[: open_begins(self.partitions.slots, self._count, room)])
        return found
