"""LIMIT n and LIMIT n PER PARTITION: the first rows of the whole, or of each partition, over all batches.

LIMIT n PER END needs no memory of earlier rows, so each engine does it by itself, where it enumerates an end.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, integers, one_chunk
from ensue.data.partitions import Codes, key_codes
from ensue.language import ast

#: How many rows each partition has had, in a column that no attribute is named like.
_TAKEN = "\0taken"


class RowQuota:
    """Takes rows as they become known, in the order of their ends, until there are as many as the query asks for."""

    def __init__(self, most: int, keys: tuple[str, ...]) -> None:
        self._most = most
        self._keys = keys
        self._count = 0  # without keys
        self._taken: pa.Table | None = None  # with keys: each partition that had rows, and how many

    @classmethod
    def of(cls, query: ast.Query) -> RowQuota | None:
        """None where a query asks for all rows, for some of each end, or for the first in another order."""
        if query.limit is None or query.order or query.per is ast.Per.END:
            return None
        keys = tuple(k.attribute for k in query.partition) if query.per is ast.Per.PARTITION else ()
        return cls(query.limit, keys)

    @property
    def of_each_key(self) -> bool:
        """Whether rows are counted key by key."""
        return bool(self._keys)

    @property
    def full(self) -> bool:
        """Whether no further row is taken; of keys, there may always be another."""
        return not self._keys and self._count >= self._most

    def take(self, found: ComplexEvents, events: EventStream) -> ComplexEvents:
        """Those of the rows that the query reports; they must follow the earlier ones, and are over these events."""
        if not self._keys:
            first = found.first(max(self._most - self._count, 0))
            self._count += len(first)
            return first
        if not len(found):
            return found
        return self._of_each_key(found, events)

    def _of_each_key(self, found: ComplexEvents, events: EventStream) -> ComplexEvents:
        keys = pa.table({k: _plain(events.table.column(k)).take(integers(found.end)) for k in self._keys})
        known = keys.slice(0, 0) if self._taken is None else self._taken.select(list(self._keys))
        both = pa.concat_tables([known, keys])
        codes = _dense(key_codes([one_chunk(c) for c in both.columns]))
        counts = np.zeros(int(codes.max()) + 1, dtype=np.int64)
        if self._taken is not None:
            counts[codes[: len(known)]] = self._taken.column(_TAKEN).to_numpy()
        own = codes[len(known) :]
        kept = _place_of_each(own) + counts[own] < self._most
        np.add.at(counts, own[kept], 1)
        _, first = np.unique(codes, return_index=True)
        self._taken = both.take(integers(first)).append_column(_TAKEN, integers(counts)).combine_chunks()
        return found.in_order(np.flatnonzero(kept))

    def save(self) -> Parts:
        return {"count": self._count, **({} if self._taken is None else {"taken": self._taken})}

    def load(self, parts: Parts) -> None:
        self._count, self._taken = parts["count"], parts.get("taken")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without a dictionary, which may be of another kind in the next batch."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _dense(codes: Codes) -> Codes:
    """The same numbers without gaps."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _place_of_each(codes: Codes) -> Codes:
    """How many earlier rows have the same number."""
    order = np.argsort(codes, kind="stable")
    in_order = codes[order]
    place = np.empty(len(codes), dtype=np.int64)
    place[order] = np.arange(len(codes)) - np.searchsorted(in_order, in_order)
    return place
