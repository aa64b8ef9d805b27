"""PARTITION BY: keys as dense numbers, and the substreams of events with equal keys, NULLs being equal.

The numbers stay the same from batch to batch, and are made without a Python call a key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.events import EventStream, one_chunk

Codes = npt.NDArray[np.int64]


class ValueNumbers:
    """Numbers the distinct values of a column in the order in which they first appear; NULLs are one value."""

    def __init__(self) -> None:
        self.values: pa.Array | None = None

    def __len__(self) -> int:
        return 0 if self.values is None else len(self.values)

    def encode(self, column: pa.Array) -> Codes:
        """The number of each value of the column; new values are numbered as they come."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0, column.type))  # -0.0 becomes 0.0: they are equal values
        encoded = column.dictionary_encode(null_encoding="encode")
        distinct = encoded.dictionary
        if self.values is None:
            self.values = distinct
            numbers = np.arange(len(distinct), dtype=np.int64)
        else:
            numbers = self._number(distinct)
        taken: Codes = numbers[encoded.indices.to_numpy(zero_copy_only=False)]
        return taken

    def taken(self, numbers: Codes) -> pa.Array:
        """The values of these numbers."""
        assert self.values is not None
        return self.values.take(pa.array(numbers))

    def _number(self, distinct: pa.Array) -> Codes:
        assert self.values is not None
        found = pc.index_in(distinct, value_set=self.values)
        new = distinct.filter(found.is_null())
        known = len(self.values)
        self.values = pa.concat_arrays([self.values, new])
        numbers: Codes = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        numbers[numbers < 0] = np.arange(known, known + len(new))
        return numbers


class KeyNumbers:
    """Numbers the distinct keys of several columns: each column by itself, then their combinations."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        self.columns = [ValueNumbers() for _ in attributes]
        self.pairs = [ValueNumbers() for _ in attributes[1:]]

    def __len__(self) -> int:
        return len((self.pairs or self.columns)[-1])

    def encode(self, columns: Sequence[pa.Array]) -> Codes:
        """The number of each event's key."""
        codes = self.columns[0].encode(columns[0])
        for numbers, pairs, column in zip(self.columns[1:], self.pairs, columns[1:], strict=True):
            # Both numbers are below 2^31: no stream has more distinct values than Arrow can index.
            codes = pairs.encode(pa.array((codes << 32) | numbers.encode(column)))
        return codes

    def keep(self, codes: Codes) -> None:
        """Forgets all keys but those of these numbers, which are numbered anew in this order."""
        columns: list[pa.Array] = []
        for numbers, pairs in zip(self.columns[:0:-1], self.pairs[::-1], strict=True):
            both = pairs.taken(codes).to_numpy()
            columns.append(numbers.taken(both & 0xFFFFFFFF))
            codes = both >> 32
        columns.append(self.columns[0].taken(codes))
        self.columns = [ValueNumbers() for _ in self.columns]
        self.pairs = [ValueNumbers() for _ in self.pairs]
        self.encode(columns[::-1])


def partition_codes(stream: EventStream, attributes: Sequence[str]) -> Codes:
    """A number for each event, equal where the values of all the attributes are; numbered as they appear."""
    if not attributes:
        return np.zeros(len(stream), dtype=np.int64)
    return KeyNumbers(attributes).encode([one_chunk(stream.table.column(a)) for a in attributes])


def substreams_of(stream: EventStream, attributes: Sequence[str]) -> list[list[int]]:
    """The positions of each substream, in stream order; without attributes, one substream."""
    codes = partition_codes(stream, attributes)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return [part.tolist() for part in np.split(order, cuts)] if len(stream) else []
