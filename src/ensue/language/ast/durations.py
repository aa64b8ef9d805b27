"""Durations, intervals and windows."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ensue.language.ast.nodes import Node

#: Every spelling of a time unit, and the unit it stands for.
UNITS: dict[str, str] = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("us", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
NANOSECONDS: dict[str, int] = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}


@dataclass(frozen=True)
class Duration(Node):
    """An exact length of time, such as `1.5 s`."""

    amount: Decimal
    unit: str

    def nanoseconds(self) -> Fraction:
        return Fraction(self.amount) * NANOSECONDS[self.unit]


@dataclass(frozen=True)
class Bound(Node):
    duration: Duration
    inclusive: bool


@dataclass(frozen=True)
class Interval(Node):
    """A set of time differences between two bounds; a missing bound leaves that side open."""

    low: Bound | None
    high: Bound | None

    def contains(self, nanoseconds: float | Fraction) -> bool:
        if self.low is not None:
            low = self.low.duration.nanoseconds()
            if nanoseconds < low or (nanoseconds == low and not self.low.inclusive):
                return False
        if self.high is not None:
            high = self.high.duration.nanoseconds()
            if nanoseconds > high or (nanoseconds == high and not self.high.inclusive):
                return False
        return True

    def is_empty(self) -> bool:
        """Whether the interval contains no time difference (differences are never negative: a stream is ordered)."""
        low = self.low.duration.nanoseconds() if self.low else Fraction(0)
        low_inclusive = self.low.inclusive if self.low else True
        if self.high is None:
            return False
        high = self.high.duration.nanoseconds()
        return high < low or (high == low and not (low_inclusive and self.high.inclusive))


@dataclass(frozen=True)
class WrittenInterval(Interval):
    """An interval with parameters, in what the builder makes: its text is read when these have values."""

    text: str = ""


@dataclass(frozen=True)
class EventCount(Node):
    """The window `n EVENTS`."""

    count: int
