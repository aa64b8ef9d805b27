"""The one protocol of all engines: events in, complex events out, and a state in between that can be saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.data.events import EventStream

Positions = npt.NDArray[np.int64]


class Engine(Protocol):
    """Evaluates one query over one stream, which arrives in batches, in its order.

    Positions count the events of the stream from 0 on, over all batches. Complex events come as the engine finds them:
    `finishing.finished` makes of them what the query reports.
    """

    @property
    def open(self) -> int:
        """How much is open: nodes of the match structure, or events that the reference keeps."""

    @property
    def begun(self) -> int:
        """From how many events the open partial matches began; 0 where that is not counted."""

    @property
    def next_due(self) -> int | None:
        """The time by which `pass_time` may give something; None where it gives nothing without new events."""

    def push(self, events: EventStream) -> ComplexEvents:
        """The complex events that become known with these events, which follow those of earlier calls."""

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        """The same in parts, in their order, so that not all need be held at once; all parts must be asked for.

        Those of one end are in one part where something is still decided among them.
        """

    def pass_time(self, time: int) -> ComplexEvents:
        """Takes note that no later event is before this time, and gives what becomes known by that."""

    def finish(self) -> ComplexEvents:
        """Takes note that no event follows at all, and gives what becomes known by that. Nothing is pushed after it."""

    def referenced(self) -> Positions:
        """The events that complex events of later calls can still speak of, in stream order."""

    def save(self) -> Parts:
        """The state between two calls; it shares no memory with the engine."""

    def load(self, parts: Parts) -> None:
        """Goes on from a state that an engine of the same query saved."""
