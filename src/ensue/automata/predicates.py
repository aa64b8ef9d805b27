"""Guards: conjunctions of atomic predicates of one event, and of their opposites.

A predicate either holds or does not: a test holds where its expression is TRUE, so that its opposite covers FALSE
and NULL. Event types exclude each other, which is all the satisfiability that is needed to keep guards small. What has
happened before an event is a predicate of it too, where a deterministic machine can tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ensue.language import ast
from ensue.language.printer import print_expression, print_name


@dataclass(frozen=True)
class TypeIs:
    """The event is of this type."""

    name: str

    def __str__(self) -> str:
        return print_name(self.name)


@dataclass(frozen=True)
class Test:
    """The expression, over bare attribute names, is TRUE at the event."""

    expression: ast.Expression

    def __str__(self) -> str:
        return print_expression(self.expression)


@dataclass(frozen=True)
class Machine:
    """A deterministic automaton that reads the events from the first one on, in each partition by itself.

    Its name says all about it: machines of the same name are the same.
    """

    name: str
    states: tuple[str, ...] = field(compare=False, repr=False)  # what each says; 0 is the first
    steps: tuple[tuple[tuple[Guard, int], ...], ...] = field(compare=False, repr=False)  # of each: what leads where

    @property
    def predicates(self) -> list[Predicate]:
        return predicates_of(guard for steps in self.steps for guard, _ in steps)

    def is_in(self, state: int) -> Guard:
        """The guard of the events just before which the machine is in the state."""
        bits = range((len(self.states) - 1).bit_length())
        return frozenset((Before(self, bit), bool(state >> bit & 1)) for bit in bits)


@dataclass(frozen=True)
class Before:
    """A bit of the number of the state that a machine is in just before the event."""

    machine: Machine
    bit: int

    def __str__(self) -> str:
        return f"bit {self.bit} of {self.machine.name}"


Predicate = TypeIs | Test | Before
Literal = tuple[Predicate, bool]
#: A conjunction; the empty one always holds.
Guard = frozenset[Literal]
ALWAYS: Guard = frozenset()


def conjunction(*guards: Guard) -> Guard | None:
    """All of the guards together; None where they cannot hold at once."""
    literals = frozenset().union(*guards)
    types = {p.name for p, positive in literals if positive and isinstance(p, TypeIs)}
    if len(types) > 1 or any((p, not positive) in literals for p, positive in literals):
        return None
    if types:  # being one type says all about being another
        literals = frozenset((p, positive) for p, positive in literals if positive or not isinstance(p, TypeIs))
    return literals


def predicates_of(guards: Iterable[Guard]) -> list[Predicate]:
    """The distinct predicates, in a fixed order."""
    return sorted({p for g in guards for p, _ in g}, key=_place)


@lru_cache(maxsize=10_000)
def _place(p: Predicate) -> tuple[int, str]:
    return (TypeIs, Test, Before).index(type(p)), str(p)


def machines_of(predicates: Iterable[Predicate]) -> list[Machine]:
    """The machines whose states the predicates speak of, each after those that it asks itself."""
    found: dict[Machine, None] = {}
    for p in predicates:
        if isinstance(p, Before) and p.machine not in found:
            found |= dict.fromkeys([*machines_of(p.machine.predicates), p.machine])
    return list(found)


def cells(predicates: Iterable[Predicate]) -> Iterator[Guard]:
    """Every satisfiable combination of the predicates and their opposites: disjoint, and together everything."""
    predicates = list(predicates)
    for signs in itertools.product((True, False), repeat=len(predicates)):
        cell = conjunction(frozenset(zip(predicates, signs, strict=True)))
        if cell is not None:
            yield cell


def implied(cell: Guard, guard: Guard) -> bool:
    """Whether every event of the cell satisfies the guard; the cell decides all of the guard's predicates."""
    types = {p.name for p, positive in cell if positive and isinstance(p, TypeIs)}
    return all(
        literal in cell or (isinstance(literal[0], TypeIs) and bool(types) and (literal[0].name in types) == literal[1])
        for literal in guard
    )


def print_guard(guard: Guard) -> str:
    """The guard as text; `true` for the one that always holds."""
    told: set[Literal] = set()
    before = []
    for machine in machines_of(p for p, _ in guard):
        for number, state in enumerate(machine.states):
            if machine.is_in(number) <= guard:
                told |= machine.is_in(number)
                before.append(f"{machine.name}: {state}")
    rest = sorted(guard - told, key=lambda x: (str(x[0]), x[1]))
    return " & ".join([*(str(p) if positive else f"not({p})" for p, positive in rest), *before]) or "true"
