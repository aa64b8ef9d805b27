"""Builds formulas over positions in Python: the result is the same AST as from the text.

>>> from ensue.language.pattern_builder import types, window
>>> login, logout = types("login", "logout")
>>> b, e, x = positions("b", "e", "x")
>>> alone = ~exists(x.within(b, e), x.is_(login) & (b < x))
>>> sessions = window("w").given_by(from_to(b, e, b.is_(login) & e.is_(logout) & alone))
>>> from ensue.language.printer import print_pattern
>>> print(print_pattern(sessions.node.body))
(b TO e WHERE b IS login AND e IS logout AND NOT EXISTS x IN [b, e] (x IS login AND b < x))
"""

from __future__ import annotations

from dataclasses import dataclass

from ensue.language import ast
from ensue.language.expression_builder import Expr
from ensue.language.pattern_builder import Pat
from ensue.language.position_logic import (
    Bound,
    Compared,
    Connected,
    EventIs,
    Formula,
    FromTo,
    IsIn,
    Negated,
    Place,
    Quantified,
)


@dataclass(frozen=True)
class Claim:
    """A formula; `&`, `|`, `~` are AND, OR, NOT."""

    node: Formula

    def _connected(self, operator: str, other: Claim) -> Claim:
        return Claim(Connected(operator, self.node, other.node))

    def __and__(self, other: Claim) -> Claim:
        return self._connected("AND", other)

    def __or__(self, other: Claim) -> Claim:
        return self._connected("OR", other)

    def __invert__(self) -> Claim:
        return Claim(Negated(self.node))

    def implies(self, other: Claim) -> Claim:
        """`f => g`"""
        return self._connected("=>", other)

    def iff(self, other: Claim) -> Claim:
        """`f <=> g`"""
        return self._connected("<=>", other)

    def __bool__(self) -> bool:
        raise TypeError("a formula has no truth value here: write & for AND, | for OR, ~ for NOT")


class Position:
    """A variable of a formula, or so many positions behind one: `x + 1`."""

    __hash__ = None  # type: ignore[assignment]  # == builds a formula

    def __init__(self, name: str, later: int = 0) -> None:
        self.node = Place(name, later)

    def _compared(self, operator: str, other: Position) -> Claim:
        return Claim(Compared(self.node, operator, other.node))

    def __lt__(self, other: Position) -> Claim:
        return self._compared("<", other)

    def __le__(self, other: Position) -> Claim:
        return self._compared("<=", other)

    def __gt__(self, other: Position) -> Claim:
        return self._compared(">", other)

    def __ge__(self, other: Position) -> Claim:
        return self._compared(">=", other)

    def __eq__(self, other: Position) -> Claim:  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: Position) -> Claim:  # type: ignore[override]
        return self._compared("<>", other)

    def __add__(self, events: int) -> Position:
        return Position(self.node.variable, self.node.later + events)

    def __sub__(self, events: int) -> Position:
        return self + -events

    def is_(self, event: Pat) -> Claim:
        """`x IS T`: the event at `x` is of this type, `T[g]` if it satisfies a condition as well."""
        if not isinstance(event.node, ast.Type | ast.Any | ast.Satisfying):
            raise TypeError("a position is one event: T, ANY, T[g] or ANY[g]")
        return Claim(EventIs(self._name(), event.node))

    def __getitem__(self, condition: Expr) -> Claim:
        """`x[g]`: the event at `x` satisfies a condition over bare attributes, `x[attribute("v") > 1]`"""
        return Claim(EventIs(self._name(), ast.Satisfying(ast.Any(), condition.node)))

    def is_in(self, positions: PositionSet) -> Claim:
        """`x IN X`"""
        return Claim(IsIn(self._name(), positions.name))

    def within(self, low: Position, high: Position) -> Bound:
        """`x IN [low, high]`, for a quantifier"""
        return Bound(self._name(), False, low.node, high.node)

    def _name(self) -> str:
        if self.node.later:
            raise TypeError("a position is named here: bring another one, y = x + 1")
        return self.node.variable

    def __iter__(self) -> None:
        raise TypeError("a position cannot be iterated over")


@dataclass(frozen=True)
class PositionSet:
    """A variable that stands for a set of positions."""

    name: str


def positions(*names: str) -> tuple[Position, ...]:
    """Variables that stand for positions."""
    return tuple(map(Position, names))


def position_sets(*names: str) -> tuple[PositionSet, ...]:
    """Variables that stand for sets of positions."""
    return tuple(map(PositionSet, names))


def exists(*over_and_claim: Position | Bound | PositionSet | Claim) -> Claim:
    """`EXISTS x, y IN [b, e], SET X (f)`, as `exists(x, y.within(b, e), X, f)`"""
    return _quantified(over_and_claim, every=False)


def forall(*over_and_claim: Position | Bound | PositionSet | Claim) -> Claim:
    """`FORALL x, y IN [b, e], SET X (f)`, as `forall(x, y.within(b, e), X, f)`"""
    return _quantified(over_and_claim, every=True)


def _quantified(parts: tuple[Position | Bound | PositionSet | Claim, ...], *, every: bool) -> Claim:
    *over, claim = parts
    if not over or not isinstance(claim, Claim):
        raise TypeError("a quantifier takes what it is over, and a formula: exists(x, x.is_(T))")
    return Claim(Quantified(every, tuple(map(_bound, over)), claim.node))


def _bound(part: Position | Bound | PositionSet | Claim) -> Bound:
    match part:
        case Bound():
            return part
        case PositionSet():
            return Bound(part.name, is_set=True)
        case Position():
            return Bound(part._name())
    raise TypeError("a quantifier is over positions and sets of positions")


def from_to(begin: Position, end: Position, claim: Claim) -> Pat:
    """`(b TO e WHERE f)`, as a pattern"""
    return Pat(FromTo(begin._name(), end._name(), claim.node))
