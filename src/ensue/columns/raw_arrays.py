"""Arrow's arrays as NumPy's and back, on the same memory, with NULL as a mask of its own.

`to_numpy` and `pa.array` would load pandas where there is one (0.3 s), so that the buffers are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]
#: A column, or one value for all rows.
Value: TypeAlias = pa.Array | pa.Scalar

_OF_ARROW = {
    pa.int64(): np.int64,
    pa.uint64(): np.uint64,
    pa.float64(): np.float64,
    pa.int32(): np.int32,
    pa.date32(): np.int32,
}


def length_of(*values: Value) -> int:
    """How many rows the columns among the values have; 1 where all of them are single values."""
    return next((len(v) for v in values if isinstance(v, pa.Array)), 1)


def as_array(value: Value) -> pa.Array:
    """A column as it is, and a single value as a column of one row, which NumPy takes for every row."""
    return pa.repeat(value, 1) if isinstance(value, pa.Scalar) else value


def in_rows(value: Value, rows: int) -> pa.Array:
    """A column as it is, and a single value once in each row, also in no row, where Arrow repeats no list."""
    if not isinstance(value, pa.Scalar):
        return value
    return pa.repeat(value, rows) if rows else pa.array([], value.type)


def raw(value: Value) -> Numbers:
    """The numbers of a column, times as whole ticks; where it is NULL stands any number."""
    array = as_array(value)
    if pa.types.is_boolean(array.type):
        return _bits(array.buffers()[1], array.offset, len(array))
    type_ = _OF_ARROW.get(array.type, np.int64)  # times and durations are 64 bits
    if not len(array):
        return np.zeros(0, dtype=type_)
    width = np.dtype(type_).itemsize
    return np.frombuffer(array.buffers()[1], type_, len(array), array.offset * width)


def missing(*values: Value) -> Mask | None:
    """Where one of the columns is NULL; None where none is."""
    found: Mask | None = None
    for value in values:
        array = as_array(value)
        if array.null_count:
            own = ~_bits(array.buffers()[0], array.offset, len(array))
            found = own if found is None else found | own
    return found


def truth(value: pa.Array) -> Mask:
    """Where a column of TRUE, FALSE and NULL is TRUE."""
    found: Mask = raw(value)
    null = missing(value)
    return found if null is None else found & ~null


def array_of(numbers: Numbers, null: Mask | None, type_: pa.DataType) -> pa.Array:
    """The numbers as a column of the type, on the same memory where it has one."""
    numbers = np.ascontiguousarray(numbers)
    data = np.packbits(numbers, bitorder="little") if pa.types.is_boolean(type_) else numbers
    validity = None
    if null is not None and null.any():
        validity = pa.py_buffer(np.packbits(np.broadcast_to(~null, numbers.shape), bitorder="little"))
    return pa.Array.from_buffers(type_, len(numbers), [validity, pa.py_buffer(data)])


def column_of_texts(texts: Sequence[str]) -> pa.Array:
    """A few texts as a column; there is one at least."""
    return pa.concat_arrays([pa.repeat(text, 1) for text in texts])


def nulls(type_: pa.DataType, *values: Value) -> pa.Array:
    """NULL for each row of the columns."""
    return pa.nulls(length_of(*values), type_)


def _bits(buffer: pa.Buffer | None, offset: int, length: int) -> Mask:
    if buffer is None or not length:
        return np.zeros(length, dtype=np.bool_)
    first = offset // 8
    packed = np.frombuffer(buffer, np.uint8)[first : (offset + length + 7) // 8]
    return np.unpackbits(packed, bitorder="little")[offset - 8 * first :][:length].view(np.bool_)
