"""The segments of one evaluator: what its windows come to, batch by batch, and what is kept between two batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.budget import Holder, Large
from ensue.data.complex_events import Piece
from ensue.data.envelope import Parts
from ensue.kernels.own_segments import OwnEvents, OwnSegments
from ensue.kernels.segment_lanes import FoldedColumns, Lanes
from ensue.kernels.segments import NONE, FoldedEvents, Segments, keep_begun, read_windows, take_events
from ensue.plan.spans import Spans

Positions = npt.NDArray[np.int64]

#: Below so many segments it does not pay to look which of them may go.
_FEW = 1 << 12
_FEW_BYTES = 1 << 20
_NOTHING = np.zeros(0, dtype=np.int64)
_OF_SEGMENTS = ("begin", "after", "partition", "before", "chosen")


class AllEvents(NamedTuple):
    """All events of a batch, as far as they are folded: as numbers, and for each aggregate of the user's own."""

    numbers: FoldedEvents
    own: list[list[Any]]


class WindowSegments:
    """Folds the events of a stream over its windows. Several can share the columns of a reader, each with its share."""

    def __init__(self, spans: Spans, columns: FoldedColumns, share: int, mask: int, holder: Holder) -> None:
        self.lanes = Lanes([f for f in spans.folded if f.own is None], columns)
        own = {f.text: f.own for f in spans.folded if f.own is not None}
        self._texts, self._own = list(own), OwnSegments(list(own.values()), share, mask) if own else None
        self._share = np.array([share, mask], dtype=np.int64)
        self._cursor = np.zeros(1, dtype=np.int64)
        self._holder = holder
        self._kept = 0
        self._held = _empty(self.lanes.widths)

    def begin(self, given: AllEvents, base: int, partitions: int) -> None:
        """Goes on to these events, whose first one has the position `base`."""
        events = given.numbers
        if self._own is not None:
            self._own.begin(OwnEvents(given.own, events.partitions, events.begins), base)
        used, old = int(self._held.used[0]), self._held
        before, sums = self.lanes.widen(events.numbers, events.known, (old.before[:used], old.sums))
        room = used + int(np.count_nonzero(events.begins))
        if sums is not old.sums or room > len(old.begin) or partitions > len(old.last):
            # Small batches come in a row: they do not copy what is open each time.
            room = max(room, 2 * used)
            self._held = _empty(self.lanes.widths, room, max(partitions, len(old.last)))
            for new, rows in zip(
                self._held[:5], (old.begin, old.after, old.partition, before, old.chosen), strict=True
            ):
                new[:used] = rows[:used]
            self._held.used[0] = used
            self._held.last[: len(old.last)], self._held.sums[: len(old.last)] = old.last, sums
        self._held = self._held._replace(begun=np.empty(len(events.begins), dtype=np.int64))
        self._events, self._base, self._cursor[0] = events, base, 0
        size = sum(part.nbytes for part in self._held)
        if size > _FEW_BYTES:
            self._holder.hold(Large.OPEN, size, room)

    def over(self, piece: Piece) -> dict[str, pa.Array]:
        """What each aggregate comes to in the matches of a piece, which end after those of the last one, or there."""
        out = self.lanes.room(len(piece.start))
        spans = (piece.start, piece.end)
        read_windows(self.lanes.layout, self._held, self._events, self._base, self._share, self._cursor, spans, out)
        found = self.lanes.results(*out)
        if self._own is not None:
            found |= dict(zip(self._texts, self._own.over(spans), strict=True))
        return found

    def finish(self) -> bool:
        """Folds the rest of the events; says whether it is time to look which segments may go."""
        stop = len(self._events.begins)
        if self._own is not None:
            self._own.take(stop)
        take_events(self.lanes.layout, self._held, self._events, self._base, self._share, self._cursor, stop)
        self._events = FoldedEvents(_NOTHING, _NOTHING, _NOTHING, _NOTHING)
        self._held = self._held._replace(begun=_NOTHING)
        return int(self._held.used[0]) > max(2 * self._kept, _FEW)

    def keep_begun(self, positions: Positions) -> None:
        """Keeps what windows that begin at these positions need; they are in stream order."""
        used = int(self._held.used[0])
        begins = self._held.begin[:used]
        if self._own is not None:
            self._own.keep_begun(set(positions.tolist()))
        alive = np.zeros(used, dtype=np.bool_)
        if used:  # mostly, few of many segments are kept
            places = np.minimum(np.searchsorted(begins, positions), used - 1)
            alive[places[begins[places] == positions]] = True
        keep_begun(self._held, alive, np.empty(used, dtype=np.int64))
        self._kept = int(self._held.used[0])

    def keep_partitions(self, kept: Positions) -> None:
        """Numbers the partitions anew: only these are left, in this order."""
        number = np.full(max(len(self._held.last), int(kept.max(initial=-1)) + 1), NONE, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        if self._own is not None:
            self._own.keep_partitions(dict(enumerate(number.tolist())))
        used, known = int(self._held.used[0]), len(self._held.last)
        last = np.full(len(number), NONE, dtype=np.int64)
        sums = np.zeros((len(number), self.lanes.widths[0]), dtype=np.int64)
        last[:known], sums[:known] = self._held.last, self._held.sums
        self._held.partition[:used] = number[self._held.partition[:used]]
        work = np.empty(max(len(self._held.begin), len(kept)), dtype=np.int64)
        self._held = self._held._replace(last=last[kept], sums=sums[kept], work=work)

    def save(self) -> Parts:
        used = int(self._held.used[0])
        arrays = {name: getattr(self._held, name)[:used] for name in _OF_SEGMENTS}
        arrays |= {"last": self._held.last, "sums": self._held.sums, "places": self.lanes.places}
        parts: Parts = {name: array.copy() for name, array in arrays.items()}
        return parts if self._own is None else {**parts, **self._own.save()}

    def load(self, parts: Parts) -> None:
        used = len(parts["begin"])
        self.lanes.use(parts["places"].copy(), ())
        self._held = _empty(self.lanes.widths, used, len(parts["last"]))
        for name in (*_OF_SEGMENTS, "last", "sums"):
            getattr(self._held, name)[:] = parts[name].reshape(getattr(self._held, name).shape)
        self._held.used[0] = self._kept = used
        if self._own is not None:
            self._own.load(parts)


def _empty(widths: tuple[int, int], room: int = 0, partitions: int = 0) -> Segments:
    begin, after, partition = (np.empty(room, dtype=np.int64) for _ in range(3))
    before, chosen = (np.empty((room, width), dtype=np.int64) for width in widths)
    last = np.full(partitions, NONE, dtype=np.int64)
    sums = np.zeros((partitions, widths[0]), dtype=np.int64)
    used, work = np.zeros(1, dtype=np.int64), np.empty(max(room, partitions), dtype=np.int64)
    return Segments(begin, after, partition, before, chosen, last, sums, used, _NOTHING, work)
