"""The handle that Spark gives a stateful processor, for one key: one value, and timers."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


class FakeStore:
    """The handle and the value state in one."""

    def __init__(self) -> None:
        self.value: tuple[bytes] | None = None
        self.timers: set[int] = set()

    @property
    def handle(self) -> StatefulProcessorHandle:
        """This, as what a processor is given: it has all of a handle that ours asks for."""
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
        """The timers that the watermark has passed, which are then gone."""
        passed = sorted(t for t in self.timers if t <= watermark)
        self.timers -= set(passed)
        return passed


class Timers:
    """What a processor asks the time."""

    def __init__(self, watermark: int) -> None:
        self._watermark = watermark

    def getCurrentWatermarkInMs(self) -> int:
        return self._watermark
