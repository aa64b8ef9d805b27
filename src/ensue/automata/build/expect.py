"""`EXPECT (p)`: which events break what the user says of a stream.

A stream is as expected while it can still go on to one that `p` spans. As behind AFTER, a deterministic machine reads
it from its first event on. An event after which no run of `p` could end any more is unexpected; the machine passes over
it, so that what follows is judged as if it had not come.
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.automata.build.after import determinised
from ensue.automata.build.limits import MAX_PREDICATES, Unsupported
from ensue.automata.model import Automaton, Label, Transition
from ensue.automata.predicates import ALWAYS, Guard, Machine, cells, conjunction, predicates_of
from ensue.automata.satisfiable import can_hold
from ensue.language import ast

#: What the events are marked with that break it; no variable has this name.
UNEXPECTED = "\0unexpected"
_NO_CHECKS: frozenset[tuple[object, bool]] = frozenset()


@dataclass(frozen=True)
class Expectation:
    """A machine that reads a stream, and the guards of which one holds for each event that is unexpected."""

    machine: Machine
    unexpected: tuple[Guard, ...]

    @property
    def never(self) -> bool:
        """Whether no stream is as expected: the language is empty."""
        return self.unexpected == (ALWAYS,)

    def automaton(self) -> Automaton:
        """The automaton whose matches are the events that are unexpected, each a match of its own."""
        label = Label(frozenset({UNEXPECTED}))
        return Automaton(2, frozenset({1}), tuple(Transition(0, guard, label, 1) for guard in self.unexpected))


def construct(p: Automaton, part: ast.Node, name: str) -> Expectation:
    """What is unexpected where `p` says how a whole stream can be."""
    predicates = predicates_of(t.guard for t in p.transitions)
    if len(predicates) > MAX_PREDICATES:
        raise Unsupported(part, f"more than {MAX_PREDICATES} different conditions behind EXPECT")
    alphabet = [c for c in cells(predicates) if can_hold(c, frozenset())]
    table, over = determinised(part, p, alphabet, begins=False, behind="EXPECT")
    alive = _that_can_end(table, over)
    if 0 not in alive:
        return Expectation(Machine(f"expected: {name}", ("",), (((ALWAYS, 0),),)), (ALWAYS,))
    number = {state: k for k, state in enumerate(sorted(alive))}
    steps = tuple(
        tuple((cell, number.get(t, number[s])) for cell, t in zip(alphabet, table[s], strict=True)) for s in number
    )
    machine = Machine(f"expected: {name}", tuple(f"after {s}" for s in number), steps)
    broken = [
        conjunction(machine.is_in(k), cell)
        for s, k in number.items()
        for cell, t in zip(alphabet, table[s], strict=True)
        if t not in alive
    ]
    return Expectation(machine, tuple(guard for guard in broken if guard is not None))


def _that_can_end(table: list[list[int]], over: list[bool]) -> set[int]:
    """The states from which some run can still end."""
    alive = {s for s, done in enumerate(over) if done}
    while True:
        more = {s for s, row in enumerate(table) if s not in alive and not alive.isdisjoint(row)}
        if not more:
            return alive
        alive |= more
