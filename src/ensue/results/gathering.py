"""Gathers the values of a column at given positions, for the rows of matches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.events import integers, one_chunk

#: From this many values on, a kernel gathers them.
_MANY = 1 << 12


def events_at(table: pa.Table, positions: npt.NDArray[np.int64]) -> pa.StructArray:
    """The events at these positions, as structs of all columns but those that never leave Python."""
    table = table.select([n for n in table.column_names if not n.startswith("\0")])
    columns = [one_chunk(values_at(c, positions)) for c in table.columns]
    fields = [f.with_type(c.type) for f, c in zip(table.schema, columns, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=fields)


def values_at(column: pa.ChunkedArray, positions: npt.NDArray[np.int64]) -> pa.ChunkedArray:
    """The values at these positions. Arrow's own `take` would first join all chunks of the column."""
    if column.num_chunks <= 1:
        return column.take(integers(positions))
    begins = np.cumsum([0, *(len(c) for c in column.chunks)])
    if len(positions) >= _MANY:
        from ensue.kernels.gather import gathered  # numba is loaded where it is used

        plain = gathered(column, begins, positions)
        if plain is not None:
            return pa.chunked_array([plain])
    chunk_of = (np.searchsorted(begins, positions, side="right") - 1).astype(np.min_scalar_type(column.num_chunks))
    order = None
    if not (chunk_of[1:] >= chunk_of[:-1]).all():
        order = np.argsort(chunk_of, kind="stable")
        positions, chunk_of = positions[order], chunk_of[order]
    cuts = np.searchsorted(chunk_of, np.arange(column.num_chunks + 1))
    parts = [
        chunk.take(integers(positions[first:last] - begin))
        for chunk, begin, first, last in zip(column.chunks, begins, cuts, cuts[1:], strict=False)
        if first < last
    ]
    found = pa.chunked_array(parts, column.type)
    if order is None:
        return found
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return found.take(integers(place))
