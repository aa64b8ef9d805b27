"""Intervals of numbers, a pair of columns each, that surely hold what arithmetic gives, or what it came from.

Every bound is moved outwards by more than arithmetic rounds, so that an interval may be a little too wide but is never
too narrow. A bound that is not known is infinite.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_MOST = np.finfo(np.float64).max
_ROUNDING, _TINY = 2.0**-48, 1e-300


class Interval(NamedTuple):
    """From `low` to `high`, both of them included."""

    low: Any  # a float for each event, or one for all
    high: Any

    @property
    def empty(self) -> Any:
        return self.low > self.high


EVERYTHING = Interval(-np.inf, np.inf)


def exactly(value: Any) -> Interval:
    """The interval of one number for each event; of NaN everything, since nothing is known of what it is compared with.

    >>> exactly(np.array([1.0, np.nan]))
    Interval(low=array([  1., -inf]), high=array([ 1., inf]))
    """
    return Interval(np.where(np.isnan(value), -np.inf, value), np.where(np.isnan(value), np.inf, value))


def widened(low: Any, high: Any, *operands: Any) -> Interval:
    """The interval by so much wider as a computation with numbers of these sizes may round."""
    slack = _TINY + sum(np.where(np.isfinite(o), np.abs(o), 0.0) for o in (low, high, *operands)) * _ROUNDING
    low, high = low - slack, high + slack
    # A result beyond all floats may stand for one that was as large as floats are.
    low = np.where(np.isnan(low), -np.inf, np.minimum(low, _MOST * (1 - _ROUNDING)))
    high = np.where(np.isnan(high), np.inf, np.maximum(high, -_MOST * (1 - _ROUNDING)))
    return Interval(low, high)


def both(a: Interval, b: Interval) -> Interval:
    """What is in both."""
    return Interval(np.maximum(a.low, b.low), np.minimum(a.high, b.high))


def either(a: Interval, b: Interval) -> Interval:
    """The least interval that holds both, of which an empty one adds nothing."""
    low = np.where(a.empty, b.low, np.where(b.empty, a.low, np.minimum(a.low, b.low)))
    return Interval(low, np.where(a.empty, b.high, np.where(b.empty, a.high, np.maximum(a.high, b.high))))


def plus(a: Interval, b: Interval) -> Interval:
    return widened(a.low + b.low, a.high + b.high, a.low, a.high, b.low, b.high)


def negative(a: Interval) -> Interval:
    return Interval(-a.high, -a.low)


def minus(a: Interval, b: Interval) -> Interval:
    return plus(a, negative(b))


def times(a: Interval, b: Interval) -> Interval:
    ends = [_product(x, y) for x in a for y in b]
    return widened(np.minimum.reduce(_alike(ends)), np.maximum.reduce(_alike(ends)))


def over(a: Interval, b: Interval) -> Interval:
    """What `x` may be where `x / y` is in `a` and `y` in `b`, or the quotient; everything where `y` may be 0."""
    zero = (b.low <= 0) & (b.high >= 0)
    with np.errstate(divide="ignore"):
        inverse = Interval(1.0 / np.where(zero, 1.0, b.high), 1.0 / np.where(zero, 1.0, b.low))
    found = times(widened(a.low, a.high), widened(*inverse))
    return Interval(np.where(zero, -np.inf, found.low), np.where(zero, np.inf, found.high))


def size(a: Interval) -> Interval:
    """The absolute values."""
    inside = (a.low <= 0) & (a.high >= 0)
    ends = np.abs(a.low), np.abs(a.high)
    return Interval(np.where(inside, 0.0, np.minimum(*ends)), np.maximum(*ends))


def of_size(a: Interval) -> Interval:
    """The numbers with such absolute values."""
    most = np.where(a.high < 0, 0.0, a.high)
    return Interval(-most, most)


def power(a: Interval, exponent: int) -> Interval:
    """The powers, of numbers of any sign where the exponent is even, else of those from 0 on."""
    a = size(a) if exponent % 2 == 0 else a
    with np.errstate(over="ignore"):
        return widened(_power(a.low, exponent), _power(a.high, exponent))


def root(a: Interval, exponent: int) -> Interval:
    """The numbers with such powers."""
    a = widened(*a)
    ends = [np.copysign(np.abs(end) ** (1.0 / exponent), end) for end in a]
    found = widened(*ends)
    return of_size(found) if exponent % 2 == 0 else found


def _power(x: Any, exponent: int) -> Any:
    return np.asarray(x, dtype=np.float64) ** exponent


def _product(x: Any, y: Any) -> Any:
    """The product of two bounds: nothing of whatever size is nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.multiply(x, y)
    return np.where(np.isnan(found), 0.0, found)


def _alike(ends: list[Any]) -> list[Any]:
    return list(np.broadcast_arrays(*ends))
