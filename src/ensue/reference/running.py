"""The reference over events that arrive in batches: it keeps the events that it needs and evaluates them again."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.events import EventStream, one_chunk
from ensue.found import Found
from ensue.logic.check import Checked
from ensue.logic.window import peel_windows, reaches_back
from ensue.parcel import parcel, table_bytes, table_of, unparcel
from ensue.reference.queries import evaluate

Positions = npt.NDArray[np.int64]


class ReferenceRunner:
    """Exact and slow. With a window in time, the events that it has left behind are let go."""

    def __init__(self, checked: Checked, tick: int | None) -> None:
        self._checked = checked
        window = peel_windows(checked.query.pattern)[1].ticks(tick)
        self._ticks = None if reaches_back(checked.query) else window
        self._first = 0  # the position of the first event kept
        self._events: EventStream | None = None

    @property
    def nodes(self) -> int:
        return 0 if self._events is None else len(self._events)

    def push(self, events: EventStream) -> Found:
        """The matches that end in these events."""
        before = self.nodes
        self._events = events if self._events is None else _joined(self._events, events)
        found = evaluate(self._checked, self._events)
        found = found.in_order(np.flatnonzero(found.end >= before)).shifted(self._first)
        if len(events):
            self.pass_time(int(events.times[-1]))
        return found

    def pass_time(self, time: int) -> None:
        """No later event is before this time: what windows have left behind by then may go."""
        if self._ticks is not None and self._events is not None:
            left = int(np.searchsorted(self._events.times, time - self._ticks))
            self._events = self._events.slice(left, len(self._events))
            self._first += left

    def referenced(self) -> Positions:
        return np.arange(self._first, self._first + self.nodes)

    def save(self) -> bytes:
        parts = {"first": json.dumps(self._first).encode()}
        if self._events is not None:
            kept = self._events
            table = kept.table.append_column("\0type", one_chunk(kept.types).cast(pa.string()))
            table = table.append_column("\0time", kept.time_column).append_column("\0times", pa.array(kept.times))
            parts["events"] = table_bytes(table)
            parts["tick"] = json.dumps(kept.tick).encode()
        return parcel(parts)

    def load(self, state: bytes) -> None:
        parts = unparcel(state)
        self._first = json.loads(parts["first"])
        self._events = None
        if "events" in parts:
            table = table_of(parts["events"])
            plain = table.drop_columns(["\0type", "\0time", "\0times"])
            times, tick = table.column("\0times").to_numpy(), json.loads(parts["tick"])
            self._events = EventStream(plain, table.column("\0type"), times, tick, table.column("\0time"))


def _joined(first: EventStream, second: EventStream) -> EventStream:
    return EventStream(
        pa.concat_tables([first.table, second.table]),
        pa.chunked_array([one_chunk(s.types).cast(pa.string()) for s in (first, second)]),
        np.concatenate([first.times, second.times]),
        second.tick,
        pa.chunked_array([*first.time_column.chunks, *second.time_column.chunks]),
    )
