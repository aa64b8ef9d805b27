"""The offset of the wall clock in a time zone, for a column of instants.

Python's `zoneinfo` knows the offset of one instant. The instants at which it changes are found once for each stretch of
time, by looking a few times in each week; then a column is looked up among them.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from ensue.columns.raw_arrays import Integers

#: The seconds of the years 1 to 9999, which are all that Python's datetime knows.
FIRST, LAST = -62_135_596_800, 253_402_300_799
#: A stretch is 2^25 s, a year and some days. No zone ever changed its offset twice within 3.9 days (Freetown, 1939), so
#: that two looks that are 1.5 days apart have one change between them at most.
_STRETCH, _LOOK = 25, 1 << 17


class Changes(NamedTuple):
    """The offsets of a zone in seconds; `offsets[k + 1]` holds from `instants[k]` on."""

    instants: Integers
    offsets: Integers


def offsets_at(zone: str | None, seconds: Integers) -> Integers | int:
    """The offset at each instant, in seconds."""
    changes = _changes_around(zone, seconds)
    if isinstance(changes, int):
        return changes
    found: Integers = changes.offsets[np.searchsorted(changes.instants, seconds, side="right")]
    return found


def offsets_of_local(zone: str | None, local: Integers, *, second: bool = False) -> Integers | int:
    """The offset at each time of the wall clock. If the clock shows a time twice or never, it is the earlier one.

    With `second`, it is the later one if the clock shows a time twice.
    """
    changes = _changes_around(zone, local)
    if isinstance(changes, int):
        return changes
    later = changes.offsets[1:] if second else np.maximum(changes.offsets[1:], changes.offsets[:-1])
    found: Integers = changes.offsets[np.searchsorted(changes.instants + later, local, side="right")]
    return found


def _changes_around(zone: str | None, seconds: Integers) -> Changes | int:
    """All changes that concern these times, or times a day apart from them; or the offset, where there is only one."""
    fixed = _fixed_offset(zone)
    if fixed is not None or zone is None or not len(seconds):
        return fixed or 0
    first, last = (int(seconds.min()) >> _STRETCH) - 1, (int(seconds.max()) >> _STRETCH) + 1
    stretches = np.arange(first, last + 1)
    if last - first > len(seconds):
        own = seconds >> _STRETCH
        stretches = np.unique(np.concatenate([own - 1, own, own + 1]))
    parts = [_changes_in(zone, int(s)) for s in stretches]
    instants = np.concatenate([p.instants for p in parts])
    offsets = np.concatenate([p.offsets for p in parts])
    changed = np.flatnonzero(np.diff(offsets)) + 1
    return Changes(instants[changed], offsets[np.append(0, changed)]) if len(changed) else int(offsets[0])


@lru_cache(maxsize=10_000)
def _changes_in(zone: str, stretch: int) -> Changes:
    """What holds from the beginning of a stretch of time on, and from each change in it."""
    begin = stretch << _STRETCH
    looks = range(begin, begin + (1 << _STRETCH) + 1, _LOOK)
    instants, offsets = [begin], [_offset(zone, begin)]
    for before, after in itertools.pairwise(looks):
        if _offset(zone, after) != offsets[-1]:
            instants.append(_change_between(zone, before, after))
            offsets.append(_offset(zone, after))
    if instants[-1] == begin + (1 << _STRETCH):  # it belongs to the next stretch
        del instants[-1], offsets[-1]
    return Changes(np.array(instants), np.array(offsets))


def _change_between(zone: str, before: int, after: int) -> int:
    """The first second of the offset that holds in the end."""
    old = _offset(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if _offset(zone, middle) == old else (before, middle)
    return after


def _offset(zone: str, second: int) -> int:
    """The offset at one instant; within a day of the ends of Python's time, that of a day before or after."""
    day = 86_400
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=min(max(second, FIRST + day), LAST - day))
    offset = instant.astimezone(_zone(zone)).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _fixed_offset(zone: str | None) -> int | None:
    """The one offset of a zone that never changes it; None of another."""
    if zone is None or zone == "UTC":
        return 0
    found = _zone(zone)
    return int(found.utcoffset(None).total_seconds()) if isinstance(found, timezone) else None


@lru_cache(maxsize=1000)
def _zone(name: str) -> tzinfo:
    # Arrow also writes fixed offsets such as +02:00 as zones.
    if name[:1] in "+-" and len(name) in (5, 6):
        minutes = int(name[1:3]) * 60 + int(name[-2:])
        return timezone(timedelta(minutes=-minutes if name[0] == "-" else minutes))
    return ZoneInfo(name)
