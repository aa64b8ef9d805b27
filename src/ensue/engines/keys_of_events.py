"""The keys of events that wait, as a table: their values, since numbers would be others in the next batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ensue.data.events import EventStream, integers, one_chunk
from ensue.data.partitions import Codes, key_codes


def keys_of(events: EventStream, keys: Sequence[str]) -> pa.Table:
    """The values of these attributes, a row for each event."""
    # A table of no columns has no rows: one that is always there keeps their number.
    rows = integers(np.zeros(len(events), dtype=np.int64))
    return pa.table({"\0": rows, **{k: _plain(events.table.column(k)) for k in keys}})


def codes_of(tables: Sequence[pa.Table]) -> list[Codes]:
    """A number for each row of each table, equal where the values of all columns are."""
    joint = key_codes([one_chunk(c) for c in pa.concat_tables(tables).columns])
    return np.split(joint, np.cumsum([len(t) for t in tables[:-1]]))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without a dictionary, which may be of another kind in the next batch."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
