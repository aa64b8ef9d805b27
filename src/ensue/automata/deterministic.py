"""The deterministic register automaton of a windowed pattern: over every event one transition is taken.

It is that of Alevizos et al., definition 10, with two changes that the union of matches asks for. Its registers move: a
register `$1.3` holds value 1 of the event three before the next one, so that a new run does not overwrite what an older
one has stored. And a final state says which of the last events took part in a match that ends there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ensue.automata.model import Marks
from ensue.automata.predicates import Guard
from ensue.automata.registers import Condition, Register, Store
from ensue.language import ast

#: What some checks of registers must come to; FALSE is also where a NULL leaves it open.
Outcomes = frozenset[tuple[Condition, bool]]


@dataclass(frozen=True)
class Copy:
    """Stores what another register holds."""

    register: Register
    source: Register

    def __str__(self) -> str:
        return f"{self.register} := {self.source}"


Write = Store | Copy


@dataclass(frozen=True)
class Step:
    """From `source` to `target` where the guard holds and the checks come out so.

    All that is stored is read before anything is written. `marks` are those of the runs that go on or end here.
    """

    source: int
    guard: Guard
    outcomes: Outcomes
    marks: Marks
    writes: tuple[Write, ...]
    target: int


@dataclass(frozen=True)
class DeterministicAutomaton:
    """States are 0 .. size - 1, and 0 is initial. The steps of a state exclude each other, and one of them is taken.

    `ends` has the final states: with how many events before the last one those lie that took part.
    """

    size: int
    ends: Mapping[int, tuple[int, ...]]
    steps: tuple[Step, ...] = field(repr=False)

    @cached_property
    def outgoing(self) -> dict[int, list[Step]]:
        out: dict[int, list[Step]] = defaultdict(list)
        for step in self.steps:
            out[step.source].append(step)
        return out

    @property
    def registers(self) -> list[Register]:
        """The registers that it writes, in order."""
        return sorted({w.register for s in self.steps for w in s.writes}, key=lambda r: (len(r), r))


def register(value: int, age: int) -> Register:
    """The register of a value of the event so many before the next one: 1 is the last event."""
    return f"${value}.{age}"


def age(of: Register) -> int:
    """How many events before the next one that is of which the register holds a value."""
    return int(of.partition(".")[2])


def values_of(stores: Iterable[Store]) -> list[ast.Expression | None]:
    """What is stored, each once, in a fixed order; None is the time."""
    return list(dict.fromkeys(s.value for s in sorted(stores, key=str)))
