"""Comparisons of columns: exact between numbers of any two types and between times of any two units.

Where one side is a float, the other number becomes the nearest float, and NaN compares with nothing. All else is compared
exactly: integers with and without a sign, decimals of any scale, times whose common unit would not fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.conversions import MOST_DIGITS, as_floats, as_texts, decimal_type, kind_of
from ensue.columns.raw_arrays import Integers, Value, array_of, as_array, missing, nulls, raw
from ensue.data.schema import Kind
from ensue.language.ast import NANOSECONDS

_is = pa.types
_OF_ARROW = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_OF_NUMPY: dict[str, Callable[..., Any]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(symbol: str, left: Value, right: Value) -> Value:
    """TRUE, FALSE or NULL for each row."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        return compare(symbol, as_array(left), right)[0]
    if _is.is_null(left.type) or _is.is_null(right.type):
        return nulls(pa.bool_(), left, right)
    if kind_of(left).numeric:
        return _numbers(symbol, left, right)
    if kind_of(left) in (Kind.TIMESTAMP, Kind.DURATION):
        return _times(symbol, left, right)
    return _OF_ARROW[symbol](*as_texts((left, right)))


def _numbers(symbol: str, left: Value, right: Value) -> pa.Array:
    if _is.is_floating(left.type) or _is.is_floating(right.type):
        return _OF_ARROW[symbol](as_floats(left), as_floats(right))
    if _is.is_decimal(left.type) or _is.is_decimal(right.type):
        return _decimals(symbol, _as_decimal(left), _as_decimal(right))
    if left.type == right.type:
        return _OF_ARROW[symbol](left, right)
    # NumPy compares integers with a sign and without one by their values.
    return array_of(_OF_NUMPY[symbol](raw(left), raw(right)), missing(left, right), pa.bool_())


# ---------------------------------------------------------------- decimals


def _as_decimal(value: Value) -> Value:
    if _is.is_decimal(value.type):
        return value
    return value.cast(pa.decimal128(20 if _is.is_uint64(value.type) else 19, 0))


def _decimals(symbol: str, left: Value, right: Value) -> pa.Array:
    if left.type.scale > right.type.scale:
        return _decimals(_MIRRORED[symbol], right, left)
    scale = right.type.scale
    whole = max(left.type.precision - left.type.scale, right.type.precision - scale)
    if whole + scale <= MOST_DIGITS:
        common = decimal_type(max(1, whole + scale), scale)
        return _OF_ARROW[symbol](left.cast(common), right.cast(common))
    return _compare_parts(symbol, left, right)


def _compare_parts(symbol: str, coarse: Value, fine: Value) -> pa.Array:
    """First with the digits that both have, then with the rest, whose sign decides."""
    scale = coarse.type.scale
    cut = pc.round(fine, ndigits=scale, round_mode="towards_zero")
    own, other = coarse.cast(pa.decimal256(MOST_DIGITS, scale)), cut.cast(pa.decimal256(MOST_DIGITS, scale))
    zero = pa.scalar(Decimal(0), fine.type)
    rest = np.where(raw(pc.equal(cut, fine)), 0, raw(pc.less(fine, zero)) * 2 - 1)
    order = raw(pc.greater(own, other)).astype(np.int8) - raw(pc.less(own, other))
    found = np.where(order == 0, rest, order)
    return array_of(_OF_NUMPY[symbol](found, 0), missing(coarse, fine), pa.bool_())


# ---------------------------------------------------------------- times


def _times(symbol: str, left: Value, right: Value) -> pa.Array:
    if NANOSECONDS[left.type.unit] < NANOSECONDS[right.type.unit]:
        return _times(_MIRRORED[symbol], right, left)
    steps = NANOSECONDS[left.type.unit] // NANOSECONDS[right.type.unit]
    if steps == 1:
        return _OF_ARROW[symbol](as_ticks(left), as_ticks(right))
    ticks = pc.multiply_checked(as_ticks(left), steps) if _fits(left, steps) else None
    if ticks is not None:
        return _OF_ARROW[symbol](ticks, as_ticks(right))
    coarse, fine = raw(left), raw(right)
    cut = fine // steps
    order = _sign(coarse, cut)
    found = np.where(order == 0, -(fine > cut * steps).astype(np.int8), order)
    return array_of(_OF_NUMPY[symbol](found, 0), missing(left, right), pa.bool_())


def as_ticks(value: Value) -> Value:
    """Times and durations as integers."""
    return pa.scalar(value.value, pa.int64()) if isinstance(value, pa.Scalar) else value.view(pa.int64())


def _fits(value: Value, steps: int) -> bool:
    """Whether all times are whole numbers of 64 bits in a unit that is finer by so many steps."""
    return largest(value) * steps < 2**63


def largest(value: Value) -> int:
    """The largest size of the times, of ticks; 0 where there is none."""
    ticks = as_ticks(value)
    if isinstance(ticks, pa.Scalar):
        return abs(ticks.as_py() or 0)
    bounds = pc.min_max(ticks)
    return max(abs(bounds["min"].as_py() or 0), abs(bounds["max"].as_py() or 0))


def _sign(left: Integers, right: Integers) -> Any:
    return (left > right).astype(np.int8) - (left < right)
