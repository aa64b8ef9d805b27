"""The order of the values of a column, as integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.conversions import as_floats
from ensue.columns.raw_arrays import raw

Integers = npt.NDArray[np.int64]


def ranks(column: pa.Array, *, descending: bool, nulls_first: bool) -> Integers:
    """Integers whose order is that of the rows; times and numbers of 64 bits keep theirs. NaN is the greatest number.

    >>> ranks(pa.array([3, None, 1]), descending=True, nulls_first=False).argsort().tolist()
    [0, 2, 1]
    """
    found = _ascending(column)
    if descending:
        found = ~found
    if column.null_count:
        info = np.iinfo(np.int64)
        null = pc.is_null(column).to_numpy(zero_copy_only=False)
        low, high = found.min(), found.max()
        if (nulls_first and low == info.min) or (not nulls_first and high == info.max):
            found = np.unique(found, return_inverse=True)[1].astype(np.int64)
        found = np.where(null, info.min if nulls_first else info.max, found)
    return found


def _ascending(column: pa.Array) -> Integers:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    type_ = column.type
    if pa.types.is_floating(type_):
        floats = np.where(np.isnan(raw(as_floats(column))), np.nan, raw(as_floats(column)) + 0.0)
        bits = floats.view(np.int64)
        return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    if pa.types.is_boolean(type_):
        return raw(column).astype(np.int64)
    if pa.types.is_date32(type_):
        return raw(column).astype(np.int64)
    if pa.types.is_integer(type_) and not pa.types.is_uint64(type_):
        return raw(column.cast(pa.int64()))
    if pa.types.is_timestamp(type_) or pa.types.is_date64(type_) or pa.types.is_duration(type_):
        return raw(column)
    if pa.types.is_null(type_):
        return np.zeros(len(column), dtype=np.int64)
    return raw(pc.rank(column, tiebreaker="dense").cast(pa.int64()))
