"""PARTITION BY: the substreams of events with equal values, NULLs being equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.events import EventStream


def partition_codes(stream: EventStream, attributes: Sequence[str]) -> npt.NDArray[np.int64]:
    """A number for each event, equal where the values of all the attributes are; numbered as they appear."""
    codes = np.zeros(len(stream), dtype=np.int64)
    for attribute in attributes:
        column = stream.table.column(attribute)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0, column.type))  # -0.0 becomes 0.0: they are equal values
        encoded = column.dictionary_encode(null_encoding="encode").combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.dictionary(pa.int32(), column.type))
        codes = codes * (len(encoded.dictionary) + 1) + encoded.indices.to_numpy(zero_copy_only=False)
        codes = _compact(codes)
    return codes


def _compact(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The same classes, numbered 0, 1, ... in the order of their first event."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(len(first))
    compacted: npt.NDArray[np.int64] = order[inverse]
    return compacted


def substreams_of(stream: EventStream, attributes: Sequence[str]) -> list[list[int]]:
    """The positions of each substream, in stream order; without attributes, one substream."""
    codes = partition_codes(stream, attributes)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return [part.tolist() for part in np.split(order, cuts)] if len(stream) else []
