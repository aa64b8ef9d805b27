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
        local, unknown = _wall_clock(time)
        return array_of(compute(local), unknown, pa.int64())

    return apply


def date(time: Value) -> pa.Array:
    """The instant at which the day begins; a day that has no midnight begins when the clock goes on."""
    local, unknown = _wall_clock(time)
    midnight = local - local % _DAY
    seconds = midnight - offsets_of_local(time.type.tz, midnight)
    ticks = NANOSECONDS["s"] // NANOSECONDS[time.type.unit]
    # The first day of all may begin before the first time that 64 bits hold.
    early = seconds < -(2**63 // ticks)
    if early.any():
        unknown = early if unknown is None else unknown | early
    with np.errstate(over="ignore"):
        return array_of(seconds * ticks, unknown, time.type)


def _wall_clock(time: Value) -> tuple[Integers, Mask | None]:
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


def _by_day(local: Integers, compute: Callable[[Any], Integers]) -> Integers:
    """A part of the date. Where the days are few, the calendar is asked once for each from the first to the last."""
    days = local // _DAY
    if not len(days):
        return days
    first, last = int(days.min()), int(days.max())
    if last - first >= len(days):
        return compute(days.astype("M8[D]"))
    return compute(np.arange(first, last + 1).astype("M8[D]"))[days - first]
