"""The one automaton model: complex event automata with symbolic guards, marks, clocks and registers.

A run from position `i` to `j` takes one transition an event. It gives the complex event `(i, j, mu)` where `mu(x)`
is the set of positions whose transition marks `x` (Garcia and Riveros, section 4; Grez, chapter 6). Clock
conditions and resets are those of timed CEA (section 4 there), register writes those of register match automata
(Alevizos et al., definition 5); a construction that needs none leaves them empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from ensue.automata.predicates import Guard
from ensue.language.ast import Interval

Marks = frozenset[str]
NO_MARKS: Marks = frozenset()


@dataclass(frozen=True)
class ClockCondition:
    """Holds if the time since the clock's last reset lies in the interval."""

    clock: int
    interval: Interval


@dataclass(frozen=True)
class Transition:
    """From `source` to `target` on an event that satisfies the guard, marking it with the variables."""

    source: int
    guard: Guard
    marks: Marks
    target: int
    conditions: frozenset[ClockCondition] = frozenset()
    resets: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Automaton:
    """States are 0 .. size - 1 and 0 is initial; nothing leads back to it, so a run starts exactly once."""

    size: int
    finals: frozenset[int]
    transitions: tuple[Transition, ...] = field(repr=False)

    @cached_property
    def outgoing(self) -> dict[int, list[Transition]]:
        out: dict[int, list[Transition]] = defaultdict(list)
        for t in self.transitions:
            out[t.source].append(t)
        return out

    def shifted(self, offset: int) -> Automaton:
        """The same automaton with its states renumbered from `offset` on; its initial state is `offset`."""
        moved = tuple(replace(t, source=t.source + offset, target=t.target + offset) for t in self.transitions)
        return Automaton(self.size + offset, frozenset(f + offset for f in self.finals), moved)


#: A hostile query is refused before it eats the memory; real ones stay a hundred times below.
MAX_TRANSITIONS = 50_000


class TooLarge(Exception):
    """An automaton would have more transitions than it is allowed."""

    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__(most)


class Builder:
    """Collects transitions and finals over states that can be any hashable thing; `build` numbers and trims them."""

    def __init__(self, initial: object, most: int = MAX_TRANSITIONS) -> None:
        self._initial = initial
        self._most = most
        self._finals: set[object] = set()
        self._transitions: dict[tuple[object, Guard, Marks, object], None] = {}

    def add(self, source: object, guard: Guard | None, marks: Marks, target: object, *, final: bool = False) -> None:
        """Adds a transition; one whose guard cannot hold (None) is left out."""
        if guard is None:
            return
        self._transitions[(source, guard, marks, target)] = None
        if len(self._transitions) > self._most:
            raise TooLarge(self._most)
        if final:
            self._finals.add(target)

    def build(self) -> Automaton:
        """The automaton without states that no run reaches or from which none ends."""
        forward: dict[object, list[object]] = defaultdict(list)
        backward: dict[object, list[object]] = defaultdict(list)
        for source, _, _, target in self._transitions:
            forward[source].append(target)
            backward[target].append(source)
        useful = _reachable([self._initial], forward) & _reachable(self._finals, backward)
        numbers: dict[object, int] = {self._initial: 0}
        transitions = []
        for source, guard, marks, target in self._transitions:
            if source in useful and target in useful:
                transitions.append((source, guard, marks, target))
                numbers.setdefault(source, len(numbers))
                numbers.setdefault(target, len(numbers))
        return Automaton(
            len(numbers),
            frozenset(numbers[f] for f in self._finals if f in numbers),
            tuple(Transition(numbers[s], g, m, numbers[t]) for s, g, m, t in transitions),
        )


def _reachable(start: Iterable[object], edges: dict[object, list[object]]) -> set[object]:
    seen = set(start)
    stack = list(seen)
    while stack:
        for neighbour in edges.get(stack.pop(), ()):
            if neighbour not in seen:
                seen.add(neighbour)
                stack.append(neighbour)
    return seen
