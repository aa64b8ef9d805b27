"""Rounding of floats, as the language does it: halves go away from zero."""

from __future__ import annotations

import numpy as np

from ensue.columns.raw_arrays import Floats


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
