"""Stands in for the handle that Spark gives a stateful processor: one value and the timers of one key."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


class FakeStore:
    """The handle and its value state in one object."""

    def __init__(self) -> None:
        self.value: tuple[bytes] | None = None
        self.timers: set[int] = set()

    @property
    def handle(self) -> StatefulProcessorHandle:
        """This object as a handle: it has all methods of a handle that our processor calls."""
        return cast(StatefulProcessorHandle, self)

    def getValueState(self, name: str, schema: str) -> FakeStore:
        return self

    def get(self) -> tuple[bytes] | None:
        return self.value

    def update(self, value: tuple[bytes]) -> None:
        self.value = value

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
