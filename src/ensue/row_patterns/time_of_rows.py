"""The times of rows in nanoseconds, whatever the unit of their column."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def nanoseconds(column: pa.Array | pa.ChunkedArray) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The time of each row, and where it is NULL."""
    unit = "s" if pa.types.is_date32(column.type) else "ms" if pa.types.is_date64(column.type) else column.type.unit
    times = column.cast(pa.timestamp(unit, getattr(column.type, "tz", None)))
    factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    null = pc.is_null(times).to_numpy(zero_copy_only=False)
    ticks = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return (ticks.astype(object) * factor if abs(ticks).max(initial=0) > 2**62 // factor else ticks * factor), null
