"""Events as parts of a saved state."""

from __future__ import annotations

import pyarrow as pa

from ensue.data.envelope import Parts
from ensue.data.events import EventStream, integers, one_chunk

#: What a stored table has beside the user's columns, under names that none of these has.
_TYPE, _TIME, _TICKS = "\0type", "\0time", "\0ticks"


def stored(events: EventStream) -> Parts:
    """The events as parts, from which `restored` makes them again."""
    table = events.table.append_column(_TYPE, one_chunk(events.types).cast(pa.string()))
    table = table.append_column(_TIME, events.time_column).append_column(_TICKS, integers(events.times))
    bits: Parts = {} if events.predicate_bits is None else {"bits": events.predicate_bits.copy()}
    return {"events": table, "tick": events.tick, **bits}


def restored(parts: Parts) -> EventStream | None:
    """The events among the parts; None if there are none."""
    if "events" not in parts:
        return None
    table = parts["events"]
    own, ticks = table.drop_columns([_TYPE, _TIME, _TICKS]), table.column(_TICKS).to_numpy()
    return EventStream(own, table.column(_TYPE), ticks, parts["tick"], table.column(_TIME), parts.get("bits"))
