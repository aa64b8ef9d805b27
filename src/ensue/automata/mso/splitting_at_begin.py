"""Splits the automaton of a formula at the first event of a window (Praveen and Hitarth, lemma 3.3, put right).

What stands before is read by a machine beside the query, and its state is a condition on the first event: so each
state with what may start there is a pair of the lemma. The printed construction reads the first event twice, and loses
windows of one event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ensue.automata.model import UNMARKED, Automaton, Builder
from ensue.automata.mso import Compiled
from ensue.automata.predicates import ALWAYS, Guard, Machine, conjunction

#: An event of such a class leads to such a state of the automaton, or ends the window (None).
Move = tuple[Guard, int | None]


@dataclass(frozen=True)
class Split:
    """The two sides of an automaton over the tracks of a begin and an end. All numbers are of its states."""

    before: dict[int, tuple[tuple[Guard, int], ...]]  # of each state that events before a window lead to; 0 is first
    starts: dict[int, tuple[Move, ...]]  # of each of these: what the first event of a window does
    inside: dict[int, tuple[Move, ...]]  # of each state in a window from which it can end


def split(c: Compiled) -> Split:
    """The automaton of the formula before a window, at its first event, and after it."""
    reader = _Reader(c, _alive(c))
    before: dict[int, tuple[tuple[Guard, int], ...]] = {}
    waiting = [0]
    while waiting:
        state = waiting.pop()
        if state not in before:
            before[state] = tuple(reader.moves(state, begin=False, end=False, also_dead=True))
            waiting += [target for _, target in before[state]]
    starts = {state: tuple(reader.steps(state, begin=True)) for state in before}
    inside: dict[int, tuple[Move, ...]] = {}
    waiting = [target for moves in starts.values() for _, target in moves if target is not None]
    while waiting:
        state = waiting.pop()
        if state not in inside:
            inside[state] = tuple(reader.steps(state, begin=False))
            waiting += [target for _, target in inside[state] if target is not None]
    return Split(dict(sorted(before.items())), starts, inside)


def construct(parts: Split, name: str) -> Automaton:
    """The runs over the windows; the machine that reads what stands before them has this name."""
    number = {state: k for k, state in enumerate(parts.before)}
    names = tuple("may start" if parts.starts[state] else "may not start" for state in number)
    steps = tuple(tuple((guard, number[target]) for guard, target in moves) for moves in parts.before.values())
    machine = Machine(name, names, steps)
    made = Builder("start")

    def add(source: object, moves: tuple[Move, ...], when: Guard = ALWAYS) -> None:
        for guard, target in moves:
            ends = target is None
            made.add(source, conjunction(guard, when), UNMARKED, "end" if ends else target, final=ends)

    for state, moves in parts.starts.items():
        add("start", moves, machine.is_in(number[state]) if len(number) > 1 else ALWAYS)
    for state, moves in parts.inside.items():
        add(state, moves)
    return made.build()


@dataclass(frozen=True)
class _Reader:
    """Reads the diagrams of an automaton as guards."""

    c: Compiled
    alive: frozenset[int]

    def steps(self, state: int, *, begin: bool) -> Iterator[Move]:
        """What an event does in a window, or as its first one: it goes on, and it may end there."""
        yield from self.moves(state, begin=begin, end=False)
        for guard, target in self.moves(state, begin=begin, end=True):
            if target in self.c.automaton.finals:
                yield guard, None

    def moves(self, state: int, *, begin: bool, end: bool, also_dead: bool = False) -> Iterator[tuple[Guard, int]]:
        answers = {self.c.begin: begin, self.c.end: end}
        of_event = self.c.diagrams.answered(self.c.automaton.steps[state], answers, {})
        for path, target in self.c.diagrams.paths(of_event):
            guard = conjunction(frozenset((self.c.predicates[level], yes) for level, yes in path.items()))
            if guard is not None and (also_dead or target in self.alive):
                yield guard, target


def _alive(c: Compiled) -> frozenset[int]:
    """The states from which some letters lead to a final state."""
    into: dict[int, set[int]] = {}
    for state, d in enumerate(c.automaton.steps):
        for target in c.diagrams.values(d):
            into.setdefault(target, set()).add(state)
    alive, waiting = set(c.automaton.finals), list(c.automaton.finals)
    while waiting:
        new = into.get(waiting.pop(), set()) - alive
        alive |= new
        waiting += new
    return frozenset(alive)
