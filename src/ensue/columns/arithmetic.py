"""Arithmetic of columns: what has no result is NULL, so that an integer never wraps around (decision 0004)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.comparing import as_ticks, largest
from ensue.columns.conversions import as_floats, kind_of, nearest_floats
from ensue.columns.raw_arrays import Floats, Integers, Mask, Numbers, Value, array_of, as_array, missing, nulls, raw
from ensue.columns.rounding import half_away_from_zero
from ensue.data.schema import Kind
from ensue.language.ast import NANOSECONDS
from ensue.logic.functions import UNITS

_is = pa.types
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_FLOATING = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_NUMPY: dict[str, Callable[..., Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply}
_TIMES = (Kind.TIMESTAMP, Kind.DURATION)


def calculate(symbol: str, left: Value, right: Value) -> pa.Array:
    """`left + right` and so on, of numbers or of times and durations."""
    for side, other in ((left, right), (right, left)):
        if _is.is_null(side.type):
            return nulls(pa.float64() if _is.is_decimal(other.type) else other.type, left, right)
    if kind_of(left) in _TIMES or kind_of(right) in _TIMES:
        return _of_times(symbol, left, right)
    return _of_numbers(symbol, left, right)


def negative(value: Value) -> pa.Array:
    """`-value`."""
    if _is.is_null(value.type):
        return value
    if _is.is_floating(value.type) or _is.is_decimal(value.type):
        return pc.negate(as_floats(value))
    if _is.is_duration(value.type):
        return _of_times("-", pa.scalar(0, value.type), value)
    return _of_integers("-", pa.scalar(0, pa.int64()), value)


# ---------------------------------------------------------------- numbers


def _of_numbers(symbol: str, left: Value, right: Value) -> pa.Array:
    if symbol == "/":
        left, right = as_floats(left), as_floats(right)
        return pc.divide(left, _null_where_zero(right))
    if all(map(_is_integer, (left, right))):
        return _remainder(left, right) if symbol == "%" else _of_integers(symbol, left, right)
    left, right = as_floats(left), as_floats(right)
    if symbol == "%":
        with np.errstate(invalid="ignore"):
            found = np.fmod(raw(left), raw(right))
        return array_of(found, _with_zeros(missing(left, right), raw(right)), pa.float64())
    return _FLOATING[symbol](left, right)


def _is_integer(value: Value) -> bool:
    return bool(_is.is_integer(value.type))


def _null_where_zero(value: Value) -> Value:
    return pc.if_else(pc.equal(value, 0.0), pa.scalar(None, pa.float64()), value)


def _with_zeros(null: Mask | None, divisor: Numbers) -> Mask:
    zero: Mask = divisor == 0
    return zero if null is None else null | zero


def _of_integers(symbol: str, left: Value, right: Value) -> pa.Array:
    if not _is.is_uint64(left.type) and not _is.is_uint64(right.type):
        try:
            return _CHECKED[symbol](left, right)
        except pa.ArrowInvalid:  # some row is too large
            pass
    a, b = raw(left), raw(right)
    operation = _NUMPY[symbol]
    near = operation(a.astype(np.float64), b.astype(np.float64))
    found = _wrapped(operation, a, b)
    return _known_where(_is_exact(found, near), found, missing(left, right), pa.int64())


def _wrapped(operation: Callable[..., Any], a: Numbers, b: Numbers) -> Integers:
    """The last 64 bits of the result."""
    with np.errstate(over="ignore"):
        found: Integers = operation(a.view(np.int64), b.view(np.int64))
    return found


def _is_exact(found: Integers, near: Floats, unit: int = 1) -> Mask:
    """Whether the last 64 bits are all of a result of which `near` is an approximation, in units of so much.

    What is lost is a multiple of 2^64 units. The error of an approximation is either much smaller than that, or the
    result itself is much larger than 64 bits.
    """
    exact: Mask = np.abs(near - found.astype(np.float64) * unit) < 2.0**63 * unit
    return exact


def _known_where(exact: Mask, found: Integers, null: Mask | None, type_: pa.DataType) -> pa.Array:
    return array_of(found, ~exact if null is None else null | ~exact, type_)


def _remainder(left: Value, right: Value) -> pa.Array:
    """With the sign of the dividend."""
    a, b = raw(left), raw(right)
    null = _with_zeros(missing(left, right), b)
    divisor = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype == b.dtype == np.int64:
        return array_of(np.fmod(a, divisor), null, pa.int64())
    # The sizes of all integers fit 64 bits without a sign.
    size = np.remainder(_size(a), _size(divisor))
    signed = size.view(np.int64)
    return array_of(np.where(a < 0, -signed, signed), null | ((signed < 0) & (a >= 0)), pa.int64())


def _size(numbers: Numbers) -> Numbers:
    return numbers if numbers.dtype == np.uint64 else np.abs(numbers).view(np.uint64)


# ---------------------------------------------------------------- times and durations


def _of_times(symbol: str, left: Value, right: Value) -> pa.Array:
    """Times are computed in nanoseconds of 64 bits: what does not fit them has no result."""
    if symbol in "*/" and not _is_exact_in_integers(symbol, left, right):
        return _part_of_duration(symbol, left, right)
    if symbol == "/":
        floats = _nanoseconds(left), _nanoseconds(right)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.divide(*floats)
        return array_of(found, _with_zeros(missing(left, right), floats[1]), pa.float64())
    if symbol == "*":
        length, factor = (left, right) if kind_of(left) is Kind.DURATION else (right, left)
        unit = NANOSECONDS[length.type.unit]
        a, b = raw(length), raw(factor)
        near = a.astype(np.float64) * unit * b.astype(np.float64)
        return _fitting(_wrapped(np.multiply, a, b), near, missing(left, right), length.type)
    return _sum(symbol, left, right)


def _is_exact_in_integers(symbol: str, left: Value, right: Value) -> bool:
    """Whether two durations are divided, or a duration is multiplied by an integer."""
    if symbol == "/":
        return kind_of(right) is Kind.DURATION
    return _is_integer(left) or _is_integer(right)


def _part_of_duration(symbol: str, left: Value, right: Value) -> pa.Array:
    """A duration times a float, or over a number: computed with floats, and rounded to whole nanoseconds."""
    a, b = (_nanoseconds(v) if kind_of(v) is Kind.DURATION else raw(as_floats(v)) for v in (left, right))
    with np.errstate(all="ignore"):
        near = np.multiply(a, b) if symbol == "*" else np.divide(a, b)
    fits = np.abs(near) < 2.0**63  # not of NaN
    null = missing(left, right)
    if symbol == "/":
        null = _with_zeros(null, b)
    whole = half_away_from_zero(np.where(fits, near, 0.0)).astype(np.int64)
    return _known_where(
        fits | (near == -(2.0**63)), np.where(near == -(2.0**63), -(2**63), whole), null, pa.duration("ns")
    )


def _sum(symbol: str, left: Value, right: Value) -> pa.Array:
    given = [(v, NANOSECONDS[v.type.unit]) for v in (left, right)]
    finest = min(unit for _, unit in given)
    with np.errstate(over="ignore"):
        parts = [raw(v) if unit == finest else raw(v) * np.int64(unit // finest) for v, unit in given]
    found = _wrapped(_NUMPY[symbol], *parts)
    null, type_ = missing(left, right), _type_of_sum(left, right)
    if sum(largest(v) * unit for v, unit in given) < 2**63:
        return array_of(found, null, type_)
    near = _NUMPY[symbol](*(raw(v).astype(np.float64) * unit for v, unit in given))
    return _fitting(found, near, null, type_)


def _type_of_sum(left: Value, right: Value) -> pa.DataType:
    unit = max(left.type.unit, right.type.unit, key=UNITS.index)
    zone = next((v.type.tz for v in (left, right) if _is.is_timestamp(v.type)), None)
    if kind_of(left) is kind_of(right):
        return pa.duration(unit)
    return pa.timestamp(unit, zone)


def _fitting(found: Integers, near: Floats, null: Mask | None, type_: pa.DataType) -> pa.Array:
    """The ticks, and NULL where they are not all of the result, or are more nanoseconds than 64 bits hold."""
    unit = NANOSECONDS[type_.unit]
    exact = _is_exact(found, near, unit) & (found >= -(2**63 // unit)) & (found <= (2**63 - 1) // unit)
    return _known_where(exact, found, null, type_)


def _nanoseconds(value: Value) -> Floats:
    """A duration as the nearest float of nanoseconds."""
    unit = NANOSECONDS[value.type.unit]
    if largest(value) * unit < 2**63:
        return (raw(value) * unit).astype(np.float64)
    ticks = as_array(as_ticks(value)).cast(pa.decimal128(19, 0))
    return nearest_floats(pc.multiply(ticks, pa.scalar(Decimal(unit), pa.decimal128(10, 0))))
