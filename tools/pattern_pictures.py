"""Pictures of small patterns for the documentation: the matches that each pattern has over the same few events."""

from __future__ import annotations

import ensue
from ensue.results.svg import COLOURS, Picture, element, label, text_of, title, width_of

#: The sizes of a picture: between two events, of a match, and below a pattern.
_STEP, _BAND, _GAP, _MARGIN = 46.0, 13.0, 26.0, 14.0


def picture_of(events: str, *patterns: str) -> Picture:
    """For each pattern a block: its matches as bands, with dots where they mark events, above the events."""
    types = events.split()
    left = _MARGIN + max(map(width_of, patterns)) + 26
    parts, y = [], _MARGIN
    for pattern in patterns:
        drawn, y = _block(types, pattern, left, y)
        parts.append(drawn)
    width = left + _STEP * (len(types) - 1) + _MARGIN + 10
    return Picture(width, y - _GAP + _MARGIN, *parts, name=f"{', '.join(patterns)} over {events}")


def _block(types: list[str], pattern: str, left: float, y: float) -> tuple[str, float]:
    rows = [{"time": k, "type": name} for k, name in enumerate(types)]
    found = ensue.match(rows, f"SELECT * FROM S WHERE {pattern}", time=None)
    marked = [sorted({int(k) for m in found.marks.values() for k in m.of(place)}) for place in range(len(found))]
    parts = []
    for places in sorted(marked):
        middle = y + _BAND / 2
        x, across = left + _STEP * places[0], _STEP * (places[-1] - places[0])
        band = element("rect", x=x - 6, y=middle - 4, width=across + 12, height=8, rx=4, fill=COLOURS[0], opacity=0.22)
        dots = [element("circle", cx=left + _STEP * k, cy=middle, r=4, fill=COLOURS[0]) for k in places]
        parts += [title(", ".join(f"{types[k]} at {k}" for k in places)), band, *dots]
        y += _BAND
    base = y + 14
    parts.append(label(_MARGIN, base, pattern))
    if not marked:
        parts.append(element("text", text_of("no match"), x=left - 6, y=base - 14, class_="faint"))
    parts += [label(left + _STEP * k, base, name, anchor="middle", class_="faint") for k, name in enumerate(types)]
    return element("g", *parts, class_="pattern"), base + _GAP
