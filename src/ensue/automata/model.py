"""The one automaton model: complex event automata with symbolic guards, marks, and registers.

A run from position `i` to `j` takes one transition per event. It gives the complex event `(i, j, mu)` where `mu(x)`
is the set of positions whose transition marks `x` (Garcia and Riveros, section 4; Grez, chapter 6). Registers are those
of register match automata (Alevizos et al., definition 5). A clock of a timed automaton is a register that holds the
time of its last reset. An automaton that needs no registers has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from ensue.automata.predicates import Guard
from ensue.automata.registers import NO_ACTIONS, Action, Actions
from ensue.logic.stored_values import Register

Marks = frozenset[str]
NO_MARKS: Marks = frozenset()


class Label(NamedTuple):
    """What a transition does with its event: the variables that mark it, and the actions on registers."""

    marks: Marks = NO_MARKS
    actions: Actions = NO_ACTIONS

    def joined(self, other: Label) -> Label:
        """The label that does what both labels do, at the same event."""
        return Label(self.marks | other.marks, self.actions | other.actions)


UNMARKED = Label()


@dataclass(frozen=True)
class Transition:
    """From `source` to `target` on an event that satisfies the guard, if the checks among its actions hold."""

    source: int
    guard: Guard
    label: Label
    target: int

    @property
    def marks(self) -> Marks:
        return self.label.marks

    @property
    def actions(self) -> Actions:
        return self.label.actions

    def marked(self, marks: Marks) -> Transition:
        """The same transition with other marks."""
        return replace(self, label=Label(marks, self.actions))

    def also(self, *actions: Action) -> Label:
        """The label with more actions."""
        return Label(self.marks, self.actions.union(actions)) if actions else self.label


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

    @cached_property
    def registers(self) -> frozenset[Register]:
        """The registers that the transitions write or check."""
        return frozenset(r for t in self.transitions for a in t.actions for r in a.registers)

    def renamed(self, names: Mapping[Register, Register]) -> Automaton:
        """The same automaton with some registers renamed."""
        if not names:
            return self
        return self.relabelled(lambda t: (a.renamed(names) for a in t.actions))

    def relabelled(self, actions: Callable[[Transition], Iterable[Action]]) -> Automaton:
        """The same automaton with other actions on its transitions."""
        made = (replace(t, label=Label(t.marks, frozenset(actions(t)))) for t in self.transitions)
        return Automaton(self.size, self.finals, tuple(dict.fromkeys(made)))


#: Limits the memory that a hostile query can use; real queries stay a hundred times below.
MAX_TRANSITIONS = 50_000


class TooLarge(Exception):
    """Raised if an automaton would have more transitions than allowed."""

    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__(most)


class Builder:
    """Collects transitions and final states; states are any hashable objects, which `build` numbers and trims."""

    def __init__(self, initial: object, most: int = MAX_TRANSITIONS) -> None:
        self._initial = initial
        self._most = most
        self._finals: set[object] = set()
        self._transitions: dict[tuple[object, Guard, Label, object], None] = {}

    def add(self, source: object, guard: Guard | None, label: Label, target: object, *, final: bool = False) -> None:
        """Adds a transition, unless its guard cannot hold (None)."""
        if guard is None:
            return
        self._transitions[(source, guard, label, target)] = None
        if len(self._transitions) > self._most:
            raise TooLarge(self._most)
        if final:
            self._finals.add(target)

    def build(self) -> Automaton:
        """Returns the automaton, without states that no run reaches or from which no run can end."""
        forward: dict[object, list[object]] = defaultdict(list)
        backward: dict[object, list[object]] = defaultdict(list)
        for source, _, _, target in self._transitions:
            forward[source].append(target)
            backward[target].append(source)
        useful = _reachable([self._initial], forward) & _reachable(self._finals, backward)
        numbers: dict[object, int] = {self._initial: 0}
        transitions = []
        for source, guard, label, target in self._transitions:
            if source in useful and target in useful:
                transitions.append((source, guard, label, target))
                numbers.setdefault(source, len(numbers))
                numbers.setdefault(target, len(numbers))
        return Automaton(
            len(numbers),
            frozenset(numbers[f] for f in self._finals if f in numbers),
            tuple(Transition(numbers[s], g, label, numbers[t]) for s, g, label, t in transitions),
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
