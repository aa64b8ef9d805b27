"""A query over a streaming DataFrame: events wait for the watermark and are then evaluated in order.

The state is in Spark's own state store, with one value for each bucket of keys: the waiting events and the running
query. So recovery and exactly-once come from Spark. A bucket with waiting events has a timer, so that the watermark
releases them even without new events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, ValueState

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.budget import Large, shown_size
from ensue.data.envelope import Parts, prefixed, sealed, unprefixed, unsealed
from ensue.data.events import as_integers
from ensue.errors import DataError, EngineError
from ensue.results.running_query import RunningQuery
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import compacted
from ensue.spark.deferred import Deferred, bucket_state
from ensue.spark.packing import IDENTITY, PACKED, Batches, Packer, handed_back, joined_blobs
from ensue.spark.recipe import TIME, Recipe, in_order, with_own_names
from ensue.spark.type_mapping import arrow_schema

_KIND, _KIND_OF_IDENTITY = "bucket of keys", "stream"
_ADVICE = "nothing was changed in it, so the earlier query can go on; start a changed one with a new checkpointLocation"
#: The counts that a bucket reports for each micro-batch.
_COUNTED = ("relevant", "without_time", "late", "waiting", "open", "matches", "state_bytes")
_OUTPUT = ", ".join(["bucket long", "rows binary", *(f"{c} long" for c in _COUNTED)])
#: Spark takes no larger value from Python.
_MOST_BYTES = (1 << 31) - (1 << 20)
_MICROS = 1000  # watermarks are in milliseconds, times of events in microseconds


def run_streaming(travelling: DataFrame, processor: BucketProcessor, result: T.StructType, *, name: str) -> DataFrame:
    """The matches of the travelling columns; the counts of each micro-batch are observed metrics under this name."""
    packed = compacted(travelling).mapInArrow(Packer(processor.buckets, of_stream=True), PACKED)
    counted = packed.groupBy("bucket").transformWithState(Deferred.of(processor), _OUTPUT, "Append", "EventTime")
    counts = [F.coalesce(F.sum(c), F.lit(0)).alias(c) for c in _COUNTED]
    observed = counted.observe(name, *counts, F.coalesce(F.max("state_bytes"), F.lit(0)).alias("largest_state"))
    return observed.select("rows").mapInArrow(UnpackRows(processor.recipe.result), result)


class BucketProcessor(StatefulProcessor):
    """Evaluates a query over the events of one bucket of keys after another.

    Each micro-batch that has events also calls the bucket IDENTITY, whose state says what the checkpoint is for. So
    another query, or other options, are refused in the first micro-batch, even if it only has events of new keys. Spark
    commits nothing of a micro-batch in which a task fails.

    Spark's watermark is that of the previous micro-batch. `final_after` says that an event is final as soon as it is
    that many milliseconds older than the latest one: such events need not wait for the next micro-batch.

    With `behind_operator` the events come from another operator with state, which the watermark reaches first. It
    releases events that the watermark has just passed, so only those are late which their bucket has passed itself.
    """

    def __init__(
        self, recipe: Recipe, buckets: BucketCount, final_after: int | None = None, *, behind_operator: bool = False
    ) -> None:
        self.recipe = recipe
        self.buckets = buckets
        self._final_after = final_after
        self._behind_operator = behind_operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.attach(handle, bucket_state(handle))

    def attach(self, handle: StatefulProcessorHandle, state: ValueState) -> None:
        """Like `init`, with a state that was already requested from Spark."""
        self._handle = handle
        self._state = state
        alone = "" if self._final_after is None else f"{self._final_after} ms"
        self._made_by = {**self.recipe.made_by, "number of buckets": str(self.buckets.in_task()), "alone": alone}
        self._budget = self.recipe.budget()
        self._running: RunningQuery | None = None
        self._advanced: dict[int, int] = {}  # the watermark to which each bucket has been advanced

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if key[0] == IDENTITY:
            self._check_identity()
            return
        events = joined_blobs((r.place, None if r.rows is None else bytes(r.rows)) for r in rows)
        with self._budget.explaining_memory_errors():
            yield self._advance(key[0], events, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        # Timers come after the rows, with the same watermark, so a bucket with rows has already released its events.
        watermark = timerValues.getCurrentWatermarkInMs()
        if self._advanced.get(key[0]) != watermark:
            with self._budget.explaining_memory_errors():
                yield self._advance(key[0], None, watermark)

    def _check_identity(self) -> None:
        """Refuses a checkpoint that was begun by something else; the first micro-batch writes down by what."""
        stored = self._state.get()
        if stored is None:
            self._state.update((sealed(_KIND_OF_IDENTITY, self._made_by, {}),))
        else:
            _opened(bytes(stored[0]), _KIND_OF_IDENTITY, self._made_by)

    def _advance(self, number: int, events: pa.Table | None, watermark: int) -> Row:
        """Adds the new events, evaluates the events that the watermark has passed, and keeps the others waiting."""
        self._advanced[number] = watermark
        bucket = self._load()
        if watermark < bucket.released:
            raise EngineError(
                "alone=True was given, but another watermark holds this stream's watermark back: leave it out, and "
                "start with a new checkpointLocation"
            )
        came = bucket.take_in(events, _passed(bucket.released if self._behind_operator else watermark))
        if bucket.waiting is not None:  # what is released of them is copied
            self._budget.check(Large.TASK, 2 * bucket.waiting.nbytes, len(bucket.waiting))
        if self._final_after is not None:
            watermark = bucket.released = max(watermark, bucket.latest - self._final_after)
        elif self._behind_operator:
            bucket.released = watermark
        passed = _passed(watermark)
        released = [bucket.release(passed), bucket.running.pass_time(passed) if watermark > 0 else None]
        found = [table for table in released if table is not None]
        rows = pa.concat_tables(found) if found else None
        due = bucket.next_timer(watermark)
        if due is not None:
            self._handle.registerTimer(due)
        state = _small_enough(bucket.save(self._made_by), "the state")
        self._state.update((state,))
        waiting = 0 if bucket.waiting is None else len(bucket.waiting)
        blob = None
        if rows is not None and len(rows):
            blob = _small_enough(table_bytes(self.recipe.rows(rows)), f"the table of {len(rows):,} matches")
        return Row(
            bucket=number,
            rows=blob,
            relevant=came.relevant,
            without_time=came.without_time,
            late=came.late,
            waiting=waiting,
            open=bucket.running.open,
            matches=0 if rows is None else len(rows),
            state_bytes=len(state),
        )

    def _load(self) -> Bucket:
        if self._running is None:
            self._running = self.recipe.running(self._budget)
            self._fresh = self._running.parts()
        stored = self._state.get()
        if stored is None:
            self._running.restore(self._fresh)
            return Bucket(self.recipe, self._running)
        return Bucket.load(self.recipe, self._running, bytes(stored[0]), self._made_by)

    def close(self) -> None:
        self._running = None


def run_late(travelling: DataFrame, schema: T.StructType) -> DataFrame:
    """The events that came after the watermark had passed them."""
    packed = compacted(travelling).mapInArrow(Packer(BucketCount(1, 0)), PACKED)
    late = packed.groupBy("bucket").transformWithState(LateProcessor(), "rows binary", "Append", "EventTime")
    return late.mapInArrow(UnpackRows(arrow_schema(schema)), schema)


class LateProcessor(StatefulProcessor):
    """Returns the events that came too late; it keeps no state, but it needs the watermark."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        events = joined_blobs((r.place, None if r.rows is None else bytes(r.rows)) for r in rows)
        passed = _passed(timerValues.getCurrentWatermarkInMs())
        if events is not None:
            late = np.flatnonzero(as_integers(events.column(TIME)) <= passed)
            if len(late):
                yield Row(rows=table_bytes(with_own_names(events.take(pa.array(late)))))


def _opened(state: bytes, kind: str, made_by: Mapping[str, str]) -> Parts:
    try:
        return unsealed(state, kind, made_by)
    except EngineError as e:
        raise EngineError(f"the checkpoint cannot be used: {e}\n  {_ADVICE}") from None


def _small_enough(value: bytes, what: str) -> bytes:
    if len(value) > _MOST_BYTES:
        size = shown_size(len(value))
        raise EngineError(
            f"{what} of a bucket in one micro-batch takes {size}, more than Spark can hold: "
            "use more buckets= or smaller micro-batches"
        )
    return value


def _check_after_1970(times: pa.ChunkedArray) -> None:
    earliest = pc.min(times)
    if earliest.is_valid and earliest.value < 0:
        raise DataError(
            f"an event has the time {earliest}: on a stream, Spark's watermark begins at 1970, so earlier events would "
            "never be evaluated. Filter them out before the watermark, or run the query over a table"
        )


def _passed(watermark: int) -> int:
    """The time up to which events are final. Before the first watermark, no event is."""
    return watermark * _MICROS if watermark > 0 else int(np.iinfo(np.int64).min)


class ArrivalCounts(NamedTuple):
    """Counts of the new events of a bucket: those with a time, those without, and how many of the former were late."""

    relevant: int
    without_time: int
    late: int


@dataclass
class Bucket:
    """The events that wait for the watermark, the running query over the earlier ones, and the timer that is set."""

    recipe: Recipe
    running: RunningQuery
    waiting: pa.Table | None = None
    timer: int | None = None
    released: int = (
        0  # the time, in milliseconds, up to which events are final, where Spark's watermark does not say it
    )

    def take_in(self, events: pa.Table | None, passed: int) -> ArrivalCounts:
        """Adds new events to those that wait, except those without a time and late ones; all of them are counted."""
        if events is None:
            return ArrivalCounts(0, 0, 0)
        without_time = events.column(TIME).null_count
        if without_time:
            events = events.filter(events.column(TIME).is_valid())
        relevant = len(events)
        _check_after_1970(events.column(TIME))
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
        return int(as_integers(self.waiting.column(TIME)).max()) // _MICROS

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
        """The time for a new timer, in milliseconds; None if none is needed or a timer is already set."""
        times = [] if self.running.next_due is None else [self.running.next_due]
        if self.waiting is not None and len(self.waiting):
            times.append(int(as_integers(self.waiting.column(TIME)).min()))
        if times:
            due = -(-min(times) // _MICROS)
        elif self.recipe.choice.plan is not None and self.recipe.window and self.running.open and watermark > 0:
            due = watermark + self.recipe.window // _MICROS + 1  # by then all open partial matches have expired
        else:
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
        return sealed(_KIND, made_by, parts, compressed=True)

    @classmethod
    def load(cls, recipe: Recipe, running: RunningQuery, state: bytes, made_by: Mapping[str, str]) -> Bucket:
        parts = _opened(state, _KIND, made_by)
        running.restore(unprefixed("running", parts))
        return cls(recipe, running, parts.get("waiting"), parts["timer"], parts["released"])


@dataclass(frozen=True)
class UnpackRows:
    """`mapInArrow` function: turns blobs into the rows in them, with these columns."""

    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for blob in batch.column("rows").to_pylist():
                if blob is not None:
                    rows = table_of(blob).select(self.schema.names).cast(self.schema)
                    yield from handed_back(rows)
