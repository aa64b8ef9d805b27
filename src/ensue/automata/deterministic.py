"""The deterministic register automaton of a windowed pattern: every event takes exactly one transition.

It is the automaton of Alevizos et al., definition 10, with two changes that the union of matches needs. First, values
shift from register to register with every event: `$1.3` holds value 1 of the event of age 3, where the last event has
age 1, so that a new run does not overwrite what an older run has stored. Second, a final state says which of the last
events took part in a match that ends there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ensue.automata.model import Marks
from ensue.automata.predicates import Guard
from ensue.automata.registers import Condition, Store
from ensue.language import ast
from ensue.logic.stored_values import Register

#: The required results of some register checks; False also stands for a result that is unknown because of a NULL.
Outcomes = frozenset[tuple[Condition, bool]]


@dataclass(frozen=True)
class Copy:
    """Stores the content of another register."""

    register: Register
    source: Register

    def __str__(self) -> str:
        return f"{self.register} := {self.source}"


Write = Store | Copy


@dataclass(frozen=True)
class Step:
    """A transition from `source` to `target`, taken if the guard holds and the checks have these outcomes.

    All registers are read before any is written. `marks` are the marks of all runs that continue or end here.
    """

    source: int
    guard: Guard
    outcomes: Outcomes
    marks: Marks
    writes: tuple[Write, ...]
    target: int


@dataclass(frozen=True)
class DeterministicAutomaton:
    """States are 0 .. size - 1, and 0 is initial. The steps of a state exclude each other, and one always applies.

    `ends` maps each final state to the events that took part, each as its distance back from the last event.
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
        """The registers that the automaton writes, in order."""
        return sorted({w.register for s in self.steps for w in s.writes}, key=lambda r: (len(r), r))


def register(value: int, age: int) -> Register:
    """The register for a value of the event of this age; the last event has age 1."""
    return f"${value}.{age}"


def age(of: Register) -> int:
    """The age of the event whose value the register holds; the last event has age 1."""
    return int(of.partition(".")[2])


def value_number(of: Register) -> int:
    """The place of the value that the register holds, among those that are stored."""
    return int(of.partition(".")[0][1:]) - 1


def values_of(stores: Iterable[Store]) -> list[ast.Expression | None]:
    """The distinct expressions that are stored, in a fixed order; None stands for the time."""
    return list(dict.fromkeys(s.value for s in sorted(stores, key=str)))
