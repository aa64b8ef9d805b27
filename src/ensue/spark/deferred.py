"""The processor of a stream before its first event, when Spark only asks for the schema of its state.

For that, Spark starts a separate Python process in the first micro-batch of every stream. This file loads nothing else
of the library, so that the process is done as soon as PySpark is loaded; the rest is loaded with the first event.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, ValueState

if TYPE_CHECKING:
    from ensue.spark.streaming import BucketProcessor

#: Given as types, because PySpark would ask Spark to parse a schema that is a string, for every task.
_STATE = T.StructType([T.StructField("state", T.BinaryType())])
#: The counts of a bucket that are the same while it has nothing to do.
KEPT_COUNTS = ("waiting", "open", "open_windows", "state_bytes")
_COUNTS = T.StructType([T.StructField(name, T.LongType()) for name in (*KEPT_COUNTS, "timer")])


class BucketValues(NamedTuple):
    """What Spark's state store has of a bucket: its state, and a few numbers that tell of it without reading it."""

    state: ValueState
    counts: ValueState

    @classmethod
    def of(cls, handle: StatefulProcessorHandle) -> BucketValues:
        return cls(handle.getValueState("bucket", _STATE), handle.getValueState("counts", _COUNTS))


class Deferred(StatefulProcessor):
    """The processor of the buckets, which stays pickled until there are events."""

    def __init__(self, processor: bytes) -> None:
        self._bytes = processor
        self._loaded: BucketProcessor | None = None

    @classmethod
    def of(cls, processor: BucketProcessor) -> Deferred:
        """By cloudpickle: a function of the user's own may be one of the program itself."""
        return cls(cloudpickle.dumps(processor))  # type: ignore[no-untyped-call]

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._values = BucketValues.of(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        return self._processor.handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        return self._processor.handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded.close()

    @property
    def _processor(self) -> BucketProcessor:
        if self._loaded is None:
            self._loaded = pickle.loads(self._bytes)
            self._loaded.attach(self._handle, self._values)
        return self._loaded
