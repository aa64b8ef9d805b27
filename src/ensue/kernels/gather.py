"""Values of a column in chunks, taken at positions that mostly rise, as those of matches do.

Arrow's own `take` first puts the whole column together from its chunks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.kernels.jit import at, kernel, read_only

Positions = npt.NDArray[np.int64]
#: Positions back and forth between chunks are looked at so often at most: those in no order at all are better sorted.
_LOOKS = 4


def gathered(column: pa.ChunkedArray, begins: Positions, positions: Positions) -> pa.Array | None:
    """The values at the positions, where `begins` are those of the chunks and of the end.

    None where the values are not plain ones of 64 bits, or the positions are in no order.
    """
    if not pa.types.is_primitive(column.type) or column.type.bit_width != 64 or column.null_count:
        return None
    first, last = np.full(column.num_chunks, len(positions)), np.zeros(column.num_chunks, dtype=np.int64)
    positions = read_only(positions)
    if not _rows_of_chunks(positions, read_only(begins), first, last, _LOOKS * len(positions)):
        return None
    values = np.empty(len(positions), dtype=np.int64)
    for chunk, begin, i, j in zip(column.chunks, begins.tolist(), first.tolist(), last.tolist(), strict=False):
        if i < j:
            _gather(read_only(np.from_dlpack(chunk.view(pa.int64()))), begin, positions[i:j], values[i:j])
    return pa.Array.from_buffers(column.type, len(values), [None, pa.py_buffer(values)])


@kernel
def _rows_of_chunks(positions: Any, begins: Any, first: Any, last: Any, most: int) -> bool:
    """Between which rows the positions inside each chunk are; False where there are too many in all."""
    c = 0
    for i in range(len(positions)):
        position = positions[i]
        if not begins[at(c)] <= position < begins[at(c + 1)]:
            c = np.searchsorted(begins, position, side="right") - 1
        first[at(c)] = min(first[at(c)], i)
        last[at(c)] = i + 1
    rows = 0
    for c in range(len(first)):
        rows += max(0, last[c] - first[c])
    return rows <= most


@kernel
def _gather(values: Any, begin: int, positions: Any, taken: Any) -> None:
    """Writes the values of the chunk; what lies in another chunk is left alone."""
    for i in range(len(positions)):
        place = positions[i] - begin
        if 0 <= place < len(values):
            taken[i] = values[at(place)]
