"""Deterministic automata over letters with tracks: an event, and for each variable whether it marks the event."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ensue.automata.mso.diagrams import Diagram, Diagrams

#: The most states of an automaton before equal ones are merged.
MOST_STATES = 2_000


class TooManyStates(Exception):
    """Raised if an automaton over tracks becomes too large."""


@dataclass(frozen=True)
class Tracked:
    """A complete automaton with the initial state 0; `steps` gives of each state the next one, as a diagram."""

    finals: frozenset[int]
    steps: tuple[Diagram, ...]

    @property
    def size(self) -> int:
        return len(self.steps)


class Numbering:
    """Numbers keys in the order in which they come."""

    def __init__(self) -> None:
        self.keys: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable) -> int:
        if key not in self._numbers:
            if len(self.keys) >= MOST_STATES:
                raise TooManyStates
            self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return self._numbers[key]


def explored(
    diagrams: Diagrams,
    first: Hashable,
    step: Callable[[Hashable, Numbering], Diagram],
    is_final: Callable[[Hashable], bool],
) -> Tracked:
    """The smallest automaton that behaves as this one; a state is any key, and `step` numbers the keys that follow."""
    states = Numbering()
    states.number(first)
    steps: list[Diagram] = []
    while len(steps) < len(states.keys):
        steps.append(step(states.keys[len(steps)], states))
    return minimised(diagrams, steps, [is_final(key) for key in states.keys])


def minimised(diagrams: Diagrams, steps: list[Diagram], final: list[bool]) -> Tracked:
    """One state for all that cannot be told apart (Moore's algorithm); all states can be reached from the first."""
    block = [int(f) for f in final]
    while True:
        kept: dict[Diagram, Diagram] = {}
        refined: dict[tuple[int, Diagram], int] = {}
        after = [
            refined.setdefault((b, diagrams.mapped(d, block.__getitem__, kept)), len(refined))
            for b, d in zip(block, steps, strict=True)
        ]
        if len(refined) == len(set(block)):
            break
        block = after
    # The blocks are numbered in the order of their first states, so that of state 0 is 0.
    first_of = {b: state for state, b in reversed(list(enumerate(after)))}
    kept = {}
    made = [diagrams.mapped(steps[first_of[b]], after.__getitem__, kept) for b in range(len(refined))]
    return Tracked(frozenset(b for b in range(len(refined)) if final[first_of[b]]), tuple(made))
