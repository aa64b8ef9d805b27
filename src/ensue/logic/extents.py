"""How many events a match of a pattern spans, from its first to its last, and how much time: certain bounds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ensue.language import ast
from ensue.language.printer import print_duration


@dataclass(frozen=True)
class Times:
    """A range of lengths of time in nanoseconds; an open end does not belong to it."""

    low: Fraction = Fraction(0)
    low_open: bool = False
    high: Fraction | None = None
    high_open: bool = False

    @classmethod
    def of(cls, interval: ast.Interval) -> Times:
        low, high = interval.low, interval.high
        return cls(
            low.duration.nanoseconds() if low else Fraction(0),
            low is not None and not low.inclusive,
            high.duration.nanoseconds() if high else None,
            high is not None and not high.inclusive,
        )

    def plus(self, other: Times) -> Times:
        high = None if self.high is None or other.high is None else self.high + other.high
        low_open, high_open = self.low_open or other.low_open, self.high_open or other.high_open
        return Times(self.low + other.low, low_open, high, high_open)

    def repeated(self, least: int, most: int | None) -> Times:
        """The length of so many of them, one after the other."""
        high = None if most is None or self.high is None else self.high * most
        return Times(self.low * least, self.low_open and least > 0, high, self.high_open)

    def and_(self, other: Times) -> Times:
        (low, low_open), highs = max(self._low, other._low), [h for h in (self._high, other._high) if h]
        high, high_open = min(highs, key=lambda h: (h[0], not h[1]), default=(None, False))
        return Times(low, low_open, high, high_open)

    def or_(self, other: Times) -> Times:
        (low, low_open), high = min(self._low, other._low), (None, False)
        if self._high and other._high:
            return Times(low, low_open, *max(self._high, other._high, key=lambda h: (h[0], not h[1])))
        return Times(low, low_open, *high)

    @property
    def _low(self) -> tuple[Fraction, bool]:
        return self.low, self.low_open

    @property
    def _high(self) -> tuple[Fraction, bool] | None:
        return None if self.high is None else (self.high, self.high_open)

    def is_empty(self) -> bool:
        return self.high is not None and (
            self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))
        )

    def at_least(self) -> str:
        return f"{'more than' if self.low_open else 'at least'} {length_of_time(self.low)}"

    def at_most(self) -> str:
        assert self.high is not None
        return f"{'less than' if self.high_open else 'at most'} {length_of_time(self.high)}"


def length_of_time(nanoseconds: Fraction) -> str:
    """The length in the largest unit in which it is a whole number.

    >>> length_of_time(Fraction(90 * 10**9)), length_of_time(Fraction(0))
    ('90 s', 'no time')
    """
    for unit, length in reversed(ast.NANOSECONDS.items()):
        if nanoseconds >= length and (nanoseconds / length).denominator == 1:
            return print_duration(ast.Duration(Decimal(int(nanoseconds / length)), unit))
    return f"{float(nanoseconds):g} ns" if nanoseconds else "no time"


AT_ONCE = Times(high=Fraction(0))


@dataclass(frozen=True)
class Extent:
    """The least and the most events from the first to the last of a match, and its time; None: there is no bound."""

    least: int = 1
    most: int | None = None
    time: Times = Times()

    def or_(self, other: Extent) -> Extent:
        most = None if self.most is None or other.most is None else max(self.most, other.most)
        return Extent(min(self.least, other.least), most, self.time.or_(other.time))

    def and_(self, other: Extent) -> Extent:
        most = min((n for n in (self.most, other.most) if n is not None), default=None)
        return Extent(max(self.least, other.least), most, self.time.and_(other.time))

    def then(self, other: Extent, *, directly: bool, gap: ast.Interval | None) -> Extent:
        """Of one pattern, and after a gap of another."""
        most = self.most + other.most if directly and self.most is not None and other.most is not None else None
        between = Times() if gap is None else Times.of(gap)
        return Extent(self.least + other.least, most, self.time.plus(between).plus(other.time))

    def iterated(self, p: ast.Iteration) -> Extent:
        directly = p.link is ast.Link.DIRECTLY or p.high == 1
        most = self.most * p.high if directly and self.most is not None and p.high is not None else None
        gap = Times() if p.gap is None else Times.of(p.gap)
        gaps = gap.repeated(p.low - 1, None if p.high is None else p.high - 1)
        if p.high == 1:
            gaps = AT_ONCE
        return Extent(self.least * p.low, most, self.time.repeated(p.low, p.high).plus(gaps))

    def within(self, window: ast.Interval | ast.EventCount) -> Extent:
        if isinstance(window, ast.EventCount):
            return self.and_(Extent(most=window.count))
        return self.and_(Extent(time=Times.of(window)))


ONE_EVENT = Extent(1, 1, AT_ONCE)
