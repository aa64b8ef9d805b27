"""Cuts Parquet files into stretches of time, by what their footers say: each is one task, and nothing is shuffled.

A stretch reports the matches that end in it, and reads from one window before its beginning on. A row group that
overlaps what two stretches read is read by both, so this pays where the files are in the order of time, as those are
to which events were appended.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from dataclasses import dataclass

from ensue.spark.parquet_footers import ANY_TIME, RowGroup
from ensue.spark.plain_scan import LeftToSpark

#: Fewer rows than this are one task; more rows than this, for each task that can run at a time, are more tasks.
_FEWEST_ROWS, _MOST_ROWS = 1 << 16, 1 << 24
#: By how much stretches may read more than all rows, and wait for more than so many rows.
_MOST_READ = 1.5
_MOST_WAITING = 1 << 23


@dataclass(frozen=True)
class Stretch:
    """Reads `groups`, and of them the events from `reads_from` on and before `end`; reports matches from `begin` on.

    None is no bound. The row groups are in the order of their first events.
    """

    groups: tuple[RowGroup, ...]
    reads_from: int | None = None
    begin: int | None = None
    end: int | None = None

    @property
    def rows(self) -> int:
        return sum(g.rows for g in self.groups)


def whole(groups: tuple[RowGroup, ...]) -> Stretch:
    """All events in the order of time, for one task."""
    _check_timed(groups)
    return _checked(Stretch(tuple(sorted(groups, key=_begin))))


def stretches(groups: tuple[RowGroup, ...], window: int, tasks: int) -> list[Stretch]:
    """About equal stretches, for so many tasks at a time; raises LeftToSpark if too much would be read twice."""
    _check_timed(groups)
    if not groups:
        return [Stretch(())]
    ordered = sorted(groups, key=_begin)
    rows = sum(g.rows for g in ordered)
    wanted = 1 if rows < _FEWEST_ROWS else tasks * (1 + rows // (tasks * _MOST_ROWS))
    cuts = _cuts(ordered, wanted)
    made = [_stretch(ordered, first, last, window) for first, last in itertools.pairwise([None, *cuts, None])]
    if 2 * len(made) < min(wanted, tasks):
        raise LeftToSpark(f"the files have too few row groups for {tasks} tasks")
    if sum(s.rows for s in made) > _MOST_READ * rows:
        raise LeftToSpark("the files are not in the order of time, or the window is long: too much would be read twice")
    return [_checked(s) for s in made]


def _begin(group: RowGroup) -> tuple[int, int, int]:
    return group.earliest, group.file, group.number


def _check_timed(groups: tuple[RowGroup, ...]) -> None:
    if any((g.earliest, g.latest) == ANY_TIME for g in groups):
        raise LeftToSpark("the footers of the files do not say between which times their events are")


def _cuts(ordered: list[RowGroup], wanted: int) -> list[int]:
    """Times at which row groups begin, with about as many rows between each two."""
    ends = list(itertools.accumulate(g.rows for g in ordered))
    found = set()
    for k in range(1, wanted):
        at = bisect_left(ends, ends[-1] * k // wanted)
        # The group that begins nearest to the wanted row.
        at += at + 1 < len(ordered) and 2 * (ends[-1] * k // wanted - (ends[at] - ordered[at].rows)) > ordered[at].rows
        found.add(ordered[at].earliest)
    return sorted(found - {ordered[0].earliest})


def _stretch(ordered: list[RowGroup], begin: int | None, end: int | None, window: int) -> Stretch:
    reads_from = None if begin is None else begin - window
    read = [g for g in ordered if _meets(g, reads_from, end)]
    return Stretch(tuple(read), reads_from, begin, end)


def _meets(group: RowGroup, first: int | None, end: int | None) -> bool:
    return (first is None or group.latest >= first) and (end is None or group.earliest < end)


def _checked(stretch: Stretch) -> Stretch:
    """The stretch, if its task need not hold too many events until they are in order."""
    if most_waiting(stretch.groups) > _MOST_WAITING:
        raise LeftToSpark("the files are not in the order of time: too many events would have to wait for each other")
    return stretch


def most_waiting(ordered: tuple[RowGroup, ...]) -> int:
    """The most rows that wait because a row group that is read later may have earlier events."""
    most, waiting = 0, list[RowGroup]()
    for group, following in itertools.zip_longest(ordered, ordered[1:]):
        waiting.append(group)
        if following is not None:
            waiting = [g for g in waiting if g.latest >= following.earliest]
            most = max(most, sum(g.rows for g in waiting))
    return most
