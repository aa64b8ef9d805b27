"""PARTITION BY over a whole stream: keys as dense numbers, and the substreams of equal keys, where NULLs are equal.

The automaton engine instead numbers keys batch by batch, see `kernels/keys.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.events import EventStream, integers, one_chunk

Codes = npt.NDArray[np.int64]


def partition_codes(stream: EventStream, attributes: Sequence[str]) -> Codes:
    """A number for each event, the same for events whose values are equal in all attributes, in order of appearance."""
    if not attributes:
        return np.zeros(len(stream), dtype=np.int64)
    return key_codes([one_chunk(stream.table.column(a)) for a in attributes])


def key_codes(columns: Sequence[pa.Array]) -> Codes:
    """A number for each row; two rows have the same number if their values are equal in all columns."""
    codes = _value_codes(columns[0])
    for column in columns[1:]:
        # Both numbers are below 2^31: no stream has more distinct values than Arrow can index.
        codes = _value_codes(integers((codes << 32) | _value_codes(column)))
    return codes


def _value_codes(column: pa.Array) -> Codes:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0, column.type))  # -0.0 becomes 0.0: they are equal values
    encoded = column.dictionary_encode(null_encoding="encode")
    codes: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def substreams_of(stream: EventStream, attributes: Sequence[str]) -> list[list[int]]:
    """The positions of each substream, in stream order; without attributes, one substream."""
    codes = partition_codes(stream, attributes)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return [part.tolist() for part in np.split(order, cuts)] if len(stream) else []
