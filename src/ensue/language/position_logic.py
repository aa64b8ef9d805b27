"""The syntax of formulas over positions: the monadic second-order logic of Praveen and Hitarth, section 2.

A variable stands for a position of the stream, a set variable for a set of positions. All of them lie between the first
event and the end of the window, so a formula depends on nothing that comes later.
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.language import ast


@dataclass(frozen=True)
class Formula(ast.Node):
    pass


@dataclass(frozen=True)
class Place(ast.Node):
    """`x`, `x + 2`, `x - 1`: so many positions behind `x`."""

    variable: str
    later: int = 0


@dataclass(frozen=True)
class Compared(Formula):
    """`x < y`, `x + 1 = y`: positions are compared as numbers."""

    left: Place
    operator: str
    right: Place


@dataclass(frozen=True)
class EventIs(Formula):
    """`x[g]`, `x IS T`, `x IS T[g]`: the event at `x` is a match of this pattern of one event."""

    variable: str
    event: ast.Pattern


@dataclass(frozen=True)
class IsIn(Formula):
    """`x IN X`"""

    variable: str
    set: str


@dataclass(frozen=True)
class Negated(Formula):
    body: Formula


@dataclass(frozen=True)
class Connected(Formula):
    """`f AND g`, `f OR g`, `f => g`, `f <=> g`"""

    operator: str
    left: Formula
    right: Formula


@dataclass(frozen=True)
class Bound(ast.Node):
    """`x`, `x IN [b, e]` or `SET X`: what a quantifier is over."""

    name: str
    is_set: bool = False
    low: Place | None = None
    high: Place | None = None


@dataclass(frozen=True)
class Quantified(Formula):
    """`EXISTS x, SET X (f)`, and with `every` `FORALL ...`"""

    every: bool
    over: tuple[Bound, ...]
    body: Formula


@dataclass(frozen=True)
class FromTo(ast.Pattern):
    """`(b TO e WHERE f)`: all from `b` to `e` where the formula holds for the two; it marks nothing."""

    begin: str
    end: str
    formula: Formula
