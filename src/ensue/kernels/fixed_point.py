"""Exact sums of floats, whatever their order: whole numbers of 64-bit limbs, in two's complement.

A float is a whole number of 53 bits times a power of two. Limb `g` counts multiples of 2^(64 g - ORIGIN). How many
limbs a sum has depends on the least and the greatest float so far (`kernels/segment_lanes.py`). Nothing is rounded
before the end, so sums of parts add up to the sum of the whole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ensue.kernels.jit import inlined, inner, kernel

#: The last bit of the least float counts 2^-1074: it is in limb 1.
ORIGIN = 1152
_BIAS, _ENDLESS, _FRACTION = 1075, 0x7FF, (1 << 52) - 1
#: What a sum has come to that is no number: flags, which are joined by OR.
NAN, POSITIVE, NEGATIVE = 1, 2, 4
_ZERO, _ONE, _WORD = np.uint64(0), np.uint64(1), np.uint64(64)


@inlined
def _exponent(bits: int) -> int:
    return (bits >> 52) & _ENDLESS


@kernel
def places(bits: Any, known: Any, found: Any) -> None:
    """Widens `found`, the least and the greatest place of a last bit, by those of the floats that are finite, not 0."""
    least, greatest = found[0], found[1]
    for row in range(len(bits)):
        exponent = _exponent(bits[row])
        if known[row] and exponent != _ENDLESS and bits[row] & np.int64(0x7FFFFFFFFFFFFFFF) != 0:
            place = max(exponent, 1) - _BIAS + ORIGIN
            least, greatest = min(least, place), max(greatest, place)
    found[0], found[1] = least, greatest


@inlined
def add_float(lanes: Any, node: int, lane: int, width: int, first: int, bits: int) -> None:
    """Adds a float to the sum in `width` lanes, of which the first is limb `first`; flags are in the lane behind."""
    exponent = _exponent(bits)
    fraction = bits & _FRACTION
    if exponent == _ENDLESS:
        flag = NAN if fraction != 0 else (NEGATIVE if bits < 0 else POSITIVE)
        lanes[node, lane + width] |= flag
        return
    if exponent != 0:
        fraction |= _FRACTION + 1
    if fraction == 0:
        return
    place = max(exponent, 1) - _BIAS + ORIGIN
    shift = np.uint64(place & 63)
    whole = np.uint64(fraction)
    low = whole << shift
    high = whole >> (_WORD - shift) if shift != _ZERO else _ZERO
    limb = (place >> 6) - first
    if bits < 0:
        _subtract(lanes, node, lane + limb, lane + width, low, high)
    else:
        _add(lanes, node, lane + limb, lane + width, low, high)


@inlined
def _add(lanes: Any, node: int, lane: int, end: int, low: Any, high: Any) -> None:
    old = np.uint64(lanes[node, lane])
    new = old + low
    lanes[node, lane] = np.int64(new)
    carry = _ONE if new < old else _ZERO
    more = high + carry  # below 2^53 + 1
    k = lane + 1
    while more != _ZERO and k < end:
        old = np.uint64(lanes[node, k])
        new = old + more
        lanes[node, k] = np.int64(new)
        more = _ONE if new < old else _ZERO
        k += 1


@inlined
def _subtract(lanes: Any, node: int, lane: int, end: int, low: Any, high: Any) -> None:
    old = np.uint64(lanes[node, lane])
    lanes[node, lane] = np.int64(old - low)
    less = high + (_ONE if old < low else _ZERO)
    k = lane + 1
    while less != _ZERO and k < end:
        old = np.uint64(lanes[node, k])
        lanes[node, k] = np.int64(old - less)
        less = _ONE if old < less else _ZERO
        k += 1


@inlined
def add_integer(lanes: Any, node: int, lane: int, value: int) -> None:
    """Adds an integer to the sum in two lanes."""
    old = np.uint64(lanes[node, lane])
    new = old + np.uint64(value)
    lanes[node, lane] = np.int64(new)
    lanes[node, lane + 1] += (value >> 63) + (1 if new < old else 0)


@inlined
def add_sum(lanes: Any, node: int, other: Any, more: int, lane: int, width: int) -> None:
    """Adds the sum in row `more` of `other` to that in row `node`."""
    carry = _ZERO
    for k in range(lane, lane + width):
        old = np.uint64(lanes[node, k])
        new = old + np.uint64(other[more, k])
        over = new < old
        new += carry
        over |= new < carry
        lanes[node, k] = np.int64(new)
        carry = _ONE if over else _ZERO


@kernel
def rounded(lanes: Any, lane: int, width: int, first: int, work: Any, out: Any) -> None:
    """The nearest float of each sum, and of two the one with an even last bit; `work` holds `width` limbs."""
    for row in range(len(lanes)):
        flags = lanes[row, lane + width]
        if flags & NAN or flags == POSITIVE | NEGATIVE:
            out[row] = math.nan
        elif flags != 0:
            out[row] = math.inf if flags == POSITIVE else -math.inf
        else:
            out[row] = _rounded(lanes, row, lane, width, first, work)


@inner
def _rounded(lanes: Any, row: int, lane: int, width: int, first: int, work: Any) -> float:
    negative = lanes[row, lane + width - 1] < 0
    carry = _ONE if negative else _ZERO
    top = -1
    for k in range(width):
        limb = np.uint64(lanes[row, lane + k])
        if negative:
            limb = ~limb + carry
            carry = _ONE if limb == _ZERO and carry == _ONE else _ZERO
        work[k] = limb
        if limb != _ZERO:
            top = k
    if top < 0:
        return 0.0
    word, shift = work[top], 0
    while np.int64(word) >= 0:
        word <<= _ONE
        shift += 1
    below = False
    if top > 0:
        lower = work[top - 1]
        if shift > 0:
            word |= lower >> (_WORD - np.uint64(shift))
            lower <<= np.uint64(shift)
        below = lower != _ZERO
        for k in range(top - 1):
            below |= work[k] != _ZERO
    kept, rest, half = word >> np.uint64(11), word & np.uint64(0x7FF), np.uint64(0x400)
    if rest > half or (rest == half and (below or kept & _ONE != _ZERO)):
        kept += _ONE
    size = math.ldexp(np.float64(kept), 64 * (top + first) - ORIGIN - shift + 11)
    return -size if negative else size
