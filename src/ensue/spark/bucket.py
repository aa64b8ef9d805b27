"""The state of a stream for a bucket of keys: events that wait for the watermark, and the query over the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.budget import Budget, Large
from ensue.data.envelope import Parts, prefixed, sealed, unprefixed, unsealed
from ensue.data.events import as_integers
from ensue.errors import DataError, EngineError
from ensue.spark.recipe import TIME, in_order
from ensue.spark.stream_work import RunningWork, StreamWork

#: The kind of the saved state.
KIND = "bucket of keys"
#: The count that streams of AGGREGATE have: numbers that were told as NULL, since they do not fit 64 bits.
BEYOND = "beyond_64_bits"
#: Watermarks are in milliseconds, times of events in microseconds.
MICROS = 1000
ADVICE = "nothing was changed in it, so the earlier query can go on; start a changed one with a new checkpointLocation"


class Control(NamedTuple):
    """Queries that come and go: rows of their names and texts. One of the buckets tells what is wrong with them."""

    rows: pa.Table
    telling: bool


class MicroBatch(NamedTuple):
    """What a bucket gets: events that came, the watermark in milliseconds, and how these are to be understood.

    Where it is not None, events are final as soon as they are `final_after` milliseconds older than the latest one.
    Where they come from another operator with state, they are late only if the bucket has passed them itself.
    """

    events: pa.Table | None
    watermark: int
    final_after: int | None = None
    behind_operator: bool = False
    control: Control | None = None  # comes before the events
    promised: pa.Table | None = None  # holds after the events: no event of the type comes any more before the time

    @property
    def empty(self) -> bool:
        """Whether there is nothing new but the watermark."""
        return self.events is None and self.control is None and self.promised is None


class Told(NamedTuple):
    """What a bucket says of a micro-batch: rows for the result, and its counts by their names."""

    rows: pa.Table | None
    counts: Mapping[str, int]


class Bucket(Protocol):
    """A bucket that has been loaded; `timer` is the time of the timer that it waits for."""

    timer: int | None

    def advance(self, batch: MicroBatch, budget: Budget) -> Told:
        """Takes in the events, and evaluates what the watermark allows."""

    def next_timer(self, watermark: int) -> int | None:
        """The time for a new timer, in milliseconds; None if none is needed or a timer is already set."""

    def save(self, made_by: Mapping[str, str]) -> bytes:
        """The state as it is to be stored."""


def opened(state: bytes, kind: str, made_by: Mapping[str, str]) -> Parts:
    try:
        return unsealed(state, kind, made_by)
    except EngineError as e:
        raise EngineError(f"the checkpoint cannot be used: {e}\n  {ADVICE}") from None


def check_after_1970(times: pa.ChunkedArray) -> None:
    earliest = pc.min(times)
    if earliest.is_valid and earliest.value < 0:
        raise DataError(
            f"an event has the time {earliest}: on a stream, Spark's watermark begins at 1970, so earlier events would "
            "never be evaluated. Filter them out before the watermark, or run the query over a table"
        )


def passed_by(watermark: int) -> int:
    """The time up to which events are final. Before the first watermark, no event is."""
    return watermark * MICROS if watermark > 0 else int(np.iinfo(np.int64).min)


def timed(events: pa.Table) -> tuple[pa.Table, int]:
    """The events that have a time, and how many have none."""
    without_time = events.column(TIME).null_count
    if without_time:
        events = events.filter(events.column(TIME).is_valid())
    check_after_1970(events.column(TIME))
    return events, without_time


def time_to_wake(expires_after: int | None, waited_for: list[int], open_: int, watermark: int) -> int | None:
    """When a bucket must be looked at again without new events, in milliseconds; None if that is not needed.

    `waited_for` are the times that may bring something once the watermark has passed them. What is open has expired
    after so many microseconds.
    """
    if waited_for:
        return -(-min(waited_for) // MICROS)
    if expires_after and open_ and watermark > 0:
        return watermark + expires_after // MICROS + 1  # by then all open partial matches have expired
    return None


class ArrivalCounts(NamedTuple):
    """Counts of the new events of a bucket: those with a time, those without, and how many of the former were late."""

    relevant: int
    without_time: int
    late: int


@dataclass
class WaitingBucket:
    """The events that wait for the watermark, the running query over the earlier ones, and the timer that is set."""

    recipe: StreamWork
    running: RunningWork
    waiting: pa.Table | None = None
    timer: int | None = None
    released: int = (
        0  # the time, in milliseconds, up to which events are final, where Spark's watermark does not say it
    )

    def advance(self, batch: MicroBatch, budget: Budget) -> Told:
        """Adds the new events, evaluates the events that the watermark has passed, and keeps the others waiting."""
        watermark = batch.watermark
        if watermark < self.released:
            raise EngineError(
                "alone=True was given, but another watermark holds this stream's watermark back: leave it out, and "
                "start with a new checkpointLocation"
            )
        came = self.take_in(batch.events, passed_by(self.released if batch.behind_operator else watermark))
        if self.waiting is not None:  # what is released of them is copied
            budget.check(Large.TASK, 2 * self.waiting.nbytes, len(self.waiting))
        if batch.final_after is not None:
            watermark = self.released = max(watermark, self.latest - batch.final_after)
        elif batch.behind_operator:
            self.released = watermark
        passed = passed_by(watermark)
        released = [self.release(passed), self.running.pass_time(passed) if watermark > 0 else None]
        found = [table for table in released if table is not None]
        rows = pa.concat_tables(found) if found else None
        waiting = 0 if self.waiting is None else len(self.waiting)
        matches = 0 if rows is None else len(rows)
        running = self.running
        of_running = {"open": running.open, "open_windows": running.open_windows, "unexpected": running.unexpected()}
        of_running |= {BEYOND: running.beyond()}
        return Told(rows, {**came._asdict(), **of_running, "waiting": waiting, "matches": matches})

    def take_in(self, events: pa.Table | None, passed: int) -> ArrivalCounts:
        """Adds new events to those that wait, except those without a time and late ones; all of them are counted."""
        if events is None:
            return ArrivalCounts(0, 0, 0)
        events, without_time = timed(events)
        relevant = len(events)
        late = as_integers(events.column(TIME)) <= passed
        if late.any():
            events = events.take(pa.array(np.flatnonzero(~late)))
        self.waiting = events if self.waiting is None else pa.concat_tables([self.waiting, events])
        return ArrivalCounts(relevant, without_time, int(np.count_nonzero(late)))

    @property
    def latest(self) -> int:
        """The time of the latest waiting event, in milliseconds; 0 if no event waits."""
        if self.waiting is None or not len(self.waiting):
            return 0
        return int(as_integers(self.waiting.column(TIME)).max()) // MICROS

    def release(self, passed: int) -> pa.Table | None:
        """Evaluates the events up to this time and returns the rows of matches; None if no event is released."""
        if self.waiting is None or not len(self.waiting):
            return None
        ready = as_integers(self.waiting.column(TIME)) <= passed
        if not ready.any():
            return None
        released = self.waiting.take(pa.array(np.flatnonzero(ready)))
        self.waiting = self.waiting.take(pa.array(np.flatnonzero(~ready)))
        return self.running.push(self.recipe.stream(in_order(released)))

    def next_timer(self, watermark: int) -> int | None:
        times = [] if self.running.next_due is None else [self.running.next_due]
        if self.waiting is not None and len(self.waiting):
            times.append(int(as_integers(self.waiting.column(TIME)).min()))
        due = time_to_wake(self.recipe.expires_after, times, self.running.open, watermark)
        if due is None:
            return None
        if self.timer is not None and watermark < self.timer <= due:
            return None
        self.timer = due
        return due

    def save(self, made_by: Mapping[str, str]) -> bytes:
        parts: Parts = {"timer": self.timer, "released": self.released, **prefixed("running", self.running.parts())}
        if self.waiting is not None and len(self.waiting):
            parts["waiting"] = self.waiting.combine_chunks()
        # Spark takes 40 ms to send a megabyte there and back, and writes it to disk; compressing it takes 3 ms.
        return sealed(KIND, made_by, parts, compressed=True)

    @classmethod
    def load(cls, recipe: StreamWork, running: RunningWork, state: bytes, made_by: Mapping[str, str]) -> WaitingBucket:
        parts = opened(state, KIND, made_by)
        running.restore(unprefixed("running", parts))
        return cls(recipe, running, parts.get("waiting"), parts["timer"], parts["released"])
