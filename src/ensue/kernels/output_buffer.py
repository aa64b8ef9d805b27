"""The memory that matches are written to: when it is full, it is handed over with them, and another takes its place."""

from __future__ import annotations

import numpy as np

from ensue.data.budget import Holder, Large
from ensue.data.complex_events import Piece
from ensue.kernels import stepping
from ensue.kernels.counting import BYTES_A_MATCH, BYTES_AN_EVENT
from ensue.kernels.stepping import Output

_FIRST_EVENTS = 1 << 16
_FEWEST_EVENTS, _MOST_EVENTS = 1 << 14, 1 << 22
#: A buffer of the usual size takes this part of the query's memory, or less.
_BUFFERS_A_BUDGET = 16
#: What room for one marked event takes: there is room for half as many matches.
_BYTES_AN_EVENT = BYTES_A_MATCH // 2 + BYTES_AN_EVENT


class OutputBuffer:
    """Holds what one evaluator writes. `progress` is the evaluator's: it says how much that is.

    With `together`, the matches of an end are handed over together, however many they are.
    """

    def __init__(self, progress: np.ndarray, holder: Holder, *, together: bool) -> None:
        self._progress = progress
        self._holder = holder
        self._together = together
        self._what = Large.JUDGED if together else Large.MATCHES
        self.arrays = _new(_FIRST_EVENTS)

    @property
    def written(self) -> int:
        """How many bytes the matches take that are in it now."""
        matches, events = self._count()
        return BYTES_A_MATCH * matches + BYTES_AN_EVENT * events

    def renewed(self, expected: tuple[float, float]) -> Piece | None:
        """The matches that are complete, so that there is room for more; None where it became larger instead.

        `expected` says how many matches, and marked events of them, end at the event that is being written.
        """
        old, (matches, events) = self.arrays, self._count()
        waiting = int(self._progress[stepping.REPORTED]) if self._together else 0
        done = matches - waiting
        first = int(old.offset[done])
        size = 2 * len(old.position)
        if done:
            most = self._holder.budget.limit // (_BUFFERS_A_BUDGET * _BYTES_AN_EVENT)
            size = min(size, max(_FEWEST_EVENTS, min(most, _MOST_EVENTS)))
        if waiting:
            least = max(events - first, 2 * waiting)
            exact = int(max(expected[1], 2 * expected[0])) if max(expected) < 1 << 40 else 0
            size = max(size, least + least // 2 if least >= exact else exact + 2)
            # The old one is still there while its matches are copied.
            held = _BYTES_AN_EVENT * (size + len(old.position))
            self._holder.check(self._what, held, waiting)
        piece = None
        if done:
            self._set(done, first)
            piece = self.taken()
        self.arrays = new = _new(size)
        new.start[:waiting] = old.start[done:matches]
        new.end[:waiting] = old.end[done:matches]
        new.offset[: waiting + 1] = old.offset[done : matches + 1] - first
        new.position[: events - first] = old.position[first:events]
        new.mark[: events - first] = old.mark[first:events]
        self._set(waiting, events - first)
        self._holder.hold(self._what, _BYTES_AN_EVENT * size, waiting)
        return piece

    def taken(self) -> Piece:
        """What was written so far. Full buffers are handed over, small ones copied and used again."""
        matches, events = self._count()
        out = self.arrays
        self._set(0, 0)
        whole = Piece(out.start, out.end, out.offset, out.position, out.mark)
        if 2 * events <= len(out.position):
            return whole.part(0, matches).copy()
        self.arrays = _new(min(len(out.position), _MOST_EVENTS))
        found = whole.part(0, matches)
        if 2 * matches > len(out.start):
            return found
        # Long matches leave most of the room for their beginnings and ends: that need not stay.
        return Piece(found.start.copy(), found.end.copy(), found.offset.copy(), found.position, found.mark)

    def _count(self) -> tuple[int, int]:
        return int(self._progress[stepping.MATCHES]), int(self._progress[stepping.POSITIONS])

    def _set(self, matches: int, events: int) -> None:
        self._progress[[stepping.MATCHES, stepping.POSITIONS]] = matches, events


def _new(events: int) -> Output:
    matches = max(events // 2, 1)
    return Output(
        start=np.empty(matches, dtype=np.int64),
        end=np.empty(matches, dtype=np.int64),
        offset=np.zeros(matches + 1, dtype=np.int64),
        position=np.empty(events, dtype=np.int64),
        mark=np.empty(events, dtype=np.uint16),
    )
