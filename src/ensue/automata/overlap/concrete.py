"""Events for a word of letters: numbers and texts that lie in the order that the letters say.

What a letter says of its values are differences between two numbers: one is larger, or the time between two events is
more than half an hour. Numbers for all of them are the longest ways through the graph of these differences, if no way
leads round to a larger number (Bellman and Ford).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ensue.automata.overlap.conditions import NAN, Value, condition_of, in_order
from ensue.automata.overlap.stream import Letter, Streams
from ensue.automata.overlap.values import TIME, Group, Placement
from ensue.language import ast
from ensue.language.parser import parse_expression

#: An event: the values of its attributes, and its type under the name that no attribute has.
Event = dict[str, int | float | str | bool | None]
TYPE = ""
#: Between two constant texts is room for so many others.
_ROOM = 10**6
#: How far apart two numbers are that differ: whole numbers first, then closer ones.
_STEPS = (Fraction(1), Fraction(1, 1024))
_ORIGIN = 0
#: Stands among the unknown numbers for NaN.
_NO_NUMBER = -1


def events_of(streams: Streams, word: Sequence[Letter]) -> list[Event] | None:
    """Events as the letters say; None if none were found."""
    differences = _Differences()
    placed = [_Placed(group, differences) for group in streams.groups]
    rows: list[dict[str, int | None]] = [{} for _ in word]
    for k, letter in enumerate(word):
        for number, p in enumerate(placed):
            rows[k] |= p.add(letter.nexts[number].placement)
        rows[k].setdefault(TIME, differences.new())
        if k:
            differences.at_least(rows[k][TIME], rows[k - 1][TIME], strict=False)
        for p in placed:
            if not p.relate(rows, k, letter.nexts[placed.index(p)].placement):
                return None
    for step in _STEPS:
        numbers = differences.solved(step)
        if numbers is not None:
            return [_event(streams.groups, letter, row, numbers) for letter, row in zip(word, rows, strict=True)]
    return None


@dataclass
class _Differences:
    """Unknown numbers, with how far each must be above another: so many whole units, and perhaps a step more."""

    size: int = 1  # the first is the origin, from which constants are measured
    said: list[tuple[int, int, Fraction, bool]] = field(default_factory=list)

    def new(self) -> int:
        self.size += 1
        return self.size - 1

    def constant(self, value: Fraction) -> int:
        number = self.new()
        self.at_least(number, _ORIGIN, value, strict=False)
        self.at_least(_ORIGIN, number, -value, strict=False)
        return number

    def at_least(self, larger: int | None, smaller: int | None, by: Fraction = Fraction(0), *, strict: bool) -> None:
        assert larger is not None
        assert smaller is not None
        self.said.append((larger, smaller, by, strict))

    def speak_of(self, number: int) -> bool:
        return any(number in (larger, smaller) for larger, smaller, _, _ in self.said)

    def solved(self, step: Fraction) -> list[Fraction] | None:
        """Numbers that are as far apart as was said; None if there are none with this step between different ones."""
        numbers = [Fraction(0)] * self.size
        for _ in range(self.size + 1):
            changed = False
            for larger, smaller, by, strict in self.said:
                least = numbers[smaller] + by + (step if strict else 0)
                if numbers[larger] < least:
                    numbers[larger] = least
                    changed = True
            if not changed:
                return [n - numbers[_ORIGIN] for n in numbers]
        return None


class _Placed:
    """A group's values while its events come: which unknown number lies at which place of the order."""

    def __init__(self, group: Group, differences: _Differences) -> None:
        self.group = group
        self.memory = group.first
        self._differences = differences
        self._at: dict[float, int] = {}
        for rank, constant in enumerate(group.constants):
            self._at[rank] = differences.constant(_as_number(group, constant))

    def add(self, placement: Placement) -> dict[str, int | None]:
        """The unknown numbers of the event's values."""
        at = dict(self._at)
        row: dict[str, int | None] = {}
        for (name, made), place in zip(self.group.names, placement, strict=True):
            if place is None:
                number = None
            elif place == NAN:
                number = _NO_NUMBER
            elif place in at:
                number = at[place]
            else:
                number = self._between(at, place)
                at[place] = number
            if not made:  # where no order is asked for, any value will do
                row[name] = number if number is None or self.group.ordered else self._differences.new()
        memory = self.memory
        kept = in_order(self.group.kept(memory, placement)) | set(memory[1])
        self._at = {rank: at[p] for rank, p in enumerate(sorted(kept))}
        self.memory = self.group.after(memory, placement)
        return row

    def _between(self, at: Mapping[float, int], place: float) -> int:
        number = self._differences.new()
        known = sorted(at)
        where = bisect.bisect_left(known, place)
        if where > 0:
            self._differences.at_least(number, at[known[where - 1]], strict=True)
        if where < len(known):
            self._differences.at_least(at[known[where]], number, strict=True)
        return number

    def relate(self, rows: list[dict[str, int | None]], k: int, placement: Placement) -> bool:
        """Says of the parts of a computed value what its place among the constants says; False if it cannot."""
        for (name, made), place in zip(self.group.names, placement, strict=True):
            if made and place is not None and not self._made_of(name, place, rows, k):
                return False
        return True

    def _made_of(self, text: str, place: float, rows: list[dict[str, int | None]], k: int) -> bool:
        sides = _difference(text)
        if sides is None or len(self.group.names) > 1:
            return False
        for v in sides:
            if v.back > k:
                return False  # nothing is there, so the difference is missing
        left, right = (self._number(rows[k - v.back], v.name) for v in sides)
        if place == NAN and _NO_NUMBER not in (left, right):
            left = self._unset(rows[k - sides[0].back], sides[0].name)
        if left is None or right is None or (place == NAN) != (_NO_NUMBER in (left, right)):
            return False
        if place == NAN:
            return True
        for rank, constant in enumerate(self.group.constants):
            value = _as_number(self.group, constant)
            if place >= rank:
                self._differences.at_least(left, right, value, strict=place > rank)
            if place <= rank:
                self._differences.at_least(right, left, -value, strict=place < rank)
        return True

    def _unset(self, row: dict[str, int | None], name: str) -> int | None:
        """Makes a value NaN of which nothing was said so far."""
        number = row[name]
        if number is not None and not self._differences.speak_of(number):
            row[name] = _NO_NUMBER
        return row[name]

    def _number(self, row: dict[str, int | None], name: str) -> int | None:
        if name not in row:
            row[name] = self._differences.new()
        return row[name]


def _difference(text: str) -> tuple[Value, Value] | None:
    """The two values of which a text is the difference; None if it is something else."""
    e = parse_expression(text)
    if not (isinstance(e, ast.Binary) and e.operator == "-"):
        return None
    sides = [condition_of(ast.Binary("=", side, ast.Literal(0, ast.LiteralType.INTEGER))) for side in (e.left, e.right)]
    left, right = (getattr(s, "left", None) for s in sides)
    if isinstance(left, Value) and isinstance(right, Value) and not (left.made or right.made):
        return left, right
    return None


def _as_number(group: Group, constant: int | float | str) -> Fraction:
    """The number that stands for a constant: texts are numbered in their order, with room between them."""
    if isinstance(constant, str):
        return Fraction(_ROOM * group.constants.index(constant))
    return Fraction(constant)


def _event(
    groups: Iterable[Group], letter: Letter, row: Mapping[str, int | None], numbers: Sequence[Fraction]
) -> Event:
    event: Event = {TYPE: letter.type}
    of = {name: group for group in groups for name, made in group.names if not made}
    for name, number in row.items():
        if number is None or number == _NO_NUMBER:
            event[name] = None if number is None else math.nan
        else:
            event[name] = _shown(of.get(name), numbers[number])
    return event


def _shown(group: Group | None, value: Fraction) -> int | float | str | bool:
    if group is not None and group.only_constants:
        return bool(value)
    if group is not None and any(isinstance(c, str) for c in group.constants):
        return _text(group, value)
    return int(value) if value.denominator == 1 else float(value)


def _text(group: Group, value: Fraction) -> str:
    """A text where the number lies among the constants: a constant, or one that begins with the constant before it."""
    place, rest = divmod(int(value), _ROOM)
    if place < 0:
        return f" {rest:06d}"
    base = str(group.constants[min(place, len(group.constants) - 1)])
    return f"{base}{rest:06d}" if rest else base
