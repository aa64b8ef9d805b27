"""The functions of numbers over columns.

Roots, logarithms and angles are Arrow's, which calls the C library as Python's own `math` does: NumPy's are faster, and
differ in the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.arithmetic import calculate
from ensue.columns.conversions import as_floats
from ensue.columns.raw_arrays import Floats, Mask, Value, array_of, missing, raw
from ensue.columns.rounding import half_away_from_zero

_is = pa.types


def of_floats(kernel: Callable[..., Value]) -> Callable[..., pa.Array]:
    """A function of floats. Where it has no result it is NULL: such as the root of -1, or a power beyond all floats."""

    def apply(*values: Value) -> pa.Array:
        floats = [as_floats(v) for v in values]
        with_all = kernel(*floats)
        found: Floats = raw(with_all)
        if np.isfinite(found).all():
            return with_all
        null = missing(*floats)
        lost = _without_result(found, *map(raw, floats))
        return array_of(found, lost if null is None else null | lost, pa.float64())

    return apply


def _without_result(found: Floats, *arguments: Floats) -> Mask:
    """Where NaN was made of numbers, or infinity of finite ones."""
    lost = np.isnan(found)
    for a in arguments:
        lost &= ~np.isnan(a)
    endless = np.isinf(found)
    for a in arguments:
        endless &= np.isfinite(a)
    return lost | endless


def absolute(value: Value) -> pa.Array:
    if not _is.is_integer(value.type):
        return pc.abs(as_floats(value))
    value = _in_64_bits(value)
    try:
        return pc.abs_checked(value)
    except pa.ArrowInvalid:
        return pc.abs_checked(_without_least(value))


def sign(value: Value) -> pa.Array:
    if _is.is_integer(value.type):
        return pc.sign(value).cast(pa.int64())
    return pc.sign(as_floats(value))


def rounding(kernel: Callable[[Value], pa.Array]) -> Callable[[Value], pa.Array]:
    """A function that gives whole floats; integers stay as they are."""

    def apply(value: Value) -> pa.Array:
        return _in_64_bits(value) if _is.is_integer(value.type) else kernel(as_floats(value))

    return apply


def nearest(value: Value) -> pa.Array:
    """The nearest whole number, halves away from zero."""
    return array_of(half_away_from_zero(raw(value)), missing(value), pa.float64())


def times_factor(factor: float) -> Callable[[Value], pa.Array]:
    return lambda value: calculate("*", as_floats(value), pa.scalar(factor))


DEGREE, RADIAN = math.pi / 180.0, 180.0 / math.pi


def _in_64_bits(value: Value) -> Value:
    """Integers with a sign; NULL where one is too large for that."""
    if not _is.is_uint64(value.type):
        return value
    numbers = raw(value)
    large = numbers >= 2**63
    null = missing(value)
    return array_of(numbers.view(np.int64), large if null is None else null | large, pa.int64())


def _without_least(value: Value) -> Value:
    least = pa.scalar(-(2**63), pa.int64())
    return pc.if_else(pc.equal(value, least), pa.scalar(None, pa.int64()), value)
