"""What `detect` must find: the matches, grouped by their last event."""

from __future__ import annotations

from ensue.results.matches import Matches

#: For each end: the earliest start, and the events that took part.
Ends = dict[int, tuple[int, tuple[int, ...]]]
#: An end, the earliest start, and the events that took part.
Row = tuple[int, int, tuple[int, ...]]


def by_end(matches: Matches) -> Ends:
    found: dict[int, tuple[int, set[int]]] = {}
    for m in range(len(matches)):
        start, end = int(matches.start[m]), int(matches.end[m])
        earliest, marked = found.setdefault(end, (start, set()))
        marked.update(int(k) for marks in matches.marks.values() for k in marks.of(m))
        found[end] = (min(start, earliest), marked)
    return {end: (start, tuple(sorted(marked))) for end, (start, marked) in found.items()}


def as_rows(ends: Ends) -> list[Row]:
    return [(end, *ends[end]) for end in sorted(ends)]
