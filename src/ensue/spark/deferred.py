"""The processor of a stream before its first event: all that Spark asks of it then is what its state looks like.

For that Spark starts a Python process of its own, in the first micro-batch of every stream. This file loads nothing of
the library, so that the process is done as soon as PySpark is loaded; the rest waits for the first event.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, ValueState

if TYPE_CHECKING:
    from ensue.spark.streaming import BucketProcessor

#: Given as a type: Spark is asked to read a schema in words, for every task.
_STATE = T.StructType([T.StructField("state", T.BinaryType())])


def bucket_state(handle: StatefulProcessorHandle) -> ValueState:
    """Where the state of a bucket is kept."""
    return handle.getValueState("bucket", _STATE)


class Deferred(StatefulProcessor):
    """The processor of the buckets, as bytes until there are events."""

    def __init__(self, processor: bytes) -> None:
        self._bytes = processor
        self._loaded: BucketProcessor | None = None

    @classmethod
    def of(cls, processor: BucketProcessor) -> Deferred:
        return cls(pickle.dumps(processor))

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = bucket_state(handle)

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
            self._loaded.attach(self._handle, self._state)
        return self._loaded
