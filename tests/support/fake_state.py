"""Stands in for the handle that Spark gives a stateful processor: the values and the timers of one key."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


class FakeValue:
    """One value of the key."""

    def __init__(self) -> None:
        self.value: Any = None

    def get(self) -> Any:
        return self.value

    def exists(self) -> bool:
        return self.value is not None

    def update(self, value: Any) -> None:
        self.value = value


class FakeStore(FakeValue):
    """The handle, and the state of a bucket, in one object."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = FakeValue()
        self.timers: set[int] = set()

    @property
    def handle(self) -> StatefulProcessorHandle:
        """This object as a handle: it has all methods of a handle that our processor calls."""
        return cast(StatefulProcessorHandle, self)

    def getValueState(self, name: str, schema: str) -> FakeValue:
        return self if name == "bucket" else self.counts

    def registerTimer(self, due: int) -> None:
        self.timers.add(due)

    def due(self, watermark: int) -> list[Any]:
        """Removes the timers that the watermark has passed, and returns them."""
        passed = sorted(t for t in self.timers if t <= watermark)
        self.timers -= set(passed)
        return passed


class Timers:
    """Tells a processor the watermark."""

    def __init__(self, watermark: int) -> None:
        self._watermark = watermark

    def getCurrentWatermarkInMs(self) -> int:
        return self._watermark
