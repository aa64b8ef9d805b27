"""The events that matches of a running query can still speak of, as columns; others leave."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, as_integers, integers
from ensue.engines.protocol import Positions

#: Below so many kept events it does not pay to look which of them may leave.
_FEW = 1 << 14
_FEW_BYTES = 1 << 20
_TIME, _PLACE = "\0time", "\0place"


class KeptEvents:
    """Engines keep positions; rows show, and conditions judge, the events themselves."""

    def __init__(self, attributes: frozenset[str] | None, tick: int | None, budget: Budget | None = None) -> None:
        self._holder = (budget or Budget()).holder()
        self._attributes = attributes  # None: all of them
        self._tick = tick
        self._position = 0
        self._table: pa.Table | None = None  # with each event's time and place in the stream
        self._few = _FEW

    @property
    def crowded(self) -> bool:
        """Whether it is time to look which events may leave."""
        return self._table is not None and len(self._table) > 2 * self._few

    def add(self, events: EventStream) -> None:
        names = [n for n in events.table.column_names if self._attributes is None or n in self._attributes]
        places = integers(np.arange(self._position, self._position + len(events)))
        columns = {n: events.table.column(n) for n in names}
        new = pa.table({**columns, _TIME: events.time_column, _PLACE: places})
        self._position += len(events)
        self._table = new if self._table is None else pa.concat_tables([self._table, new])
        if self.crowded:
            self._hold()

    def keep(self, referenced: Positions) -> None:
        """Lets go of all events but these, which are in stream order as the kept ones are."""
        if self._table is not None:
            there = np.searchsorted(self._table.column(_PLACE).to_numpy(), referenced)
            self._table = self._table.take(integers(there)).combine_chunks()
            self._few = max(_FEW, len(self._table))
            self._hold()

    def _hold(self) -> None:
        """Notes what is kept; some of it is copied when others leave."""
        if self._table is not None and self._table.nbytes > _FEW_BYTES:
            self._holder.hold(Large.EVENTS, 2 * self._table.nbytes, len(self._table))

    @property
    def places(self) -> Positions:
        """Where in the stream each kept event is."""
        return np.zeros(0, dtype=np.int64) if self._table is None else self._table.column(_PLACE).to_numpy()

    def located(self, found: ComplexEvents) -> tuple[ComplexEvents, EventStream]:
        """The same complex events over the kept events, and these: without their types, which nobody asks for."""
        assert self._table is not None, "complex events come with events"
        places = self.places
        times = self._table.column(_TIME)
        types = pa.chunked_array([pa.nulls(len(self._table), pa.string())])
        own = self._table.drop_columns([_TIME, _PLACE])
        stream = EventStream(own, types, as_integers(times), self._tick, times)
        return found.moved(lambda p: np.searchsorted(places, p)), stream

    def save(self) -> Parts:
        """`in_places` reads it."""
        return {"position": self._position, **({} if self._table is None else {"events": self._table})}

    def load(self, parts: Parts) -> None:
        self._position, self._table, self._few = parts["position"], parts.get("events"), _FEW


def in_places(parts: Parts) -> tuple[Positions, pa.Table | None]:
    """What was kept: the places of the events in the stream, and the events without them."""
    table = parts.get("events")
    if table is None:
        return np.zeros(0, dtype=np.int64), None
    return table.column(_PLACE).to_numpy(), table.drop_columns([_PLACE])
