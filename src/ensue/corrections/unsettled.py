"""The events after the watermark, in stream order: they can still be joined by others, or deleted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.corrections.changed_places import ChangedPlaces
from ensue.corrections.event_ids import numbered_among_equals, with_ids
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, integers, joined, one_chunk
from ensue.data.stored_stream import restored, stored
from ensue.kernels.cancelling import remaining
from ensue.kernels.value_hashes import Hashes

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NO_TIME = int(np.iinfo(np.int64).min)
_NOWHERE = np.zeros(0, dtype=np.int64)
#: Events that came in so many pieces are put together.
_PIECES = 64


@dataclass(frozen=True)
class Arrivals:
    """Rows in the order in which they came: each inserts an event (sign 1) or deletes one (sign -1)."""

    events: EventStream
    ids: Hashes  # what tells an event apart, without a number among equals
    signs: Integers

    def at(self, rows: Integers) -> Arrivals:
        return Arrivals(self.events.at(rows), self.ids[rows], self.signs[rows])

    def __len__(self) -> int:
        return len(self.signs)


@dataclass(frozen=True)
class Deletions:
    """Deletions of events that have not come: each cancels the insertion when it comes."""

    ids: Hashes = field(default_factory=lambda: np.zeros((0, 2), dtype=np.uint64))
    times: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def some(self, mask: Mask) -> Deletions:
        return Deletions(self.ids[mask], self.times[mask])

    def and_(self, other: Deletions) -> Deletions:
        return Deletions(np.concatenate([self.ids, other.ids]), np.concatenate([self.times, other.times]))


@dataclass(frozen=True)
class Refused:
    """Counts of what was left out."""

    late: int = 0
    late_deletions: int = 0
    unmatched_deletions: int = 0

    def and_(self, other: Refused) -> Refused:
        return Refused(
            self.late + other.late,
            self.late_deletions + other.late_deletions,
            self.unmatched_deletions + other.unmatched_deletions,
        )


@dataclass(frozen=True)
class Unsettled:
    """A value: taking in events makes a new one, so that a step that fails leaves everything as it was.

    `tiebreak` names the column that orders events of equal time. `watermark` is the time up to which nothing changes
    any more, and `latest` that of the latest event that came.
    """

    tiebreak: str | None = None
    events: EventStream | None = None  # with their identities as columns
    ids: Hashes = field(default_factory=lambda: np.zeros((0, 2), dtype=np.uint64))
    arrival: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    waiting: Deletions = field(default_factory=Deletions)
    watermark: int = NO_TIME
    latest: int = NO_TIME
    came: int = 0
    refused: Refused = field(default_factory=Refused)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def times(self) -> Integers:
        return np.zeros(0, dtype=np.int64) if self.events is None else self.events.times

    def up_to(self, time: int) -> int:
        """How many of the events are at this time or before it."""
        return int(np.searchsorted(self.times, time, side="right"))

    def after(self, time: int) -> Unsettled:
        """With only the events after this time."""
        return self.without_first(self.up_to(time)) if time > NO_TIME else self

    # -- changes

    def taking(self, arrivals: Arrivals) -> tuple[Unsettled, ChangedPlaces | None]:
        """With these rows taken in, and which events left and came; None where nothing has changed.

        What is at the watermark or before it came too late: it is left out and counted.
        """
        late = arrivals.events.times <= self.watermark
        deleting = arrivals.signs < 0
        refused = Refused(int(np.count_nonzero(late & ~deleting)), int(np.count_nonzero(late & deleting)))
        if late.any():
            arrivals = arrivals.at(np.flatnonzero(~late))
        changed = replace(self, refused=self.refused.and_(refused), came=self.came + len(arrivals))
        if not len(arrivals):
            return changed, None
        changed = replace(changed, latest=max(self.latest, int(arrivals.events.times.max())))
        new = np.ones(len(arrivals), dtype=np.bool_)
        gone = came = _NOWHERE
        if len(self.waiting.ids) or (arrivals.signs < 0).any():
            changed, new, gone = changed._cancelling(arrivals)
        if new.any():
            changed, came = changed._inserting(arrivals, np.flatnonzero(new), self.came)
        return changed, ChangedPlaces(gone, came) if len(gone) or len(came) else None

    def refusing(self, late: int) -> Unsettled:
        """With so many more events counted as late."""
        return replace(self, refused=self.refused.and_(Refused(late=late))) if late else self

    def _cancelling(self, arrivals: Arrivals) -> tuple[Unsettled, Mask, Integers]:
        """Without what is deleted; which of the rows are to be inserted; the places of the events that are gone."""
        deleted = np.concatenate([self.waiting.ids, arrivals.ids[arrivals.signs < 0]])
        own = np.flatnonzero(_among(self.ids, deleted))
        own = own[np.argsort(self.arrival[own], kind="stable")]
        others = np.flatnonzero(_among(arrivals.ids, deleted))
        waiting = len(self.waiting.ids)
        signs = np.concatenate([np.full(waiting, -1), np.ones(len(own), dtype=np.int64), arrivals.signs[others]])
        remain = remaining(np.concatenate([self.waiting.ids, self.ids[own], arrivals.ids[others]]), signs)
        still, kept, came = np.split(remain, [waiting, waiting + len(own)])
        unmatched = others[came & (arrivals.signs[others] < 0)]
        more = Deletions(arrivals.ids[unmatched], arrivals.events.times[unmatched])
        changed = replace(self, waiting=self.waiting.some(still).and_(more))
        new = np.ones(len(arrivals), dtype=np.bool_)
        new[others] = came & (arrivals.signs[others] > 0)
        gone = np.sort(own[~kept])
        if not len(gone):
            return changed, new, gone
        there = np.ones(len(self), dtype=np.bool_)
        there[gone] = False
        return changed._of(np.flatnonzero(there)), new, gone

    def _inserting(self, arrivals: Arrivals, rows: Integers, came: int) -> tuple[Unsettled, Integers]:
        """With these rows as events, and their places."""
        new = arrivals.at(rows)
        order = self._order(new.events)
        new, arrived = new.at(order), came + rows[order]
        times = new.events.times
        # Equal events have one time, so those before the first one's are equal to none of these.
        equals = int(np.searchsorted(self.times, times[0], side="left"))
        # A tie-break may order an event before those of its time.
        first = self.up_to(int(times[0])) if self.tiebreak is None else equals
        numbered = numbered_among_equals(new.ids, self.ids[equals:])
        events = replace(new.events, table=with_ids(new.events.table, numbered), ticks=times)
        if self.events is None:
            return replace(self, events=_together(events), ids=new.ids, arrival=arrived), np.arange(len(new))
        both = replace(
            self,
            events=_together(joined(self.events, events)),
            ids=np.concatenate([self.ids, new.ids]),
            arrival=np.concatenate([self.arrival, arrived]),
        )
        if first == len(self):
            return both, np.arange(first, len(both))
        tail = np.arange(first, len(both))
        tail = tail[both._order(both.events.at(tail))]  # type: ignore[union-attr]  # there are events
        return both._of(np.concatenate([np.arange(first), tail])), first + np.flatnonzero(tail >= len(self))

    def _order(self, events: EventStream) -> Integers:
        """The events by time, then by the tie-break, then as they come."""
        if self.tiebreak is None:
            return np.argsort(events.times, kind="stable")
        rows = integers(np.arange(len(events)))
        table = pa.table({"time": integers(events.times), "tie": events.table.column(self.tiebreak), "came": rows})
        sorted_ = table.sort_by([(name, "ascending") for name in ("time", "tie", "came")])
        order: Integers = one_chunk(sorted_.column("came")).to_numpy()
        return order

    def _of(self, places: Integers) -> Unsettled:
        """With the events at these places only, in this order."""
        assert self.events is not None
        return replace(self, events=self.events.at(places), ids=self.ids[places], arrival=self.arrival[places])

    def advanced(self, time: int) -> Unsettled:
        """With the watermark at this time, if it is later: deletions that it has passed wait no longer."""
        if time <= self.watermark:
            return self
        passed = self.waiting.times <= time
        refused = replace(self.refused, unmatched_deletions=self.refused.unmatched_deletions + int(passed.sum()))
        return replace(self, watermark=time, waiting=self.waiting.some(~passed), refused=refused)

    def without_first(self, count: int) -> Unsettled:
        """Without the first `count` events, which nobody needs any more."""
        if not count or self.events is None:
            return self
        rest = self.events.slice(count, len(self))
        return replace(self, events=rest, ids=self.ids[count:], arrival=self.arrival[count:])

    # -- the state

    def save(self) -> Parts:
        parts: Parts = {
            "watermark": self.watermark,
            "latest": self.latest,
            "came": self.came,
            "refused": [self.refused.late, self.refused.late_deletions, self.refused.unmatched_deletions],
            "ids": self.ids.copy(),
            "arrival": self.arrival.copy(),
            "waiting_ids": self.waiting.ids.copy(),
            "waiting_times": self.waiting.times.copy(),
        }
        return parts if self.events is None else {**parts, **stored(self.events)}

    def restored(self, parts: Parts) -> Unsettled:
        """What was saved, with the same tie-break."""
        return Unsettled(
            self.tiebreak,
            restored(parts),
            parts["ids"],
            parts["arrival"],
            Deletions(parts["waiting_ids"], parts["waiting_times"]),
            parts["watermark"],
            parts["latest"],
            parts["came"],
            Refused(*parts["refused"]),
        )


def _together(events: EventStream) -> EventStream:
    """The same events in fewer pieces, where there are many."""
    if events.time_column.num_chunks < _PIECES:
        return events
    types, times = (pa.chunked_array([one_chunk(column)]) for column in (events.types, events.time_column))
    return replace(events, table=events.table.combine_chunks(), types=types, time_column=times)


def _among(ids: Hashes, wanted: Hashes) -> Mask:
    """Which of the ids are among the wanted ones."""
    both = np.ascontiguousarray(ids).view([("low", "<u8"), ("high", "<u8")]).reshape(-1)
    mask: Mask = np.isin(both["low"], wanted[:, 0])
    mask[mask] = np.isin(both[mask], np.ascontiguousarray(wanted).view(both.dtype).reshape(-1))
    return mask
