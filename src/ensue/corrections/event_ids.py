"""The identity of an event: by it a deletion finds its insertion, and a match has the same id in every run.

It is made of the columns that the user names with `id=`, or else of all that the query uses of the event: then events
that are equal are told apart by a number, and it does not matter which of them has which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ensue.corrections.row_hashes import as_columns, hashes_of_rows, of_columns
from ensue.data.events import EventStream, integers
from ensue.data.reading import check_column
from ensue.kernels.value_hashes import Hashes, mix_words

#: The columns of an event that hold its identity, beside those of the user.
LOW, HIGH = "\0id low", "\0id high"


def ids_of_content(events: EventStream, columns: Sequence[str] | None) -> Hashes:
    """What tells events apart: the columns that the user named, or else the type, the time and all other columns."""
    if columns is not None:
        for name in columns:
            check_column(events.table.column_names, name, "id")
        return hashes_of_rows([events.table.column(name) for name in columns], len(events))
    own = [events.table.column(n) for n in sorted(events.table.column_names) if not n.startswith("\0")]
    return hashes_of_rows([events.types, events.time_column, *own], len(events))


def numbered_among_equals(ids: Hashes, before: Hashes) -> Hashes:
    """The same with a number mixed in: how many equal ones come earlier, in `before` or in `ids` itself."""
    both = np.concatenate([before, ids])
    found = ids.copy()
    low = np.sort(both[:, 0])
    if not (low[1:] == low[:-1]).any():  # nearly always: all are different
        mix_words(np.zeros(len(ids), dtype=np.uint64), found)
        return found
    order = np.lexsort((both[:, 1], both[:, 0]))
    in_order = both[order]
    first = np.ones(len(both), dtype=np.bool_)
    first[1:] = (in_order[1:] != in_order[:-1]).any(axis=1)
    places = np.arange(len(both))
    numbers = np.empty(len(both), dtype=np.int64)
    numbers[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    mix_words(numbers[len(before) :].view(np.uint64), found)
    return found


def with_ids(table: pa.Table, ids: Hashes) -> pa.Table:
    """The events with their identities as columns."""
    low, high = as_columns(ids)
    return table.append_column(LOW, low).append_column(HIGH, high)


def ids_in(table: pa.Table) -> Hashes:
    """The identities that `with_ids` has added."""
    return of_columns(table.column(LOW), table.column(HIGH))


def countable(events: EventStream) -> EventStream:
    """The same events with at least one column: a table of no columns forgets how many rows it has."""
    if events.table.column_names:
        return events
    rows = pa.table({"\0row": integers(np.zeros(len(events.time_column), dtype=np.int64))})
    return replace(events, table=rows)


def plain_columns(table: pa.Table) -> pa.Table:
    """The columns without dictionaries, which are of another kind in every batch."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table
