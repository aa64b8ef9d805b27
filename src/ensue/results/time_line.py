"""Matches on a time line: a lane for each partition, events as dots, matches as bands with arcs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.results.rows import as_cell, rows_of
from ensue.results.svg import COLOURS, Picture, element, label, title, width_of

if TYPE_CHECKING:
    from ensue.results.matches import Matches

#: So many lanes are shown, those with the most matches, and in each so many matches on top of each other.
_LANES, _BANDS = 12, 8
#: Of the events of a lane that take part in no match, so many are shown, evenly chosen.
_DOTS = 300
#: The sizes of a picture, and the number of bars of a density.
_WIDTH, _MARGIN, _BAND, _HEAD, _BARS = 960.0, 16.0, 14.0, 40.0, 120
#: Where there are more matches than this, a density is shown above the examples.
_MANY = 200


@dataclass(frozen=True)
class _Scale:
    """Where a time stands in the picture."""

    low: int
    high: int
    left: float

    def x(self, time: int) -> float:
        part = (time - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.left + part * (_WIDTH - _MARGIN - self.left)


def ends_over_time(matches: Matches) -> Picture | None:
    """How many matches end when; None where there are too few to be counted."""
    if len(matches) < 2:
        return None
    times = matches.stream.times
    scale = _Scale(int(times[0]), int(times[-1]), _MARGIN + width_of("most 1,000,000") + 14)
    bars, y = _density(matches, scale, 12)
    return Picture(_WIDTH, y + 30, *bars, *_axis(matches, scale, y), name=f"when {_counted(matches)} end")


def time_line(matches: Matches, *, density: bool = True) -> Picture:
    """The picture of a result; the busiest partitions, and of many matches their density and some examples."""
    stream = matches.stream
    if not len(stream):
        return Picture(_WIDTH, 60, label(_MARGIN, 34, "no events"), name="no events")
    keys = [k.attribute for k in matches.checked.query.partition]
    lanes = _lanes(matches, keys)
    names = [_name(matches, place) for place in lanes] or ["no match"]
    times = stream.times
    left = _MARGIN + min(max(map(width_of, [*names, "examples"])), 220.0) + 14
    scale = _Scale(int(times[0]), int(times[-1]), left)
    parts, y = [label(_MARGIN, 22, _counted(matches))], _HEAD
    if len(matches) > _MANY and density:
        bars, y = _density(matches, scale, y)
        parts += [*bars, label(_MARGIN, y + 22, "examples", class_="faint")]
        y += 24
    for name, (place, chosen) in zip(names, lanes.items(), strict=False):
        drawn, y = _Lane(matches, scale, keys, place, chosen).drawn(y, name)
        parts.append(drawn)
    if not lanes:
        dots, y = _only_events(matches, scale, y)
        parts += dots
    parts += _axis(matches, scale, y)
    return Picture(_WIDTH, y + 62, *parts, *_legend(matches, y + 50), name=_counted(matches))


def _counted(matches: Matches) -> str:
    count = len(matches)
    return f"{count:,} match{'' if count == 1 else 'es'} in {len(matches.stream):,} events"


def _lanes(matches: Matches, keys: list[str]) -> dict[int, list[int]]:
    """For each of the busiest partitions, by the place of its first match: matches that are examples of it."""
    if not len(matches):
        return {}
    ends = matches.end
    if not keys:
        return {0: _examples(range(len(matches)))}
    columns = [matches.stream.table.column(k).take(pa.array(ends)).to_pylist() for k in keys]
    by_key: dict[Any, list[int]] = defaultdict(list)
    for place, value in enumerate(zip(*map(_hashable, columns), strict=True)):
        by_key[value].append(place)
    busiest = sorted(by_key.values(), key=lambda places: (-len(places), places[0]))[:_LANES]
    return {places[0]: _examples(places) for places in busiest}


def _hashable(values: list[Any]) -> list[Any]:
    return [str(v) if isinstance(v, list | dict) else v for v in values]


def _examples(places: Any) -> list[int]:
    """Some of them, evenly chosen."""
    step = max(1, -(-len(places) // _BANDS))
    return list(places[::step])[:_BANDS]


def _name(matches: Matches, place: int) -> str:
    """The values of a lane's keys."""
    table, end = matches.stream.table, int(matches.end[place])
    keys = matches.checked.query.partition
    return ", ".join(as_cell(table.column(k.attribute)[end].as_py(), 28) for k in keys) or "all events"


class _Lane:
    """One partition."""

    def __init__(self, matches: Matches, scale: _Scale, keys: list[str], place: int, chosen: list[int]) -> None:
        self.matches, self.scale, self.chosen = matches, scale, chosen
        self.inside = _positions_of(matches, keys, int(matches.end[place]))
        self.colour = _colours(matches)

    def drawn(self, y: float, name: str) -> tuple[str, float]:
        """The lane from y on downwards, and where it ends."""
        rows = self._rows()
        base = y + (max(rows) + 1) * _BAND + 18
        parts = [label(_MARGIN, base + 4, name), _line(self.scale, base)]
        parts += _dots(self.matches, self.scale, _thinned(self.inside), base, self.colour, faint=True)
        for row, place in zip(rows, self.chosen, strict=True):
            parts.append(self._match(place, y + 8 + row * _BAND, base))
        return element("g", *parts, class_="lane"), base + 20

    def _rows(self) -> list[int]:
        """For each match the lowest row in which nothing is in its way."""
        times, free, rows = self.matches.stream.times, [-1.0] * _BANDS, []
        for place in self.chosen:
            start = self.scale.x(int(times[int(self.matches.start[place])]))
            row = next(k for k, x in enumerate(free) if x < start)
            free[row] = self.scale.x(int(times[int(self.matches.end[place])])) + 12
            rows.append(row)
        return rows

    def _match(self, place: int, y: float, base: float) -> str:
        times = self.matches.stream.times
        start, end = int(self.matches.start[place]), int(self.matches.end[place])
        x1, x2 = self.scale.x(int(times[start])), self.scale.x(int(times[end]))
        marked = sorted({int(k) for m in self.matches.marks.values() for k in m.of(place)})
        band = element("rect", x=x1 - 3, y=y, width=max(x2 - x1, 0.0) + 6, height=8, rx=4, fill="#0072b2", opacity=0.22)
        xs = [self.scale.x(int(times[k])) for k in marked]
        arcs = "".join(
            f"M{a:.1f} {y + 4:.1f}Q{(a + b) / 2:.1f} {y - 9:.1f} {b:.1f} {y + 4:.1f}" for a, b in pairwise(xs)
        )
        parts = [title(_told(self.matches, place)), band]
        if arcs:
            parts.append(element("path", d=arcs, fill="none", stroke="#0072b2", opacity=0.7))
        parts += _dots(self.matches, self.scale, np.array(marked, np.int64), y + 4, self.colour, faint=False)
        parts += _dots(self.matches, self.scale, np.array(marked, np.int64), base, self.colour, faint=False)
        return element("g", *parts, class_="match")


def _told(matches: Matches, place: int) -> str:
    """The row of a match, a column a line."""
    row = rows_of(matches.some(np.array([place])).to_arrow())[0]
    return "\n".join(f"{column}: {as_cell(value, 120)}" for column, value in row.items())


def _positions_of(matches: Matches, keys: list[str], end: int) -> npt.NDArray[np.int64]:
    """The events of the partition that this event is in."""
    if not keys:
        return np.arange(len(matches.stream))
    same = np.ones(len(matches.stream), np.bool_)
    for key in keys:
        column = matches.stream.table.column(key)
        value = column[end].as_py()
        same &= np.array([v == value for v in column.to_pylist()])
    return np.flatnonzero(same)


def _thinned(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return positions[:: max(1, -(-len(positions) // _DOTS))]


def _colours(matches: Matches) -> dict[str, str]:
    """A colour for each type of event, the most frequent ones first; there are more types than colours at times."""
    types = Counter(matches.stream.types.to_pylist())
    return {str(t): COLOURS[min(k, len(COLOURS) - 1)] for k, (t, _) in enumerate(types.most_common())}


def _dots(
    matches: Matches, scale: _Scale, positions: npt.NDArray[np.int64], y: float, colour: dict[str, str], *, faint: bool
) -> list[str]:
    times, types = matches.stream.times, matches.stream.types
    return [
        element(
            "circle",
            cx=scale.x(int(times[k])),
            cy=y,
            r=2.5 if faint else 4.0,
            fill=colour[str(types[k].as_py())],
            **({"opacity": 0.35} if faint else {"class_": "event"}),
        )
        for k in positions.tolist()
    ]


def _line(scale: _Scale, y: float) -> str:
    return element("path", d=f"M{scale.left:g} {y:g}H{_WIDTH - _MARGIN:g}", class_="line", opacity=0.5)


def _only_events(matches: Matches, scale: _Scale, y: float) -> tuple[list[str], float]:
    """The events alone, where nothing matched."""
    base = y + 16
    dots = _dots(matches, scale, _thinned(np.arange(len(matches.stream))), base, _colours(matches), faint=True)
    return [label(_MARGIN, base + 4, "no match"), _line(scale, base), *dots], base + 20


def _density(matches: Matches, scale: _Scale, y: float) -> tuple[list[str], float]:
    """How many matches end when, as bars."""
    ends = matches.stream.times[matches.end].astype(np.float64)
    counts, _ = np.histogram(ends, bins=_BARS, range=(scale.low, max(scale.high, scale.low + 1)))
    most, height = max(int(counts.max()), 1), 60.0
    width = (_WIDTH - _MARGIN - scale.left) / _BARS
    bars = [
        element(
            "rect",
            title(f"{count:,} matches end here"),
            x=scale.left + k * width,
            y=y + height * (1 - count / most),
            width=max(width - 1, 0.5),
            height=height * count / most,
            fill="#0072b2",
            class_="bar",
        )
        for k, count in enumerate(counts.tolist())
        if count
    ]
    said = [label(_MARGIN, y + 10, "ends"), label(_MARGIN, y + 26, f"most {most:,}", class_="faint")]
    return [*said, *bars], y + height + 2


def _axis(matches: Matches, scale: _Scale, y: float) -> list[str]:
    """The first time, the last, and some between them: as the events have them."""
    stream = matches.stream
    places = np.searchsorted(stream.times, np.linspace(scale.low, scale.high, 5)).clip(0, len(stream) - 1)
    parts, free = [_line(scale, y)], -1.0
    for k in dict.fromkeys(places.tolist()):
        x, said = (
            scale.x(int(stream.times[k])),
            as_cell(rows_of(pa.table({"t": stream.time_column.slice(k, 1)}))[0]["t"]),
        )
        said = said.removesuffix(".000000")
        start = min(max(x - width_of(said) / 2, 2.0), _WIDTH - width_of(said) - 2)
        parts.append(element("path", d=f"M{x:.1f} {y:g}v5", class_="line"))
        if start > free:
            parts.append(label(start, y + 20, said, class_="faint"))
            free = start + width_of(said) + 8
    return parts


def _legend(matches: Matches, y: float) -> list[str]:
    """The types of events with their colours, as many as there is room for."""
    x, parts = _MARGIN, []
    for name, colour in _colours(matches).items():
        if x + width_of(name) + 30 > _WIDTH:
            break
        parts += [element("circle", cx=x + 4, cy=y - 4, r=4, fill=colour), label(x + 13, y, name)]
        x += width_of(name) + 34
    return parts
