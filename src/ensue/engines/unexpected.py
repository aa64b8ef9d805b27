"""Counts the events that break what EXPECT says of a stream: it is run beside the query, and changes no result."""

from __future__ import annotations

from typing import Any

from ensue.data.budget import Budget
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, log
from ensue.engines.opening import opened_plan
from ensue.plan.choice import Choice

_NOTHING: Parts = {}


class Unexpected:
    """The events that are unexpected, of a stream that comes in batches. Without EXPECT, none are."""

    def __init__(self, choice: Choice, tick: int | None, budget: Budget) -> None:
        plan = choice.watching
        self._engine = None if plan is None else opened_plan(plan, tick, budget)
        self._read = 0  # how many events came before
        self._first: Any = None  # the time of the first one, where there was one
        self._count = 0

    def push(self, events: EventStream) -> None:
        """Looks at events, which follow the earlier ones."""
        if self._engine is None:
            return
        found = self._engine.push(events)
        if len(found) and not self._count:
            self._first = events.time_column[int(found.start.min()) - self._read].as_py()
        self._count += len(found)
        self._read += len(events)

    def taken(self) -> int:
        """How many were unexpected since this was last asked; the log tells of them, and of the first one's time."""
        count, self._count = self._count, 0
        if count:
            what = "1 event is" if count == 1 else f"{count:,} events are"
            log.warning("%s not as EXPECT says, the first one at %s", what, self._first)
        return count

    def save(self) -> Parts:
        return _NOTHING if self._engine is None else {**self._engine.save(), "read": self._read}

    def load(self, parts: Parts) -> None:
        if self._engine is not None:
            self._engine.load({name: part for name, part in parts.items() if name != "read"})
            self._read = parts["read"]


def count_unexpected(choice: Choice, stream: EventStream, budget: Budget, step: int) -> int:
    """How many events of a table are unexpected, looked at so many at a time."""
    if choice.watching is None:
        return 0
    watched = Unexpected(choice, stream.tick, budget)
    for start in range(0, len(stream), step):
        watched.push(stream.slice(start, step))
    return watched.taken()
