"""The parts of times over columns, as the wall clock in the zone of the column shows them.

What lies outside the years 1 to 9999 has no parts: NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.raw_arrays import Integers, Mask, Value, array_of, as_array, missing, raw
from ensue.columns.time_zones import FIRST, LAST, offsets_at, offsets_of_local
from ensue.language.ast import NANOSECONDS

_DAY = 86_400


def part(compute: Callable[[Integers], Integers]) -> Callable[[Value], pa.Array]:
    """A part of the wall clock, computed from its seconds since 1970."""

    def apply(time: Value) -> pa.Array:
        local, unknown = wall_clock(time)
        return array_of(compute(local), unknown, pa.int64())

    return apply


def date(time: Value) -> pa.Array:
    """The instant at which the day begins; a day that has no midnight begins when the clock goes on."""
    local, unknown = wall_clock(time)
    return _instants(local - local % _DAY, unknown, time.type)


def _instants(local: Integers, unknown: Mask | None, type_: pa.DataType) -> pa.Array:
    """The instants at which the clock first shows these times."""
    seconds = local - offsets_of_local(type_.tz, local)
    ticks = NANOSECONDS["s"] // NANOSECONDS[type_.unit]
    # The first day of all may begin before the first time that 64 bits hold.
    early = seconds < -(2**63 // ticks)
    if early.any():
        unknown = early if unknown is None else unknown | early
    with np.errstate(over="ignore"):
        return array_of(seconds * ticks, unknown, type_)


def epoch(time: Value) -> pa.Array:
    """The seconds since 1970 in UTC."""
    array = as_array(time)
    steps = NANOSECONDS["s"] // NANOSECONDS[array.type.unit]
    seconds, rest = np.divmod(raw(array), steps)
    return array_of(seconds + rest / steps, missing(array), pa.float64())


def date_trunc(unit: Value, time: Value) -> pa.Array:
    """The begin of the hour, the day and so on. Hours and shorter units keep the offset of the clock."""
    array, name = as_array(time), str(as_array(unit)[0].as_py()).lower()
    local, unknown = wall_clock(array)
    own = NANOSECONDS[array.type.unit]
    if name in _CALENDAR:
        return _instants(_CALENDAR[name](local), unknown, array.type)
    ticks = raw(array)
    if name in _CLOCK:
        # What the clock shows beyond the full minute or hour, and the part of a second.
        cut = local % _CLOCK[name] * (NANOSECONDS["s"] // own) + ticks % (NANOSECONDS["s"] // own)
    else:
        cut = ticks % max(NANOSECONDS[_PART_OF_SECOND[name]] // own, 1)
    low = ticks < -(2**63) + cut
    if low.any():
        unknown = low if unknown is None else unknown | low
    with np.errstate(over="ignore"):
        return array_of(ticks - cut, unknown, array.type)


def at_time_zone(time: Value, zone: str) -> pa.Array:
    """What the clock in the zone shows or, of times without a zone, the instants at which it shows them.

    Where it shows a time twice, it is the later instant; where it leaves a time out, the offset before holds on.
    """
    array = as_array(time)
    steps = NANOSECONDS["s"] // NANOSECONDS[array.type.unit]
    ticks, null = raw(array), missing(array)
    seconds: Integers = ticks // steps
    outside = _outside(seconds)
    if outside is not None:
        seconds = np.where(outside, 0, seconds)
        null = outside if null is None else null | outside
    instants = array.type.tz is not None
    shift = offsets_at(zone, seconds) if instants else -offsets_of_local(zone, seconds, second=True)
    outside = _outside(seconds + shift)
    if outside is not None:
        null = outside if null is None else null | outside
    with np.errstate(over="ignore"):
        found = ticks + shift * np.int64(steps)
    wrapped = ((ticks ^ found) & ((shift * np.int64(steps)) ^ found)) < 0
    if np.any(wrapped):
        null = wrapped if null is None else null | wrapped
    return array_of(found, null, pa.timestamp(array.type.unit, None if instants else zone))


def wall_clock(time: Value) -> tuple[Integers, Mask | None]:
    """The seconds since 1970 that the clock shows, and where it shows none."""
    array = as_array(time)
    steps = NANOSECONDS["s"] // NANOSECONDS[array.type.unit]
    seconds: Integers = raw(array) if steps == 1 else raw(array) // steps
    null = missing(array)
    outside = _outside(seconds)
    if outside is not None:
        seconds = np.where(outside, 0, seconds)
        null = outside if null is None else null | outside
    local: Integers = seconds + offsets_at(array.type.tz, seconds)
    outside = _outside(local)
    if outside is not None:
        local = np.where(outside, 0, local)
        null = outside if null is None else null | outside
    return local, null


def _outside(seconds: Integers) -> Mask | None:
    if not len(seconds) or (seconds.min() >= FIRST and seconds.max() <= LAST):
        return None
    outside: Mask = (seconds < FIRST) | (seconds > LAST)
    return outside


# ---------------------------------------------------------------- the parts


def second(local: Integers) -> Integers:
    return local % 60


def minute(local: Integers) -> Integers:
    return local // 60 % 60


def hour(local: Integers) -> Integers:
    return local // 3600 % 24


def weekday(local: Integers) -> Integers:
    """1 for Monday to 7 for Sunday; 1970 began on a Thursday."""
    return (local // _DAY + 3) % 7 + 1


def day(local: Integers) -> Integers:
    return _by_day(local, lambda days: (days - days.astype("M8[M]").astype("M8[D]")).astype(np.int64) + 1)


def month(local: Integers) -> Integers:
    return _by_day(local, lambda days: days.astype("M8[M]").astype(np.int64) % 12 + 1)


def year(local: Integers) -> Integers:
    return _by_day(local, lambda days: days.astype("M8[Y]").astype(np.int64) + 1970)


def quarter(local: Integers) -> Integers:
    return (month(local) + 2) // 3


def day_of_year(local: Integers) -> Integers:
    return _by_day(local, lambda days: (days - days.astype("M8[Y]").astype("M8[D]")).astype(np.int64) + 1)


def week(local: Integers) -> Integers:
    """The week of ISO 8601: that of the year in which its Thursday lies."""
    thursday = local + (4 - weekday(local)) * _DAY
    return (day_of_year(thursday) + 6) // 7


def _by_day(local: Integers, compute: Callable[[Any], Integers]) -> Integers:
    """A part of the date. Where the days are few, the calendar is asked once for each from the first to the last."""
    days = local // _DAY
    if not len(days):
        return days
    first, last = int(days.min()), int(days.max())
    if last - first >= len(days):
        return compute(days.astype("M8[D]"))
    return compute(np.arange(first, last + 1).astype("M8[D]"))[days - first]


def _first_day(unit: str, months: int = 1) -> Callable[[Integers], Integers]:
    """The first second of the month or the year, or of so many months from the first of a year on."""

    def begin(days: Any) -> Integers:
        first = days.astype(f"M8[{unit}]")
        if months > 1:
            first = first - (first.astype(np.int64) % 12 % months).astype("m8[M]")
        found: Integers = first.astype("M8[D]").astype(np.int64) * _DAY
        return found

    return lambda local: _by_day(local, begin)


#: The units of a clock in seconds, those of the calendar, and the parts of a second.
_CLOCK = {"minute": 60, "hour": 3600}
_CALENDAR: dict[str, Callable[[Integers], Integers]] = {
    "day": lambda local: local - local % _DAY,
    "week": lambda local: local - local % _DAY - (weekday(local) - 1) * _DAY,
    "month": _first_day("M"),
    "quarter": _first_day("M", 3),
    "year": _first_day("Y"),
}
_PART_OF_SECOND = {"second": "s", "millisecond": "ms", "microsecond": "us"}
