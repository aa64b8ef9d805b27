"""The actions of transitions on registers: they store a value of the event, or check the event against stored values.

    A AS x ;[<= 1 s] B AS y FILTER x.id = y.id

stores the time and the `id` of an `A` event; at a `B` event it checks that the time since then lies in the interval and
that the `id` equals the stored one. A register that holds a time is a clock. A check of an empty register holds,
because there is nothing to compare with. The checks of a transition come before its stores. A condition that is not a
comparison with one register is a condition over several (`Holds`).

    (B AS y FILTER RUNNING sum(y.v) < 5)+

stores what it comes to so far: such a register is computed from its own content and from the event. In the condition,
`RUNNING sum($1, v)` is what register 1 holds together with the `v` of the event.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Self

from ensue.language import ast
from ensue.language.printer import print_expression, print_interval
from ensue.logic.stored_values import Register, register_of, stored_in

_QUOTED = re.compile(r"`(\$[0-9.]+)`")  # no query has such a name


class Keep(StrEnum):
    """Which value a store keeps if the register already holds one."""

    NEW = ""
    LEAST = " if less"
    GREATEST = " if greater"
    #: These add up over events; all but the first pass over NULL.
    FIRST = ", or what it was"
    LEAST_KNOWN = " if known and less"
    GREATEST_KNOWN = " if known and greater"
    COUNT = ", counted"  # how often the value is TRUE
    TOTAL = ", added"

    @property
    def adds_up(self) -> bool:
        """Whether the register holds an aggregate of all that was stored."""
        return self not in (Keep.NEW, Keep.LEAST, Keep.GREATEST)


@dataclass(frozen=True)
class _OfOne:
    register: Register

    @property
    def registers(self) -> frozenset[Register]:
        return frozenset({self.register})

    def renamed(self, names: Mapping[Register, Register]) -> Self:
        return replace(self, register=names.get(self.register, self.register))


@dataclass(frozen=True)
class Store(_OfOne):
    """Stores the value of the expression, over bare attributes, at the event; without one, the event's time."""

    value: ast.Expression | None = None
    keep: Keep = Keep.NEW

    def __str__(self) -> str:
        value = "time" if self.value is None else print_expression(self.value)
        return f"{self.register} := {value}{self.keep}"


@dataclass(frozen=True)
class Clear(_OfOne):
    """Empties the register."""

    def __str__(self) -> str:
        return f"{self.register} := nothing"


@dataclass(frozen=True)
class Check(_OfOne):
    """Checks that `stored value operator value` holds for the expression's value at the event."""

    operator: str  # = < <= > >=
    value: ast.Expression

    def __str__(self) -> str:
        return f"{self.register} {self.operator} {print_expression(self.value)}"


@dataclass(frozen=True)
class Since(_OfOne):
    """Checks that the time since the stored time lies in the interval."""

    interval: ast.Interval

    def __str__(self) -> str:
        return f"time since {self.register} in {print_interval(self.interval)}"


@dataclass(frozen=True)
class Holds:
    """Checks that a condition over attributes of the event and stored values is TRUE or, with `absent`, is not TRUE.

    While an automaton is built, the condition may also use an event from outside (`x.v`), which gets registers later.
    """

    condition: ast.Expression
    absent: bool = False

    @property
    def registers(self) -> frozenset[Register]:
        return _registers_in(self.condition)

    @property
    def awaited(self) -> frozenset[Register]:
        """The registers without whose content the condition says nothing: all but those that add up."""
        return _registers_in(without_running(self.condition))

    @property
    def outside(self) -> frozenset[str]:
        """The variables from outside, which have no registers yet."""
        found = ast.find(without_running(self.condition), ast.Attribute)
        return frozenset(e.variable for e in found if register_of(e) is None)

    def renamed(self, names: Mapping[Register, Register]) -> Self:
        return self.with_parts(lambda e: stored_in(names.get(r, r)) if (r := register_of(e)) is not None else None)

    def with_parts(self, by: Callable[[ast.Expression], ast.Expression | None]) -> Self:
        """The same with some parts of the condition replaced."""
        return replace(self, condition=ast.replaced(self.condition, by))

    def __str__(self) -> str:
        names = self.with_parts(lambda e: ast.Name(r) if (r := register_of(e)) is not None else None)
        text = _QUOTED.sub(r"\1", print_expression(names.condition))
        return f"not({text})" if self.absent else f"({text})"


def _registers_in(e: ast.Expression) -> frozenset[Register]:
    return frozenset(r for part in ast.find(e, ast.Attribute) if (r := register_of(part)) is not None)


def without_running(e: ast.Expression) -> ast.Expression:
    """The expression without its RUNNING aggregates, whose terms are of other events than this one."""
    return ast.replaced(e, lambda part: NULL if isinstance(part, ast.Running) else None)


NULL = ast.Literal(None, ast.LiteralType.NULL)

Comparison = Check | Since
Condition = Comparison | Holds
Action = Store | Clear | Condition
Actions = frozenset[Action]
NO_ACTIONS: Actions = frozenset()


@dataclass(frozen=True)
class Narrowed(_OfOne):
    """Checks that the stored value is where the condition may be TRUE; it follows from the condition.

    No automaton has such an action: it says in which order the runs that may pass are looked up.
    """

    condition: Holds
    two_sided: bool  # whether that is an interval with two ends


def conditions_of(actions: Iterable[Action]) -> list[Condition]:
    """All checks, in a fixed order."""
    return sorted((a for a in actions if isinstance(a, Check | Since | Holds)), key=str)


def comparisons_of(actions: Iterable[Action]) -> list[Comparison]:
    """The checks of one register each, in a fixed order."""
    return [c for c in conditions_of(actions) if not isinstance(c, Holds)]


def formulas_of(actions: Iterable[Action]) -> list[Holds]:
    """The conditions over any number of registers, in a fixed order."""
    return [c for c in conditions_of(actions) if isinstance(c, Holds)]


def writes_of(actions: Iterable[Action]) -> list[Store | Clear]:
    """The stores and clears, in a fixed order: what is cleared may then begin to add up."""
    return sorted((a for a in actions if isinstance(a, Store | Clear)), key=lambda a: (isinstance(a, Store), str(a)))


def fresh(*used: Collection[Register]) -> Iterator[Register]:
    """New register names, which are in none of these collections."""
    return (name for n in count(1) if not any((name := f"${n}") in u for u in used))
