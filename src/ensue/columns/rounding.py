"""Rounding of floats, as the language does it: halves go away from zero."""

from __future__ import annotations

import numpy as np

from ensue.columns.raw_arrays import Floats, Integers, Mask, Numbers

#: The float nearest to each power of ten; the last one stands for all that are too large.
_POWERS = np.array([float(f"1e{k}") for k in range(309)])
_STEPS = 10 ** np.arange(20, dtype=np.uint64)


def half_away_from_zero(floats: Floats) -> Floats:
    """The nearest whole numbers. A float minus its whole part is exact, and so is the comparison with a half.

    >>> half_away_from_zero(np.array([0.5, -2.5, 0.49999999999999994])).tolist()
    [1.0, -3.0, 0.0]
    """
    whole = np.trunc(floats)
    with np.errstate(invalid="ignore"):
        further = np.abs(floats - whole) >= 0.5
    found: Floats = np.where(further, whole + np.copysign(1.0, floats), whole)
    return found


def round_floats(floats: Floats, places: Integers) -> Floats:
    """To so many places after the point, or before it where there are less than 0."""
    power = _POWERS[np.minimum(np.abs(places), 308)]
    with np.errstate(all="ignore"):
        scaled = np.where(places > 0, floats * power, floats / power)
        whole = half_away_from_zero(scaled)
        found = np.copysign(np.where(places > 0, whole / power, whole * power), floats)
    # Floats of that size have no such places; neither has one NaN or an infinity.
    found = np.where((np.abs(scaled) < 2.0**52) & (places <= 308), found, floats)
    return np.where((places < -308) & np.isfinite(floats), np.copysign(0.0, floats), found)


def round_integers(numbers: Numbers, places: Integers) -> tuple[Integers, Mask]:
    """The same of integers, and where the result does not fit 64 bits with a sign."""
    negative = numbers < 0
    size = numbers.astype(np.uint64)
    size = np.where(negative, np.uint64(0) - size, size)
    # Half of the largest step may be added; what is larger lies beyond 64 bits with a sign all the same.
    step = _STEPS[np.clip(-places, 0, 19)]
    found = (np.minimum(size, np.uint64(2**64 - 1) - _STEPS[19] // np.uint64(2)) + step // np.uint64(2)) // step * step
    found = np.where(places < -19, np.uint64(0), found)
    lost: Mask = found > np.where(negative, np.uint64(2**63), np.uint64(2**63 - 1))
    signed = np.where(lost, np.uint64(0), found).view(np.int64)
    return np.where(negative, -signed, signed), lost
