"""A query over a streaming DataFrame: events wait for the watermark and are then evaluated in order.

The state is in Spark's own state store, with one value for each bucket of keys: the waiting events and the running
query. So recovery and exactly-once come from Spark. A bucket with waiting events has a timer, so that the watermark
releases them even without new events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.budget import Budget, shown_size
from ensue.data.envelope import sealed
from ensue.data.events import as_integers
from ensue.errors import EngineError
from ensue.plan.mode import Mode
from ensue.spark.begun_by import BegunBy
from ensue.spark.bucket import BEYOND, Bucket, Control, MicroBatch, WaitingBucket, opened, passed_by
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import compacted
from ensue.spark.deferred import KEPT_COUNTS, BucketValues, Deferred
from ensue.spark.packing import (
    FIRST,
    IDENTITY,
    PACKED,
    Batches,
    ControlPacker,
    Packer,
    Sent,
    handed_back,
    joined_blobs,
)
from ensue.spark.queries_bucket import QueriesBucket
from ensue.spark.query_set import QuerySet, SharedQueries
from ensue.spark.recipe import TIME, Recipe, with_own_names
from ensue.spark.revised_bucket import Disorder, Followed, RevisedBucket
from ensue.spark.stream_work import RunningWork, StreamWork
from ensue.spark.type_mapping import arrow_schema

_KIND_OF_IDENTITY = "stream"
#: The counts that a bucket reports for each micro-batch.
_COUNTED = (
    "relevant",
    "without_time",
    "late",
    "waiting",
    "open",
    "open_windows",
    "unexpected",
    "matches",
    "state_bytes",
)
#: Spark takes no larger value from Python.
_MOST_BYTES = (1 << 31) - (1 << 20)


def run_streaming(
    travelling: DataFrame,
    processor: BucketProcessor,
    result: T.StructType,
    *,
    name: str,
    control: DataFrame | None = None,
) -> DataFrame:
    """The matches of the travelling columns; the counts of each micro-batch are observed metrics under this name.

    Rows of a `control` stream go to all buckets, before the events of the same micro-batch.
    """
    packed = compacted(travelling).mapInArrow(Packer(processor.buckets, of_stream=True), PACKED)
    if control is not None:
        packed = packed.union(control.mapInArrow(ControlPacker(processor.buckets), PACKED))
    output = ", ".join(["bucket long", "rows binary", *(f"{c} long" for c in processor.counted)])
    counted = packed.groupBy("bucket").transformWithState(Deferred.of(processor), output, "Append", "EventTime")
    counts = [F.coalesce(F.sum(c), F.lit(0)).alias(c) for c in processor.counted]
    observed = counted.observe(name, *counts, F.coalesce(F.max("state_bytes"), F.lit(0)).alias("largest_state"))
    return observed.select("rows").mapInArrow(UnpackRows(processor.recipe.result), result)


class BucketProcessor(StatefulProcessor):
    """Evaluates a query over the events of one bucket of keys after another.

    Each micro-batch that has events calls every bucket. In each other one, a timer calls those that ever had an event.
    So what is observed is of all buckets. One with nothing to do tells its counts, and its state is not read.

    Each micro-batch that has events also calls the bucket IDENTITY, whose state says what the checkpoint is for. So
    another query, or other options, are refused in the first micro-batch, even if it only has events of new keys. Spark
    commits nothing of a micro-batch in which a task fails.

    Spark's watermark is that of the previous micro-batch. `final_after` says that an event is final as soon as it is
    that many milliseconds older than the latest one: such events need not wait for the next micro-batch.

    With `behind_operator` the events come from another operator with state, which the watermark reaches first. It
    releases events that the watermark has just passed, so only those are late which their bucket has passed itself.

    A `disorder` says how events may change, and that matches may be told before the watermark has passed them.
    """

    def __init__(
        self,
        recipe: StreamWork | QuerySet,
        buckets: BucketCount,
        final_after: int | None = None,
        *,
        behind_operator: bool = False,
        disorder: Disorder | None = None,
    ) -> None:
        self.recipe = recipe
        self.buckets = buckets
        folds = isinstance(recipe, Recipe) and recipe.mode is Mode.TOTALS
        self.counted = (*_COUNTED, *((BEYOND,) if folds else ()), *(() if disorder is None else disorder.counts))
        self._disorder = disorder
        self._final_after = final_after
        self._behind_operator = behind_operator

    @property
    def begun_by(self) -> BegunBy:
        """What the states depend on, as far as the driver knows it."""
        of_stream = {"alone": "" if self._final_after is None else f"{self._final_after} ms"}
        if self._disorder is not None:
            of_stream["disorder"] = str(self._disorder)
        return BegunBy({**self.recipe.made_by, **of_stream}, self.buckets.given)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.attach(handle, BucketValues.of(handle))

    def attach(self, handle: StatefulProcessorHandle, values: BucketValues) -> None:
        """Like `init`, with values that were already requested from Spark."""
        self._handle = handle
        self._state, self._counts = values
        self._made_by = {**self.begun_by.made_by, "number of buckets": str(self.buckets.in_task())}
        self._budget = self.recipe.budget()
        self._running: RunningWork | None = None
        self._fresh_bucket: Callable[[], RevisedBucket] | None = None
        self._advanced: dict[int, int] = {}  # the watermark to which each bucket has been advanced

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if key[0] == IDENTITY:
            self._check_identity()
            return
        came = [(r.place, None if r.rows is None else bytes(r.rows)) for r in rows]
        told, promised, events = (
            joined_blobs(blob for blob in came if Sent.of(blob[0]) is sent)
            for sent in (Sent.CONTROL, Sent.PROMISES, Sent.EVENTS)
        )
        control = None if told is None else Control(told, telling=key[0] == FIRST)
        watermark = timerValues.getCurrentWatermarkInMs()
        batch = MicroBatch(events, watermark, self._final_after, self._behind_operator, control, promised)
        yield from self._told(key[0], batch)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        # Timers come after the rows, with the same watermark, so a bucket with rows has already released its events.
        watermark = timerValues.getCurrentWatermarkInMs()
        if self._advanced.get(key[0]) != watermark:
            yield from self._told(key[0], MicroBatch(None, watermark, self._final_after, self._behind_operator))

    def _check_identity(self) -> None:
        """Refuses a checkpoint that was begun by something else; the first micro-batch writes down by what."""
        stored = self._state.get()
        if stored is None:
            self._state.update((sealed(_KIND_OF_IDENTITY, self._made_by, {}),))
        else:
            opened(bytes(stored[0]), _KIND_OF_IDENTITY, self._made_by)

    def _told(self, number: int, batch: MicroBatch) -> Iterator[Row]:
        """What a bucket has to tell in a micro-batch: nothing if it never had an event."""
        # Each question to the state store is a round trip, and most buckets of a small micro-batch have nothing to do.
        counts = self._counts.get() if batch.empty else None
        if batch.empty and counts is None and not self._state.exists():
            return
        told = None if counts is None else self._idle(number, counts, batch.watermark)
        if told is None:
            with self._budget.explaining_memory_errors():
                told = self._advance(number, batch)
        self._advanced[number] = batch.watermark
        # So that the bucket also tells of itself in a micro-batch that only the watermark brings about.
        self._handle.registerTimer(batch.watermark + 1)
        yield told

    def _idle(self, number: int, counts: tuple[Any, ...], watermark: int) -> Row | None:
        """The counts of a bucket that has nothing to do, as they are stored; None if it has."""
        *kept, timer = counts
        if timer is not None and timer <= watermark:
            return None
        told = dict(zip(KEPT_COUNTS, kept, strict=True))
        return Row(bucket=number, rows=None, **{name: told.get(name, 0) for name in self.counted})

    def _advance(self, number: int, batch: MicroBatch) -> Row:
        """Adds the new events, evaluates the events that the watermark has passed, and keeps the others waiting."""
        bucket, watermark = self._load(), batch.watermark
        rows, counts = bucket.advance(batch, self._budget)
        due = bucket.next_timer(watermark)
        if due is not None:
            self._handle.registerTimer(due)
        state = _small_enough(bucket.save(self._made_by), "the state")
        self._state.update((state,))
        told = {**counts, "state_bytes": len(state)}
        waits_for = bucket.timer if bucket.timer is not None and bucket.timer > watermark else None
        self._counts.update((*(told[name] for name in KEPT_COUNTS), waits_for))
        blob = None
        if rows is not None and len(rows):
            blob = _small_enough(table_bytes(self.recipe.rows(rows)), f"the table of {len(rows):,} matches")
        return Row(bucket=number, rows=blob, **{name: told[name] for name in self.counted})

    def _load(self) -> Bucket:
        stored = self._state.get()
        return self._revised(stored) if self._disorder is not None else self._waiting(stored)

    def _waiting(self, stored: tuple[Any, ...] | None) -> Bucket:
        assert not isinstance(self.recipe, QuerySet)  # which has a disorder
        if self._running is None:
            self._running = self.recipe.running(self._budget)
            self._fresh = self._running.parts()
        if stored is None:
            self._running.restore(self._fresh)
            return WaitingBucket(self.recipe, self._running)
        return WaitingBucket.load(self.recipe, self._running, bytes(stored[0]), self._made_by)

    def _revised(self, stored: tuple[Any, ...] | None) -> Bucket:
        assert self._disorder is not None
        if self._fresh_bucket is None:
            self._fresh_bucket = _revised_buckets(self.recipe, self._disorder, self._budget)
        bucket = self._fresh_bucket()
        return bucket if stored is None else bucket.load(bytes(stored[0]), self._made_by)

    def close(self) -> None:
        self._running = self._fresh_bucket = None


def _revised_buckets(work: StreamWork | QuerySet, disorder: Disorder, budget: Budget) -> Callable[[], RevisedBucket]:
    """Makes buckets without events, which share their queries: one bucket at a time."""
    if isinstance(work, QuerySet):
        shared = SharedQueries(work, budget)
        return lambda: QueriesBucket(disorder, shared)
    assert isinstance(work, Recipe)  # rows of a clause MATCH_RECOGNIZE come in order
    alone = {"": Followed.of(work, budget)}
    return lambda: RevisedBucket(disorder, alone)


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
        passed = passed_by(timerValues.getCurrentWatermarkInMs())
        if events is not None:
            late = np.flatnonzero(as_integers(events.column(TIME)) <= passed)
            if len(late):
                yield Row(rows=table_bytes(with_own_names(events.take(pa.array(late)))))


def _small_enough(value: bytes, what: str) -> bytes:
    if len(value) > _MOST_BYTES:
        size = shown_size(len(value))
        raise EngineError(
            f"{what} of a bucket in one micro-batch takes {size}, more than Spark can hold: "
            "use more buckets= or smaller micro-batches"
        )
    return value


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
