"""Aggregates over sets of rows that begin alike and grow: those of a match as far as each of its rows.

All sets of a match are told of in one pass over its rows. Only what puts the values themselves into the result, such
as `array_agg`, is made set by set: it is as large as all sets together anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.conversions import as_floats
from ensue.columns.ranks import ranks
from ensue.columns.raw_arrays import array_of, missing, raw
from ensue.data.events import integers
from ensue.data.partitions import key_codes
from ensue.data.schema import Kind
from ensue.kernels import fixed_point
from ensue.kernels.jit import read_only
from ensue.kernels.row_prefixes import running_extremes, running_totals
from ensue.row_patterns.aggregates_of_rows import aggregates_of
from ensue.row_patterns.match_terms import Aggregate

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
#: So many values are looked at at a time, where sets are looked at one by one.
_AT_ONCE = 1 << 22
_WITH_VALUES = ("collect", "string_agg")
_GREATEST = ("max", "max_by", "bool_or")


def of_prefixes(
    term: Aggregate, given: Sequence[pa.Array], begins: Integers, low: Integers, high: Integers
) -> pa.Array:
    """The aggregate of each set: the values from `low[s]` to `high[s]`, where `low[s]` is the first one of its match.

    `given` are columns, one for each of `term.values`, and `begins` has the first value of the match of each value.
    """
    if term.function in _WITH_VALUES:
        return set_by_set(term, given, low, high)
    values = given[0]
    if term.distinct and term.function in ("count", "sum", "avg"):
        values, begins, low, high = _first_ones(values, begins, low, high)
    if term.function in ("count", "sum"):
        found = by_differences(term, values, low, high)
        if found is not None:
            return found
        if pa.types.is_integer(values.type):  # whole numbers that do not fit 64 bits with a sign
            return set_by_set(term, given, low, high)
    if term.function in ("sum", "avg"):
        return _total(term, values, begins, low, high)
    return _extreme(term, given, begins, low, high)


def set_by_set(term: Aggregate, given: Sequence[pa.Array], low: Integers, high: Integers) -> pa.Array:
    """The aggregate of the values from `low[s]` to `high[s]`: each set written out, so many values at a time."""
    ends = np.cumsum(high - low)
    parts: list[pa.Array] = []
    begin = 0
    while begin < len(low) or not parts:
        done = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, done + _AT_ONCE, side="right")), begin + 1)
        sizes = (high - low)[begin:end]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        index = integers(np.arange(offsets[-1]) + np.repeat(low[begin:end] - offsets[:-1], sizes))
        parts.append(aggregates_of(term, [v.take(index) for v in given], offsets))
        begin = end
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def by_differences(term: Aggregate, values: pa.Array, low: Integers, high: Integers) -> pa.Array | None:
    """Counts, and sums of whole numbers, as differences of running sums; None for another aggregate."""
    known = _known(values).astype(np.int64)
    count = _between(known, low, high)
    if term.function == "count":
        return integers(count)
    if term.type.kind is not Kind.INTEGER or values.type != pa.int64():
        return None
    numbers = np.where(known == 1, raw(values), 0)
    lows, highs = _between(numbers & (2**32 - 1), low, high), _between(numbers >> 32, low, high)
    highs += lows >> 32
    fits = (highs >= -(2**31)) & (highs < 2**31)
    return array_of((highs << 32) | (lows & (2**32 - 1)), (count == 0) | ~fits, pa.int64())


def _between(numbers: Integers, low: Integers, high: Integers) -> Integers:
    sums = np.concatenate([[0], np.cumsum(numbers)])
    found: Integers = sums[high] - sums[low]
    return found


def _known(values: pa.Array) -> Mask:
    """Where there is a value."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), dtype=np.bool_)
    null = missing(values)
    return np.ones(len(values), dtype=np.bool_) if null is None else ~null


def _first_ones(
    values: pa.Array, begins: Integers, low: Integers, high: Integers
) -> tuple[pa.Array, Integers, Integers, Integers]:
    """The same without values that are in their match already: of a set that grows, the first ones stay in it."""
    if not len(values):
        return values, begins, low, high
    first = np.sort(np.unique(key_codes([integers(begins), values]), return_index=True)[1])
    kept = np.zeros(len(values), dtype=np.int64)
    kept[first] = 1
    before = np.concatenate([[0], np.cumsum(kept)])
    return values.take(integers(first)), before[begins[first]], before[low], before[high]


def _total(term: Aggregate, values: pa.Array, begins: Integers, low: Integers, high: Integers) -> pa.Array:
    """Sums and means of floats: exact, and rounded once."""
    if not len(values) or pa.types.is_null(values.type):
        return pa.nulls(len(low), term.type.arrow)
    known = read_only(_known(values))
    bits = read_only(raw(as_floats(values)).view(np.int64))
    found = np.array(fixed_point.NO_FLOATS, dtype=np.int64)
    fixed_point.places(bits, known, found)
    first, width = fixed_point.limbs(found)
    sums, counts = np.empty(len(bits), dtype=np.int64), np.empty(len(bits), dtype=np.int64)
    lanes = np.zeros((1, width + fixed_point.SPECIALS), dtype=np.int64)
    running_totals(bits, known, read_only(begins), width, first, lanes, sums, counts)
    last = np.maximum(high, 1) - 1
    count = np.where(high > low, counts[last], 0)
    total = sums[last].view(np.float64)
    if term.function == "avg":
        total = total / np.maximum(count, 1)
    return array_of(total, count == 0, pa.float64())


def _extreme(term: Aggregate, given: Sequence[pa.Array], begins: Integers, low: Integers, high: Integers) -> pa.Array:
    """The value where another, or it itself, is the least, the greatest, or the first that is there."""
    values, by = given[0], given[-1]
    if not len(values) or pa.types.is_null(by.type):
        return pa.nulls(len(low), values.type)
    order = np.zeros(len(by), dtype=np.int64)
    if term.function != "any_value":
        order = ranks(by, descending=False, nulls_first=False)
    best = np.empty(len(by), dtype=np.int64)
    greatest = term.function in _GREATEST
    running_extremes(read_only(order), read_only(_known(by)), read_only(begins), greatest, best)
    place = np.where(high > low, best[np.maximum(high, 1) - 1], -1)
    return values.take(array_of(np.maximum(place, 0), place < 0, pa.int64()))
