"""Guards: conjunctions of atomic predicates of one event, and of their opposites.

A predicate either holds or does not: a test holds where its expression is TRUE, so that its opposite covers FALSE
and NULL. Event types exclude each other, which is all the satisfiability that is needed to keep guards small.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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


Predicate = TypeIs | Test
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
    found = {p for g in guards for p, _ in g}
    return sorted(found, key=lambda p: (isinstance(p, Test), str(p)))


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
    parts = [str(p) if positive else f"not({p})" for p, positive in sorted(guard, key=lambda x: (str(x[0]), x[1]))]
    return " & ".join(parts) or "true"
