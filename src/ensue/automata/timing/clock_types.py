"""The types of a clock: the intervals between the bounds that are checked. In each, all checks have one outcome."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ensue.language import ast
from ensue.language.ast import Bound, Interval

#: A place between two times: just before the time, or (True) just after it.
_Cut = tuple[Fraction, bool]


def clock_types(intervals: Iterable[Interval]) -> list[Interval]:
    """The intervals between all bounds, from the shortest times to the longest.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_interval
    >>> bounds = [parse_pattern(f"A ;[{text}] B").gap for text in ("< 2 s", "1 s .. 3 s")]
    >>> [print_interval(i) for i in clock_types(bounds)]
    ['[< 1 s]', '[>= 1 s, < 2 s]', '[>= 2 s, <= 3 s]', '[> 3 s]']
    """
    cuts: dict[_Cut, ast.Duration] = {}
    for interval in intervals:
        for cut, bound in ((_low(interval), interval.low), (_high(interval), interval.high)):
            if cut is not None and bound is not None:
                cuts.setdefault(cut, bound.duration)
    found, low = [], None
    for (time, after), duration in sorted(cuts.items(), key=lambda c: c[0]):
        if (time, after) > (Fraction(0), False):  # no time is below 0
            found.append(Interval(low, Bound(duration, after)))
        low = Bound(duration, not after)
    return [*found, Interval(low, None)]


def covers(interval: Interval, part: Interval) -> bool:
    """Whether all times of the part lie in the interval."""
    low, high = _low(interval), _high(interval)
    part_low, part_high = _low(part) or (Fraction(0), False), _high(part)
    return (low is None or low <= part_low) and (high is None or (part_high is not None and part_high <= high))


def apart(one: Interval, other: Interval) -> bool:
    """Whether no time lies in both."""
    return _before(one, other) or _before(other, one)


def _before(one: Interval, other: Interval) -> bool:
    high, low = _high(one), _low(other)
    return high is not None and low is not None and high <= low


def _low(interval: Interval) -> _Cut | None:
    bound = interval.low
    return None if bound is None else (bound.duration.nanoseconds(), not bound.inclusive)


def _high(interval: Interval) -> _Cut | None:
    bound = interval.high
    return None if bound is None else (bound.duration.nanoseconds(), bound.inclusive)
