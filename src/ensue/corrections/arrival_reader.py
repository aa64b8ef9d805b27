"""Reads the batches of a live stream: all have the same columns, and each row inserts or deletes an event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.corrections.event_ids import countable, ids_of_content, plain_columns
from ensue.corrections.live_options import LiveOptions
from ensue.corrections.unsettled import Arrivals
from ensue.data.change_words import signs_of
from ensue.data.events import EventStream, as_integers, one_chunk, read_arrived
from ensue.errors import DataError, listed

_TIME = "\0time"


@dataclass(frozen=True)
class Shape:
    """The columns of the events, and the unit of their times."""

    columns: pa.Schema
    time: pa.DataType
    tick: int | None

    @classmethod
    def of(cls, events: EventStream) -> Shape:
        return cls(events.table.schema.remove_metadata(), events.time_column.type, events.tick)

    def check(self, other: Shape) -> None:
        """Refuses events with other columns than those before them had."""
        names = list(dict.fromkeys([*self.columns.names, *other.columns.names]))
        changed = [f"{n} ({self._type(n)}, now {other._type(n)})" for n in names if self._type(n) != other._type(n)]
        if changed or (self.time, self.tick) != (other.time, other.tick):
            said = listed(changed) or f"the time ({self.time}, now {other.time})"
            raise DataError(f"these events have other columns than those before them: {said}")

    def _type(self, name: str) -> str:
        return str(self.columns.field(name).type) if name in self.columns.names else "not there"

    def ticks(self, time: Any) -> int:
        """A time, as the events have them, in ticks."""
        try:
            value = pa.array([time]).cast(self.time) if isinstance(time, str) else pa.array([time], self.time)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
            raise DataError(f"{time!r} is no time like those of the events, which are of type {self.time}") from None
        if value.null_count:
            raise DataError("the time must not be None")
        return int(as_integers(pa.chunked_array([value]))[0])

    def no_events(self) -> EventStream:
        """No events of this shape."""
        nothing = pa.chunked_array([], pa.string())
        times = pa.chunked_array([], self.time)
        return EventStream(self.columns.empty_table(), nothing, np.zeros(0, dtype=np.int64), self.tick, times)

    def stored(self) -> pa.Table:
        """The shape as a table with no rows, to be saved beside `tick`."""
        return self.columns.empty_table().append_column(_TIME, pa.array([], self.time))

    @classmethod
    def restored(cls, table: pa.Table, tick: int | None) -> Shape:
        return cls(table.drop_columns([_TIME]).schema, table.column(_TIME).type, tick)


class ArrivalReader:
    """Reads what is pushed. `used` names the attributes that the queries use; None means all of them."""

    def __init__(self, options: LiveOptions, streams: tuple[str, ...], used: frozenset[str] | None) -> None:
        self._options = options
        self._streams = streams
        self._wanted = None if used is None else used | set(options.id or ())

    def read(self, events: Any) -> Arrivals:
        """The rows in the order in which they came."""
        changes, tiebreak = self._options.changes, self._options.reading.get("tiebreak")
        wanted = self._wanted
        if wanted is not None and changes is not None:
            wanted |= {changes}
        stream = read_arrived(events, self._streams, used=wanted, **self._options.reading)
        signs = np.ones(len(stream), dtype=np.int64) if changes is None else signs_of(stream.table, changes)
        table = stream.table
        kept = [
            n
            for n in table.column_names
            if n != changes and (self._wanted is None or n in self._wanted or n == tiebreak)
        ]
        kept = kept or [n for n in table.column_names if n != changes][:1]  # a table without columns has no rows
        types = pa.chunked_array([one_chunk(stream.types.cast(pa.string()))])
        plain = countable(replace(stream, table=plain_columns(table.select(kept)), types=types))
        return Arrivals(plain, ids_of_content(plain, self._options.id), signs)
