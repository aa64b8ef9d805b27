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
from ensue.columns.raw_arrays import Floats, Mask, Numbers, Value, array_of, length_of, missing, raw
from ensue.columns.rounding import half_away_from_zero, round_floats, round_integers

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


def rounded(value: Value, digits: Value | None = None) -> pa.Array:
    """To so many digits after the point, or before it where there are less than 0; halves go away from zero."""
    whole = _is.is_integer(value.type)
    if digits is None:
        if whole:
            return _in_64_bits(value)
        floats = as_floats(value)
        return array_of(half_away_from_zero(raw(floats)), missing(floats), pa.float64())
    null = missing(value, digits)
    places = np.clip(raw(digits), -400, 400).astype(np.int64)
    found: Numbers
    if not whole:
        floats = raw(as_floats(value))
        found = round_floats(floats, places)
        lost = np.isinf(found) & np.isfinite(floats)
    elif (places >= 0).all():
        found, lost = raw(value).view(np.int64), raw(value) > 2**63 - 1
    else:
        found, lost = round_integers(raw(value), places)
    rows = length_of(value, digits)
    null = np.broadcast_to(lost if null is None else null | lost, rows)
    return array_of(np.broadcast_to(found, rows), null, pa.int64() if whole else pa.float64())


def times_factor(factor: float) -> Callable[[Value], pa.Array]:
    return lambda value: calculate("*", as_floats(value), pa.scalar(factor))


DEGREE = math.pi / 180.0
#: The mean radius of the earth in metres (IUGG).
EARTH_RADIUS = 6_371_008.8


def distance(*degrees: Value) -> pa.Array:
    """The metres between two places, given as latitude and longitude in degrees, on a globe (haversine)."""
    given = [as_floats(v) for v in degrees]
    lat, lon, other_lat, other_lon = (pc.multiply(v, DEGREE) for v in given)
    across = pc.sin(pc.divide(pc.subtract(other_lat, lat), 2.0))
    along = pc.sin(pc.divide(pc.subtract(other_lon, lon), 2.0))
    both = pc.multiply(pc.multiply(pc.cos(lat), pc.cos(other_lat)), pc.multiply(along, along))
    null = missing(*given)
    part = np.minimum(raw(pc.sqrt(pc.add(pc.multiply(across, across), both))), 1.0)
    angle = pc.asin(array_of(part, null, pa.float64()))
    for k, v in enumerate(map(raw, given)):
        with np.errstate(invalid="ignore"):
            outside = np.abs(v) > 90 if k % 2 == 0 else np.isinf(v)
        if outside.any():
            null = outside if null is None else null | outside
    return array_of(2 * EARTH_RADIUS * raw(angle), null, pa.float64())


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
