"""Aggregates of many sets of values at a time: those of set `m` are the values from `offsets[m]` to `offsets[m + 1]`.

The values are in stream order. NULLs count for `first`, `last` and `collect` alone, as in SQL.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.conversions import as_floats, kind_of
from ensue.columns.exact_sums import exact_sums
from ensue.columns.raw_arrays import Integers, Mask, Numbers, array_of, missing, raw
from ensue.data.events import integers
from ensue.data.schema import Kind
from ensue.language import ast

_is = pa.types


def aggregate(function: str, values: pa.Array, offsets: Integers) -> pa.Array:
    """What the aggregate of each set comes to.

    >>> aggregate("sum", pa.array([1, 2, None, 5]), np.array([0, 3, 3, 4])).to_pylist()
    [3, None, 5]
    """
    match function:
        case "first" | "last":
            places = offsets[:-1] if function == "first" else offsets[1:] - 1
            return _taken(values, places, offsets[1:] > offsets[:-1])
        case "collect":
            return pa.ListArray.from_arrays(integers(offsets).cast(pa.int32()), values)
    values, offsets = _known(values, offsets)
    return _OF_KNOWN[function](values, offsets)


def _known(values: pa.Array, offsets: Integers) -> tuple[pa.Array, Integers]:
    """The sets without NULLs."""
    if _is.is_null(values.type):
        return values.slice(0, 0), np.zeros_like(offsets)
    null = missing(values)
    if null is None:
        return values, offsets
    before = np.concatenate([[0], np.cumsum(~null)])
    return values.drop_null(), before[offsets]


def _count(_values: pa.Array, offsets: Integers) -> pa.Array:
    return integers(np.diff(offsets))


def _sum(values: pa.Array, offsets: Integers) -> pa.Array:
    return _sum_of_integers(values, offsets) if _is.is_integer(values.type) else _sum_of_floats(values, offsets)


def _average(values: pa.Array, offsets: Integers) -> pa.Array:
    counts = integers(np.maximum(np.diff(offsets), 1)).cast(pa.float64())
    return pc.divide(_sum_of_floats(values, offsets), counts)


def _sum_of_floats(values: pa.Array, offsets: Integers) -> pa.Array:
    full = offsets[1:] > offsets[:-1]
    found = np.zeros(len(full), dtype=np.float64)
    if full.any():
        found[full] = exact_sums(raw(as_floats(values)), offsets[:-1][full])
    return array_of(found, ~full, pa.float64())


def _sum_of_integers(values: pa.Array, offsets: Integers) -> pa.Array:
    """Exact in two halves, and NULL where the sum does not fit 64 bits."""
    numbers = raw(values)
    low = (numbers & numbers.dtype.type(2**32 - 1)).astype(np.int64)
    high = (numbers >> numbers.dtype.type(32)).astype(np.int64)
    full = offsets[1:] > offsets[:-1]
    begins = offsets[:-1][full]
    found, fits = np.zeros(len(full), dtype=np.int64), full.copy()
    if len(begins):
        lows, highs = np.add.reduceat(low, begins), np.add.reduceat(high, begins)
        highs += lows >> 32
        found[full] = (highs << 32) | (lows & (2**32 - 1))
        fits[full] = (highs >= -(2**31)) & (highs < 2**31)
    return array_of(found, ~fits, pa.int64())


def _extreme(reduce_: np.ufunc) -> Callable[[pa.Array, Integers], pa.Array]:
    """The least or the greatest of each set: the first of those that are equal."""

    def apply(values: pa.Array, offsets: Integers) -> pa.Array:
        full = offsets[1:] > offsets[:-1]
        if not full.any():
            return pa.nulls(len(full), values.type)
        begins = offsets[:-1][full]
        ranks = _ranks(values)
        best = np.repeat(reduce_.reduceat(ranks, begins), np.diff(offsets)[full])
        hits = np.flatnonzero(ranks == best)
        places = np.zeros(len(full), dtype=np.int64)
        places[full] = hits[np.searchsorted(hits, begins)]
        return _taken(values, places, full)

    return apply


def _ranks(values: pa.Array) -> Numbers:
    """Numbers in the order of the values; NaN is above every number."""
    kind = kind_of(values)
    if kind is Kind.STRING or _is.is_decimal(values.type):
        return raw(pc.rank(values, tiebreaker="dense"))
    if kind is Kind.FLOAT:
        # Without the sign of zero, the bits of floats are in their order but for the negative ones, which are turned.
        floats = raw(values) + 0.0
        bits = np.where(np.isnan(floats), np.nan, floats).view(np.int64)
        return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    return raw(values)


def _taken(values: pa.Array, places: Integers, there: Mask) -> pa.Array:
    """The values at these places, and NULL where there is none."""
    if not len(values):
        return pa.nulls(len(places), values.type)
    found = integers(np.where(there, places, 0))
    if not there.all():
        found = pc.if_else(array_of(there, None, pa.bool_()), found, pa.scalar(None, pa.int64()))
    return values.take(found)


def _count_distinct(values: pa.Array, offsets: Integers) -> pa.Array:
    ranks = _ranks(values)
    sets = _set_of_each(offsets)
    order = np.lexsort((ranks, sets))
    ranks, sets = ranks[order], sets[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (sets[1:] != sets[:-1]) | (ranks[1:] != ranks[:-1])
    return integers(np.bincount(sets[new], minlength=len(offsets) - 1))


def _median(values: pa.Array, offsets: Integers) -> pa.Array:
    """The middle one of each set in order, or the mean of the two in the middle; NaN is above every number."""
    full = offsets[1:] > offsets[:-1]
    found = np.zeros(len(full), dtype=np.float64)
    if full.any():
        floats = raw(as_floats(values))
        ordered = floats[np.lexsort((floats, _set_of_each(offsets)))]
        begins, sizes = offsets[:-1][full], np.diff(offsets)[full]
        below, above = ordered[begins + (sizes - 1) // 2], ordered[begins + sizes // 2]
        with np.errstate(over="ignore", invalid="ignore"):
            both = below + above
            found[full] = np.where(np.isfinite(both), both / 2, below / 2 + above / 2) + 0.0
    return array_of(found, ~full, pa.float64())


def _deviation(values: pa.Array, offsets: Integers) -> pa.Array:
    """The standard deviation of each set as a sample; NULL for fewer than two values."""
    sizes = np.diff(offsets)
    several = sizes > 1
    found = np.zeros(len(sizes), dtype=np.float64)
    if several.any():
        floats = raw(as_floats(values))
        with np.errstate(over="ignore", invalid="ignore"):
            means = raw(_average(values, offsets))[_set_of_each(offsets)]
            squares = (floats - means) * (floats - means)
            sums = raw(_sum_of_floats(array_of(squares, None, pa.float64()), offsets))
            found[several] = np.sqrt(sums[several] / (sizes[several] - 1))
    return array_of(found, ~several, pa.float64())


def _set_of_each(offsets: Integers) -> Integers:
    """The number of the set that each value is in."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


_OF_KNOWN: dict[str, Callable[[pa.Array, Integers], pa.Array]] = {
    "count": _count,
    "sum": _sum,
    "avg": _average,
    "median": _median,
    "stddev": _deviation,
    ast.COUNT_DISTINCT: _count_distinct,
    "min": _extreme(np.minimum),
    "max": _extreme(np.maximum),
}
