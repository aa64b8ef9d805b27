"""Exact sums of floats, whatever their order: whole numbers of 64-bit limbs, in two's complement.

A float is a whole number of 53 bits times a power of two. Limb `g` counts multiples of 2^(64 g - ORIGIN). How many
limbs a sum has depends on the least and the greatest float so far (`kernels/segment_lanes.py`). Nothing is rounded
before the end, so sums add up, and differences are exact as well. NaN and the infinities are counted beside the sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ensue.kernels.jit import at, inlined, kernel

#: The last bit of the least float counts 2^-1074: it is in limb 1.
ORIGIN = 1152
_BIAS, _ENDLESS, _FRACTION = 1075, 0x7FF, (1 << 52) - 1
#: The lanes behind a sum, where there are some: how many of its numbers are these.
NAN, POSITIVE, NEGATIVE = 0, 1, 2
SPECIALS = 3
#: What is known of the floats of a column: the least and the greatest place of a last bit, and if some are special.
LEAST_PLACE, GREATEST_PLACE, HAS_SPECIALS = range(3)
#: As long as there are none.
NO_FLOATS = (1 << 62, -1, 0)
#: So many bits more than the greatest float has a sum of floats: for 2^44 of them.
_SPARE_BITS = 53 + 44 + 1
_SIZE, _SIGN, _INFINITY = 0x7FFFFFFFFFFFFFFF, -(1 << 63), 0x7FF0000000000000
_NOT_A_NUMBER = 0x7FF8000000000000
_ZERO, _ONE, _WORD = np.uint64(0), np.uint64(1), np.uint64(64)


@inlined
def _exponent(bits: int) -> int:
    return (bits >> 52) & _ENDLESS


@kernel
def places(bits: Any, known: Any, found: Any) -> None:
    """Widens `found` by the floats of a batch."""
    least, greatest, special = found[LEAST_PLACE], found[GREATEST_PLACE], found[HAS_SPECIALS]
    for row in range(len(bits)):
        exponent = _exponent(bits[row])
        if not known[row] or bits[row] & _SIZE == 0:
            continue
        if exponent == _ENDLESS:
            special = 1
            continue
        place = max(exponent, 1) - _BIAS + ORIGIN
        least, greatest = min(least, place), max(greatest, place)
    found[LEAST_PLACE], found[GREATEST_PLACE], found[HAS_SPECIALS] = least, greatest, special


def limbs(found: Any) -> tuple[int, int]:
    """The first limb of a sum of floats of which `places` has told, and how many limbs it has."""
    least, greatest = int(found[LEAST_PLACE]), int(found[GREATEST_PLACE])
    if greatest < 0:
        return 0, 1
    first = least >> 6
    return first, ((greatest + _SPARE_BITS) >> 6) - first + 1


@inlined
def add_float(lanes: Any, row: int, lane: int, width: int, first: int, bits: int) -> None:
    """Adds a float to the sum in `width` lanes, of which the first is limb `first`."""
    exponent = _exponent(bits)
    fraction = bits & _FRACTION
    if exponent == _ENDLESS:
        special = NAN if fraction != 0 else (NEGATIVE if bits < 0 else POSITIVE)
        lanes[at(row), at(lane + width + special)] += 1
        return
    if exponent != 0:
        fraction |= _FRACTION + 1
    if fraction == 0:
        return
    place = max(exponent, 1) - _BIAS + ORIGIN
    shift = np.uint64(place & 63)
    whole = np.uint64(fraction)
    low = whole << shift
    high = (whole >> np.uint64(1)) >> (_WORD - _ONE - shift)
    limb = lane + (place >> 6) - first
    if bits < 0:
        _subtract(lanes, row, limb, lane + width, low, high)
    else:
        _add(lanes, row, limb, lane + width, low, high)


@inlined
def _add(lanes: Any, row: int, lane: int, end: int, low: Any, high: Any) -> None:
    old = np.uint64(lanes[at(row), at(lane)])
    new = old + low
    lanes[at(row), at(lane)] = np.int64(new)
    more = high + (_ONE if new < old else _ZERO)  # at most 2^53
    k = lane + 1
    while more != _ZERO and k < end:
        old = np.uint64(lanes[at(row), at(k)])
        new = old + more
        lanes[at(row), at(k)] = np.int64(new)
        more = _ONE if new < old else _ZERO
        k += 1


@inlined
def _subtract(lanes: Any, row: int, lane: int, end: int, low: Any, high: Any) -> None:
    old = np.uint64(lanes[at(row), at(lane)])
    lanes[at(row), at(lane)] = np.int64(old - low)
    less = high + (_ONE if old < low else _ZERO)
    k = lane + 1
    while less != _ZERO and k < end:
        old = np.uint64(lanes[at(row), at(k)])
        lanes[at(row), at(k)] = np.int64(old - less)
        less = _ONE if old < less else _ZERO
        k += 1


@inlined
def add_integer(lanes: Any, row: int, lane: int, value: int) -> None:
    """Adds an integer to the sum in two lanes."""
    old = np.uint64(lanes[at(row), at(lane)])
    new = old + np.uint64(value)
    lanes[at(row), at(lane)] = np.int64(new)
    lanes[at(row), at(lane + 1)] += (value >> 63) + (1 if new < old else 0)


@inlined
def subtract_sum(out: Any, w: int, sums: Any, k: int, before: Any, segment: int, lane: int, end: int) -> None:
    """Puts the difference of two sums, in the lanes from `lane` up to `end`, into row `w` of `out`."""
    borrow = _ZERO
    for n in range(lane, end):
        large, small = np.uint64(sums[at(k), at(n)]), np.uint64(before[at(segment), at(n)])
        rest = large - small
        out[at(w), at(n)] = np.int64(rest - borrow)
        borrow = _ONE if large < small or rest < borrow else _ZERO


@kernel
def rounded(lanes: Any, lane: int, width: int, first: int, specials: bool, out: Any) -> None:
    """The bits of the nearest float of each sum, and of two the one with an even last bit."""
    for row in range(len(lanes)):
        if specials:
            out[at(row)] = finished_row(lanes, row, lane, width, first)
        else:
            out[at(row)] = rounded_row(lanes, row, lane, width, first)


@inlined
def _limb(lanes: Any, row: int, lane: int, negative: bool, lowest: int) -> Any:
    """A limb of the sum without its sign; `lowest` is the lane of the first limb that is not 0."""
    limb = np.uint64(lanes[at(row), at(lane)])
    if negative and lane >= lowest:
        limb = ~limb + _ONE if lane == lowest else ~limb
    return limb


@inlined
def rounded_row(lanes: Any, row: int, lane: int, width: int, first: int) -> Any:
    """The bits of the nearest float of the sum in one row, but for what is infinite or NaN."""
    negative = lanes[at(row), at(lane + width - 1)] < 0
    lowest, top = lane, lane + width - 1
    while lowest < top and lanes[at(row), at(lowest)] == 0:
        lowest += 1
    word = _limb(lanes, row, top, negative, lowest)
    while word == _ZERO and top > lane:
        top -= 1
        word = _limb(lanes, row, top, negative, lowest)
    if word == _ZERO:
        return 0
    length = min(math.frexp(np.float64(word))[1], 64)
    if word >> np.uint64(length - 1) == _ZERO:  # the nearest float is larger
        length -= 1
    shift = np.uint64(64 - length)
    word <<= shift
    below = False
    if top > lane:
        lower = _limb(lanes, row, top - 1, negative, lowest)
        word |= (lower >> _ONE) >> (_WORD - _ONE - shift)
        below = lower << shift != _ZERO or lowest < top - 1
    kept, rest, half = word >> np.uint64(11), word & np.uint64(0x7FF), np.uint64(0x400)
    if rest > half or (rest == half and (below or kept & _ONE != _ZERO)):
        kept += _ONE
    sign = _SIGN if negative else 0
    # `kept` has 53 bits, or is 2^53: then the exponent is one more, which the sum of both makes it.
    exponent = 64 * (top - lane + first) - ORIGIN + length - 64 + 11 + _BIAS
    if exponent >= _ENDLESS:
        return _INFINITY | sign
    if exponent >= 1:
        return ((exponent - 1 << 52) + np.int64(kept)) | sign
    return np.int64(kept >> np.uint64(1 - exponent)) | sign  # it has fewer bits, and no rest


@inlined
def finished_row(lanes: Any, row: int, lane: int, width: int, first: int) -> Any:
    """The same with the lanes behind the sum, which count what is infinite or NaN."""
    behind = lane + width
    positive, negative = lanes[at(row), at(behind + POSITIVE)] > 0, lanes[at(row), at(behind + NEGATIVE)] > 0
    if lanes[at(row), at(behind + NAN)] > 0 or (positive and negative):
        return _NOT_A_NUMBER
    if positive or negative:
        return _INFINITY if positive else _INFINITY | _SIGN
    return rounded_row(lanes, row, lane, width, first)
