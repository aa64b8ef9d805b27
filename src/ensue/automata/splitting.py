"""Splits events by many guards at once; a guard is a bit mask with one bit for each predicate.

>>> from ensue.automata.predicates import TypeIs, print_guard
>>> a, b = (frozenset({(TypeIs(name), True)}) for name in "AB")
>>> splitter = Splitter([a, b])
>>> both = splitter.bit(a) | splitter.bit(b)
>>> [(print_guard(splitter.guard(cell)), held) for cell, held in splitter.split(ALL_EVENTS, both)]
[('A', 1), ('B', 2), ('not(A) & not(B)', 0)]
"""

from __future__ import annotations

from collections.abc import Iterable

from ensue.automata.predicates import Guard, TypeIs, predicates_of

#: A conjunction as two bit masks: the predicates that it decides, and those of them that hold.
Cell = tuple[int, int]
ALL_EVENTS: Cell = (0, 0)


class Splitter:
    """The numbered guards of an automaton; a set of guards is a bit mask too, with one bit for each guard."""

    def __init__(self, guards: Iterable[Guard]) -> None:
        self._guards = list(dict.fromkeys(guards))
        self._predicates = predicates_of(self._guards)
        place = {p: 1 << k for k, p in enumerate(self._predicates)}
        self._types = sum(place[p] for p in self._predicates if isinstance(p, TypeIs))
        self._bit = {g: 1 << n for n, g in enumerate(self._guards)}
        self._masks = [sum(place[p] for p, _ in g) for g in self._guards]
        holding = [sum(place[p] for p, positive in g if positive) for g in self._guards]
        self._cells = [self._closed(m, v) for m, v in zip(self._masks, holding, strict=True)]
        self._guard_of: dict[Cell, Guard] = {}
        self._known: dict[tuple[Cell, int], tuple[tuple[Cell, int], ...]] = {}

    def _closed(self, mask: int, value: int) -> Cell:
        """The cell with all types decided if one type holds, because event types exclude each other."""
        return (mask | self._types if value & self._types else mask), value

    def bit(self, guard: Guard) -> int:
        return self._bit[guard]

    def cell(self, guard: Guard) -> Cell:
        return self._cells[self._bit[guard].bit_length() - 1]

    def meets(self, a: Guard, b: Guard) -> bool:
        """Whether an event can satisfy both."""
        return _meet(self.cell(a), self.cell(b))

    def guard(self, cell: Cell) -> Guard:
        if cell not in self._guard_of:
            mask, value = cell
            if value & self._types:
                mask &= ~self._types | value
            decided = [(p, 1 << k) for k, p in enumerate(self._predicates) if mask >> k & 1]
            self._guard_of[cell] = frozenset((p, bool(value & bit)) for p, bit in decided)
        return self._guard_of[cell]

    def split(self, cell: Cell, guards: int) -> tuple[tuple[Cell, int], ...]:
        """Splits the cell into disjoint parts, each with those of `guards` that hold in it; the others do not hold."""
        key = (cell, guards)
        if key not in self._known:
            self._known[key] = self._split(cell, guards)
        return self._known[key]

    def _split(self, cell: Cell, guards: int) -> tuple[tuple[Cell, int], ...]:
        met, undecided = 0, 0
        for n, other in enumerate(self._cells):
            if guards >> n & 1 and _meet(cell, other):
                met |= 1 << n
                undecided |= self._masks[n] & ~cell[0]
        if not undecided:
            return ((cell, met),)
        first = undecided & -undecided
        holds = self._closed(cell[0] | first, cell[1] | first)
        return self.split(holds, met) + self.split((cell[0] | first, cell[1]), met)


def _meet(a: Cell, b: Cell) -> bool:
    return (a[1] ^ b[1]) & a[0] & b[0] == 0
