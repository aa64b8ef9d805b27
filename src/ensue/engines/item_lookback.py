"""`PREV` in the items of SELECT: what it shows becomes a column of the event, also where events arrive in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from ensue.columns.lookback import LookBack, spell_out
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, one_chunk
from ensue.data.partitions import key_codes
from ensue.logic.check import Checked


class EarlierValues:
    """Adds columns with the wanted attributes of earlier events, each so many events before, of the same keys."""

    def __init__(self, wanted: Iterable[tuple[str, int]], keys: Sequence[str]) -> None:
        self._wanted, self._keys = tuple(wanted), list(keys)
        self._tail: pa.Table | None = None

    def extended(self, events: EventStream) -> EventStream:
        """The events, which follow the earlier ones, with these columns."""
        if not self._wanted:
            return events
        look_back = LookBack(self._wanted, also=self._keys)
        rows = events.table.select(look_back.attributes)
        if self._tail is not None:
            rows = pa.concat_tables([self._tail, rows])
        codes = key_codes([one_chunk(rows.column(k)) for k in self._keys]) if self._keys else None
        table = events.table
        for name, column in look_back.columns(rows, codes).items():
            table = table.append_column(name, column.slice(len(rows) - len(events)))
        self._tail = look_back.tail
        return replace(events, table=table)

    def save(self) -> Parts:
        return {} if self._tail is None else {"tail": self._tail}

    def load(self, parts: Parts) -> None:
        self._tail = parts.get("tail")


class ItemLookBack:
    """`checked` has the query's items with each look-back as an attribute that `extended` adds to the events."""

    def __init__(self, checked: Checked) -> None:
        shifted: dict[str, tuple[str, int]] = {}
        columns = [replace(o, expression=spell_out(o.expression, shifted)) for o in checked.outputs]
        query = checked.query
        if query.aggregation is not None:
            items = [replace(i, expression=spell_out(i.expression, shifted)) for i in query.aggregation.items]
            query = replace(query, aggregation=replace(query.aggregation, items=tuple(items)))
        schema = checked.schema
        if schema is not None and shifted:
            of_earlier = {name: schema.attributes[a] for name, (a, _) in shifted.items()}
            schema = replace(schema, attributes={**schema.attributes, **of_earlier})
        self.checked = replace(checked, outputs=tuple(columns), query=query, schema=schema)
        self._names = frozenset(shifted)
        self._earlier = EarlierValues(shifted.values(), [k.attribute for k in checked.query.partition])

    def extended(self, events: EventStream) -> EventStream:
        """The events with what they look back to."""
        return self._earlier.extended(events)

    def kept(self, attributes: frozenset[str] | None) -> frozenset[str] | None:
        """The attributes that matches need, with those that `extended` adds."""
        return None if attributes is None else attributes.union(self._names)

    def save(self) -> Parts:
        return self._earlier.save()

    def load(self, parts: Parts) -> None:
        self._earlier.load(parts)
