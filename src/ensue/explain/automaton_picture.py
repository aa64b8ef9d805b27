"""An automaton as a picture: states from left to right, transitions with their guards, marks, clocks and registers."""

from __future__ import annotations

from collections import defaultdict

from ensue.automata.automaton_printer import done
from ensue.automata.model import Automaton
from ensue.results.svg import COLOURS, Picture, element, label, text_of, title, width_of

_RADIUS = 17.0
#: Between the lines of a label, between states above each other, and around the picture.
_LINE, _ROW, _MARGIN = 15.0, 116.0, 24.0
#: Of a label, so many letters of a line and so many lines are shown; the rest is told where the pointer rests.
_LETTERS, _LINES = 44, 6
#: A picture of more states cannot be read.
MOST_STATES = 60

Edge = tuple[int, int]


def automaton_picture(automaton: Automaton, name: str) -> Picture:
    """The picture of an automaton. The initial state has an arrow, the final ones a second ring."""
    if automaton.size > MOST_STATES or not automaton.transitions:
        said = f"{automaton.size:,} states are too many for a picture" if automaton.transitions else "no run ends"
        return Picture(width_of(said) + 2 * _MARGIN, 3 * _LINE, label(_MARGIN, 2 * _LINE, said), name=name)
    return _Drawing(automaton).picture(name)


class _Drawing:
    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.labels = _labels(automaton)
        self.column = _columns(automaton)
        self.rows = _rows(automaton, self.column)
        self.place = self._places()
        self.left = self.right = self.bottom = 0.0  # how far labels go
        self.taken: list[tuple[float, float, float, float]] = []  # where labels are: left, top, right, bottom

    def picture(self, name: str) -> Picture:
        edges = sorted(self.labels, key=lambda e: (e[0] != e[1], e))  # loops first: their labels stay where they are
        drawn = [self._edge(edge) for edge in edges]
        tops = [top for _, top, _ in drawn]
        bottoms = [bottom for _, _, bottom in drawn]
        shift = _MARGIN - min([*tops, -_RADIUS])
        aside = max(_MARGIN - self.left, 0.0)
        height = max([self.bottom, *bottoms, *(y + _RADIUS for _, y in self.place.values())]) + shift + _MARGIN
        width = max([*(x + _RADIUS for x, _ in self.place.values()), self.right]) + _MARGIN + aside
        parts = [arrow for arrow, _, _ in drawn] + [self._state(s) for s in range(self.automaton.size)]
        moved = element("g", *parts, transform=f"translate({aside:g} {shift:g})")
        return Picture(width, height, _ARROW, moved, name=name)

    def _places(self) -> dict[int, tuple[float, float]]:
        """Columns as far apart as the labels between them ask for."""
        places: dict[int, tuple[float, float]] = {}
        x = _MARGIN + 30 + _RADIUS
        for column in sorted(self.rows):
            for k, state in enumerate(self.rows[column]):
                places[state] = (x, k * _ROW)
            near = [e for e in self.labels if self.column[e[0]] == column]
            x += 2 * _RADIUS + 36 + max((_width(self.labels[e]) for e in near), default=0.0)
        return places

    def _state(self, state: int) -> str:
        x, y = self.place[state]
        final = state in self.automaton.finals
        rings = [element("circle", cx=x, cy=y, r=_RADIUS, fill="#fff", stroke="#1a1a1a", stroke_width=1.5)]
        if final:
            rings.append(element("circle", cx=x, cy=y, r=_RADIUS - 4, fill="none", stroke="#1a1a1a"))
        if state == 0:
            rings.append(element("path", d=f"M{x - _RADIUS - 26:g} {y:g}h24", class_="line", marker_end="url(#to)"))
        told = f"state {state}{', initial' if state == 0 else ''}{', final' if final else ''}"
        return element("g", title(told), *rings, label(x, y + 4, state, anchor="middle"), class_="state")

    def _edge(self, edge: Edge) -> tuple[str, float, float]:
        """An arrow with its label, and how far up and down it goes."""
        source, target = edge
        (x1, y1), (x2, y2) = self.place[source], self.place[target]
        lines = self.labels[edge]
        room = len(_shown(lines)) * _LINE
        if source == target:
            path = f"M{x1 - 9:g} {y1 - 14:g}C{x1 - 26:g} {y1 - 50:g} {x1 + 26:g} {y1 - 50:g} {x1 + 9:g} {y1 - 14:g}"
            return self._arrow(edge, path, x1, y1 - 44 - room), y1 - 48 - room, y1
        far = self.column[target] - self.column[source]
        level = abs(y1 - y2) < 1
        if far == 1 and level:
            path = f"M{x1 + _RADIUS:g} {y1:g}L{x2 - _RADIUS - 2:g} {y2:g}"
            return self._arrow(edge, path, (x1 + x2) / 2, y1 + 4), y1, y1 + 8 + room
        if far == 0:
            side = 1 if y2 > y1 else -1  # down on the right, up on the left
            x = x1 + side * 15
            path = f"M{x:g} {y1 + side * 9:g}Q{x + side * 34:g} {(y1 + y2) / 2:g} {x:g} {y2 - side * 10:g}"
            middle = (y1 + y2) / 2 - room / 2
            return self._arrow(edge, path, x + side * 22, middle, side=side), min(y1, y2), max(y1, y2)
        if far > 0 and not level:
            down = 8 if y2 > y1 else -8
            path = f"M{x1 + 15:g} {y1 + down:g}L{x2 - 16:g} {y2 - down:g}"
            x, y = x1 + (x2 - x1) * 0.36, y1 + (y2 - y1) * 0.36
            return self._arrow(edge, path, x, y - room / 2), min(y1, y2) - room, max(y1, y2) + room
        if far > 0:
            bend = y1 - (46 + 14 * far)
            path = f"M{x1 + 12:g} {y1 - 12:g}Q{(x1 + x2) / 2:g} {2 * bend - y1:g} {x2 - 12:g} {y2 - 13:g}"
            return self._arrow(edge, path, (x1 + x2) / 2, bend - room), bend - room - 4, bend + 8
        below = max(y1, y2) + 44 - 14 * far
        path = f"M{x1 - 10:g} {y1 + 14:g}Q{(x1 + x2) / 2:g} {2 * below - (y1 + y2) / 2:g} {x2 + 10:g} {y2 + 15:g}"
        return self._arrow(edge, path, (x1 + x2) / 2, below), below, below + 12 + room

    def _arrow(self, edge: Edge, path: str, x: float, y: float, *, side: int = 0) -> str:
        """The line, and from (x, y) on downwards its label, in the colour of its target; centred, or on a `side`."""
        lines = self.labels[edge]
        wide = _width(lines)
        begin = x - (wide / 2 if side == 0 else wide if side < 0 else 0)
        y = self._free(begin, y, wide, len(_shown(lines)) * _LINE)
        texts = [element("tspan", text_of(line), x=x, y=y + (k + 1) * _LINE) for k, line in enumerate(_shown(lines))]
        told = title(f"{edge[0]} to {edge[1]}: " + "; ".join(lines))
        line = element("path", d=path, class_="line", marker_end="url(#to)", stroke_width=1.5)
        style = f"fill:{COLOURS[edge[1] % len(COLOURS)]};paint-order:stroke;stroke:#fff;stroke-width:4px"
        anchor = {0: "middle", 1: "start", -1: "end"}[side]
        return element("g", told, line, element("text", *texts, text_anchor=anchor, style=style), class_="transition")

    def _free(self, x: float, y: float, wide: float, high: float) -> float:
        """The first place from here downwards that no other label has."""
        inside = [box for box in self.taken if box[0] < x + wide and x < box[2]]
        while any(top < y + high and y < bottom for _, top, _, bottom in inside):
            y += 2
        self.taken.append((x, y, x + wide, y + high))
        self.left, self.right = min(self.left, x), max(self.right, x + wide)
        self.bottom = max(self.bottom, y + high)
        return y


_ARROW = element(
    "defs",
    element(
        "marker",
        element("path", d="M0 0L8 4L0 8z", fill="#5f6368"),
        id="to",
        markerWidth=8,
        markerHeight=8,
        refX=7,
        refY=4,
        orient="auto-start-reverse",
        markerUnits="userSpaceOnUse",
    ),
)


def _labels(automaton: Automaton) -> dict[Edge, list[str]]:
    """All that leads from one state to another, a line for each transition."""
    found: dict[Edge, list[str]] = defaultdict(list)
    for t in automaton.transitions:
        when, effects = done(t.guard, t.marks, t.actions)
        text = f"{when} / {effects}" if effects else "any event" if when == "true" else when
        if text not in found[t.source, t.target]:
            found[t.source, t.target].append(text)
    return {edge: sorted(lines) for edge, lines in found.items()}


def _columns(automaton: Automaton) -> dict[int, int]:
    """How many transitions it takes at least to come to each state."""
    column, waiting = {0: 0}, [0]
    for state in waiting:
        for t in automaton.outgoing.get(state, ()):
            if t.target not in column:
                column[t.target] = column[state] + 1
                waiting.append(t.target)
    return column


def _rows(automaton: Automaton, column: dict[int, int]) -> dict[int, list[int]]:
    """The states of each column from top to bottom, each near those that lead to it."""
    rows: dict[int, list[int]] = defaultdict(list)
    height: dict[int, float] = {}
    for state in sorted(column, key=lambda s: (column[s], s)):
        rows[column[state]].append(state)
    for c in sorted(rows):
        before = {
            s: [height[t.source] for t in automaton.transitions if t.target == s and t.source in height]
            for s in rows[c]
        }
        rows[c].sort(key=lambda s: (sum(before[s]) / len(before[s]) if before[s] else 0.0, s))
        height.update({s: float(k) for k, s in enumerate(rows[c])})
    return rows


def _shown(lines: list[str]) -> list[str]:
    cut = [line if len(line) <= _LETTERS else line[: _LETTERS - 3] + "..." for line in lines[:_LINES]]
    return [*cut, f"and {len(lines) - _LINES} more"] if len(lines) > _LINES else cut


def _width(lines: list[str]) -> float:
    return max(map(width_of, _shown(lines)))
