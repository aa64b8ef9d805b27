"""Exact sums of floats, whatever their order: whole numbers of 64-bit limbs, in two's complement.

A float is a whole number of 53 bits times a power of two. Limb `g` counts multiples of 2^(64 g - ORIGIN). How many
limbs a sum has depends on the least and the greatest float so far (`kernels/segment_lanes.py`). Nothing is rounded
before the end, so sums add up, and differences are exact as well. NaN and the infinities are counted beside the sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ensue.kernels.jit import at, inlined, inner, kernel

#: The last bit of the least float counts 2^-1074: it is in limb 1.
ORIGIN = 1152
_BIAS, _ENDLESS, _FRACTION = 1075, 0x7FF, (1 << 52) - 1
#: The lanes behind a sum, where there are some: how many of its numbers are these.
NAN, POSITIVE, NEGATIVE = 0, 1, 2
SPECIALS = 3
#: What is known of the floats of a column: the least and the greatest place of a last bit, and if some are special.
LEAST_PLACE, GREATEST_PLACE, HAS_SPECIALS = range(3)
_SIZE = 0x7FFFFFFFFFFFFFFF
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
    """The nearest float of each sum, and of two the one with an even last bit."""
    for row in range(len(lanes)):
        behind = lane + width
        if specials and lanes[row, behind] + lanes[row, behind + 1] + lanes[row, behind + 2] > 0:
            positive, negative = lanes[row, behind + POSITIVE] > 0, lanes[row, behind + NEGATIVE] > 0
            if lanes[row, behind + NAN] > 0 or (positive and negative):
                out[row] = math.nan
            else:
                out[row] = math.inf if positive else -math.inf
        else:
            out[row] = _rounded(lanes, row, lane, width, first)


@inlined
def _without_sign(lanes: Any, row: int, lane: int, width: int) -> None:
    """Takes the sum times -1."""
    carry = _ONE
    for k in range(lane, lane + width):
        limb = ~np.uint64(lanes[at(row), at(k)]) + carry
        if limb != _ZERO:
            carry = _ZERO
        lanes[at(row), at(k)] = np.int64(limb)


@inlined
def _zeros_before(word: Any) -> int:
    """The zeros before the first 1 of a number that is not 0."""
    found = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == _ZERO:
            word <<= np.uint64(step)
            found += step
    return found


@inner
def _rounded(lanes: Any, row: int, lane: int, width: int, first: int) -> float:
    negative = lanes[at(row), at(lane + width - 1)] < 0
    if negative:
        _without_sign(lanes, row, lane, width)
    top = width - 1
    while top >= 0 and lanes[at(row), at(lane + top)] == 0:
        top -= 1
    if top < 0:
        return 0.0
    word = np.uint64(lanes[at(row), at(lane + top)])
    shift = _zeros_before(word)
    word <<= np.uint64(shift)
    below = False
    if top > 0:
        lower = np.uint64(lanes[at(row), at(lane + top - 1)])
        word |= (lower >> _ONE) >> np.uint64(63 - shift)
        below = lower << np.uint64(shift) != _ZERO
        for k in range(lane, lane + top - 1):
            below |= lanes[at(row), at(k)] != 0
    kept, rest, half = word >> np.uint64(11), word & np.uint64(0x7FF), np.uint64(0x400)
    if rest > half or (rest == half and (below or kept & _ONE != _ZERO)):
        kept += _ONE
    size = math.ldexp(np.float64(kept), 64 * (top + first) - ORIGIN - shift + 11)
    return -size if negative else size
