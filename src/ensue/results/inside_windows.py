"""The events of windows that are known by their ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Marks, Piece, Positions
from ensue.data.events import EventStream
from ensue.data.partitions import Codes, partition_codes


class Inside:
    """The events of some windows, each in one partition: `codes` says of each event of the stream in which it is.

    >>> Inside(np.array([0, 1, 0, 0]), np.array([0, 2]), np.array([2, 3])).marks().positions.tolist()
    [0, 2, 2, 3]
    """

    def __init__(self, codes: Codes, start: Positions, end: Positions) -> None:
        self._order = np.argsort(codes, kind="stable")
        rank = np.empty_like(self._order)
        rank[self._order] = np.arange(len(self._order))
        self._first = rank[start]
        self._sizes = rank[end] - self._first + 1

    @property
    def nbytes(self) -> int:
        """What their positions will take."""
        return 8 * int(self._sizes.sum())

    def marks(self) -> Marks:
        """The positions of the events of each."""
        offsets = np.concatenate([[0], np.cumsum(self._sizes)])
        places = np.repeat(self._first - offsets[:-1], self._sizes) + np.arange(offsets[-1])
        return Marks(offsets, self._order[places])


def written_out(found: ComplexEvents, stream: EventStream, keys: Sequence[str], budget: Budget) -> ComplexEvents:
    """The windows with a mark on each of their events, as they are where nothing found them by their ends."""
    marks = frozenset({found.span or ""})
    if marks not in found.sets:
        return found
    inside = Inside(partition_codes(stream, keys), found.start, found.end)
    budget.check(Large.MATCHES, 2 * inside.nbytes, len(found))
    events = inside.marks()
    mark = np.full(len(events.positions), list(found.sets).index(marks), dtype=np.uint16)
    return ComplexEvents((Piece(found.start, found.end, events.offsets, events.positions, mark),), found.sets)
