"""Sums of floats, exact up to one rounding at the end, of many sets of numbers at a time.

A float is a whole number of 53 bits times a power of two. It is cut into digits of 32 bits at fixed places; digits of
one place are added up as integers, which loses nothing. So a sum does not depend on the order of its numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ensue.columns.raw_arrays import Floats, Integers

_BITS = 32
_DIGIT = np.int64(2**_BITS - 1)
#: The last bit of digit 0 counts 2^-_LOWEST: less than the last bit of every float.
_LOWEST = 1152


def exact_sums(values: Floats, begins: Integers) -> Floats:
    """The sums of the values from each of these places to the next one; none of the sets is empty.

    >>> exact_sums(np.array([1e16, 1.0, -1e16, 0.1]), np.array([0, 3])).tolist()
    [1.0, 0.1]
    """
    if np.isfinite(values).all():
        return _rounded(*_digits(values, begins))
    endless = np.where(np.isfinite(values), 0.0, values)
    with np.errstate(invalid="ignore"):
        sums: Floats = np.add.reduceat(endless, begins)  # an infinity, or NaN
    of_others = _rounded(*_digits(np.where(np.isfinite(values), values, 0.0), begins))
    return np.where(sums == 0.0, of_others, sums)


def _digits(values: Floats, begins: Integers) -> tuple[Integers, int]:
    """The sums as digits, the lowest first, and the place of the first digit; each may have any size."""
    fraction, exponent = np.frexp(values)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    place, shift = np.divmod(exponent.astype(np.int64) - 53 + _LOWEST, _BITS)
    low = (whole & _DIGIT) << shift  # below 2^63, and so without a sign
    high = ((whole >> _BITS) << shift) + (low >> _BITS)
    parts = (low & _DIGIT, high & _DIGIT, high >> _BITS)
    used = values != 0.0
    first = int(place[used].min(initial=place.max(initial=0)))
    last = int(place[used].max(initial=first))
    sums = np.zeros((last - first + 5, len(begins)), dtype=np.int64)
    for number in range(first, last + 1):
        own = place == number
        alone = bool(own.all())
        for k, part in enumerate(parts):
            sums[number - first + k] += np.add.reduceat(part if alone else np.where(own, part, 0), begins)
    return sums, first


def _rounded(digits: Integers, first: int) -> Floats:
    """The nearest float of each number; of two, the one with an even last bit."""
    for k in range(len(digits) - 1):
        digits[k + 1] += digits[k] >> _BITS
        digits[k] &= _DIGIT
    negative = digits[-1] < 0
    digits = _size(digits, negative)
    # The highest digit that is not 0 and the two below it have 64 bits and more from the first 1 on.
    top = np.zeros(digits.shape[1], dtype=np.int64)
    for k in range(len(digits)):
        top[digits[k] != 0] = k
    padded = np.concatenate([np.zeros_like(digits[:2]), digits]).view(np.uint64)
    column = np.arange(digits.shape[1])
    a, b, c = (padded[top + k, column] for k in (2, 1, 0))
    length = np.frexp(a.astype(np.float64))[1].astype(np.uint64)
    word = (((a << np.uint64(32)) | b) << (np.uint64(32) - length)) | (c >> length)
    below = (c & ((np.uint64(1) << length) - np.uint64(1))) != 0
    for k in range(len(digits)):
        below |= (digits[k] != 0) & (k < top - 2)
    kept, rest, half = word >> np.uint64(11), word & np.uint64(0x7FF), np.uint64(0x400)
    up = (rest > half) | ((rest == half) & (below | (kept & np.uint64(1) != 0)))
    exponent = (top - 1 + first) * _BITS - _LOWEST - (32 - length.astype(np.int64)) + 11
    with np.errstate(over="ignore"):
        size = np.ldexp((kept + up).astype(np.float64), exponent)
    found: Floats = np.where(negative, -size, size)
    return found


def _size(digits: Integers, negative: npt.NDArray[np.bool_]) -> Integers:
    """The digits of the number without its sign."""
    digits = np.where(negative, ~digits & _DIGIT, digits)
    carry = negative.astype(np.int64)
    for k in range(len(digits)):
        digits[k] += carry
        carry = digits[k] >> _BITS
        digits[k] &= _DIGIT
    return digits
