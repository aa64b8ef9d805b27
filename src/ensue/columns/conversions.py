"""Columns as the types that expressions compute with, and what was computed as the type that a result has.

Integers are of 64 bits, floats of 64 bits, dates are times at midnight, and dictionaries are written out.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.columns.raw_arrays import Floats, Value, array_of, as_array, missing, nulls, raw
from ensue.data.schema import Kind, is_short_decimal, value_type
from ensue.language.ast import NANOSECONDS

_is = pa.types
#: The most digits that a decimal has.
MOST_DIGITS = 76


def kind_of(value: Value) -> Kind:
    return value_type(value.type).kind


def plain(column: pa.Array) -> pa.Array:
    """The column as a type that expressions compute with.

    Unsigned integers beyond 64 bits with a sign stay what they are: they can be compared, and what is computed from
    them may fit again.
    """
    if _is.is_dictionary(column.type):
        column = column.dictionary_decode()
    type_ = column.type
    if _is.is_uint64(type_):
        return _signed_if_they_fit(column)
    if _is.is_integer(type_):
        return column.cast(pa.int64())
    if _is.is_floating(type_):
        return column.cast(pa.float64())
    if _is.is_string_view(type_):
        return column.cast(pa.large_string())
    if _is.is_date32(type_):
        return array_of(raw(column) * np.int64(86_400), missing(column), pa.timestamp("s"))
    if _is.is_date64(type_):
        return column.view(pa.timestamp("ms"))
    if _is.is_decimal(type_) and (type_.bit_width < 128 or type_.scale < 0):
        # Arrow has no kernels for decimals that end before the point.
        return column.cast(decimal_type(type_.precision - min(type_.scale, 0), max(type_.scale, 0)))
    return column


def decimal_type(digits: int, scale: int) -> pa.DataType:
    """Decimals of so many digits, but of no more than there can be."""
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(min(digits, MOST_DIGITS), scale)


def _signed_if_they_fit(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def as_floats(value: Value) -> Value:
    """Each number as the nearest float."""
    if _is.is_float64(value.type):
        return value
    if _is.is_null(value.type):
        return nulls(pa.float64(), value)
    if _is.is_decimal(value.type):
        array = as_array(value)
        found = array_of(nearest_floats(array), missing(array), pa.float64())
        return found[0] if isinstance(value, pa.Scalar) else found
    return value.cast(pa.float64(), safe=False)


def nearest_floats(decimals: pa.Array) -> Floats:
    """The nearest float of each decimal, and any number where it is NULL.

    Arrow's own cast multiplies by a tenth, which is no float. A short decimal is a whole number over a power of ten: both
    are floats, and what a division gives is the nearest one. The text of any number is read as the nearest one as well.
    """
    scale = decimals.type.scale
    if is_short_decimal(decimals.type):
        whole = decimals.fill_null(0).cast(pa.decimal128(38, scale))
        words = np.frombuffer(whole.buffers()[1] or b"", np.int64)[2 * whole.offset :][: 2 * len(whole) : 2]
        return words / 10.0**scale
    found: Floats = raw(decimals.cast(pa.string()).cast(pa.float64()))
    return found


def as_texts(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Texts of one type; the larger one, where one of them has it."""
    if len({v.type for v in values}) <= 1:
        return values
    return tuple(v.cast(pa.large_string()) for v in values)


def ticks_in(unit: str) -> int:
    """The nanoseconds of one tick."""
    return NANOSECONDS[unit]


def as_type(value: pa.Array, type_: pa.DataType) -> pa.Array:
    """What an expression gives, as a column of the result's type. Times that are too fine for it are cut off."""
    if value.type == type_:
        return value
    if _is.is_null(value.type):
        return pa.nulls(len(value), type_)
    if _is.is_list(type_):
        offsets, items = value.offsets, value.flatten()
        return pa.ListArray.from_arrays(offsets, as_type(items, type_.value_type))
    if _is.is_decimal(value.type) and _is.is_floating(type_):
        return as_floats(value).cast(type_)
    kinds = kind_of(value), value_type(type_).kind
    if kinds in ((Kind.TIMESTAMP, Kind.TIMESTAMP), (Kind.DURATION, Kind.DURATION)):
        return _in_unit(value, type_)
    return value.cast(type_)


def _in_unit(value: pa.Array, type_: pa.DataType) -> pa.Array:
    if _is.is_date32(type_):
        days = raw(value) // (NANOSECONDS["d"] // NANOSECONDS[value.type.unit])
        return array_of(days.astype(np.int32), missing(value), type_)
    unit = "ms" if _is.is_date64(type_) else type_.unit
    given, wanted = NANOSECONDS[value.type.unit], NANOSECONDS[unit]
    ticks = raw(value)
    ticks = ticks // (wanted // given) if wanted > given else ticks * (given // wanted)
    return array_of(ticks, missing(value), type_)
