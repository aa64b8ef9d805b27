"""What transitions do with registers: store a value of the event, or check the event against what was stored.

    A AS x ;[<= 1 s] B AS y FILTER x.id = y.id

stores the time and the `id` of the event of `A`; at an event of `B` it checks that the time since lies in the interval,
and that the `id` is the one stored. A register that holds a time is a clock. A check of a register in which nothing is
stored holds: there is nothing to compare with. Checks of a transition come before its stores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

from ensue.language import ast
from ensue.language.printer import print_expression, print_interval

Register = str


class Keep(StrEnum):
    """Which value stays where one is stored already."""

    NEW = ""
    LEAST = " if less"
    GREATEST = " if greater"


@dataclass(frozen=True)
class Store:
    """Stores what the expression, over bare attributes, gives at the event; without one, the event's time."""

    register: Register
    value: ast.Expression | None = None
    keep: Keep = Keep.NEW

    def __str__(self) -> str:
        value = "time" if self.value is None else print_expression(self.value)
        return f"{self.register} := {value}{self.keep}"


@dataclass(frozen=True)
class Clear:
    """Nothing is stored any more."""

    register: Register

    def __str__(self) -> str:
        return f"{self.register} := nothing"


@dataclass(frozen=True)
class Check:
    """What is stored compares so with what the expression gives at the event."""

    register: Register
    operator: str  # = < <= > >=
    value: ast.Expression

    def __str__(self) -> str:
        return f"{self.register} {self.operator} {print_expression(self.value)}"


@dataclass(frozen=True)
class Since:
    """The time since the one that is stored lies in the interval."""

    register: Register
    interval: ast.Interval

    def __str__(self) -> str:
        return f"time since {self.register} in {print_interval(self.interval)}"


Condition = Check | Since
Action = Store | Clear | Condition
Actions = frozenset[Action]
NO_ACTIONS: Actions = frozenset()


def conditions_of(actions: Iterable[Action]) -> list[Condition]:
    """The checks, in a fixed order."""
    return sorted((a for a in actions if isinstance(a, Check | Since)), key=str)


def writes_of(actions: Iterable[Action]) -> list[Store | Clear]:
    """The stores, in a fixed order."""
    return sorted((a for a in actions if isinstance(a, Store | Clear)), key=str)


def fresh(*taken: Collection[Register]) -> Iterator[Register]:
    """Names of registers that are not taken."""
    return (name for n in count(1) if not any((name := f"${n}") in t for t in taken))
