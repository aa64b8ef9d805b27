"""Conditions on events as what can be decided of them: comparisons of values, and which values are missing.

A value is that of an attribute, at the event or some events before it. What is computed from values is a value of its
own, of which nothing is known but that it is the same wherever the same text stands: so more streams seem possible than
there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ensue.language import ast
from ensue.language.parser import parse_expression
from ensue.language.printer import print_expression
from ensue.logic.orders import OPPOSITE
from ensue.logic.window import steps_back

Truth = bool | None
#: The place of NaN. It is beside the line on which all other values lie: nothing is equal to it, below or above it.
NAN = math.inf


class Nanoseconds(int):
    """A duration; what is compared with it is no float, and so never NaN."""


class Value(NamedTuple):
    """An attribute's value, so many events back; or, `made` of others at the event, what an expression is worth."""

    name: str
    back: int = 0
    made: bool = False


@dataclass(frozen=True)
class Fixed:
    """A constant: a number, a text, or a duration in nanoseconds; None for NULL."""

    value: int | float | str | None


Operand = Value | Fixed


@dataclass(frozen=True)
class Compares:
    left: Operand
    operator: str
    right: Operand


@dataclass(frozen=True)
class IsMissing:
    value: Value


@dataclass(frozen=True)
class Undecided:
    """A condition of which nothing is known but its text."""

    text: str


@dataclass(frozen=True)
class Always:
    truth: Truth


@dataclass(frozen=True)
class Not:
    of: Condition


@dataclass(frozen=True)
class Joined:
    """AND, or else OR."""

    conjunction: bool
    left: Condition
    right: Condition


@dataclass(frozen=True)
class IsUnknown:
    """A condition is neither TRUE nor FALSE."""

    of: Condition


Condition = Compares | IsMissing | Undecided | Always | Not | Joined | IsUnknown
Atom = Compares | IsMissing | Undecided


def condition_of(e: ast.Expression) -> Condition:
    """The condition that a filter over bare attributes is.

    >>> from ensue.language.parser import parse_expression
    >>> condition_of(parse_expression("v > 2"))
    Compares(left=Value(name='v', back=0, made=False), operator='>', right=Fixed(value=2))
    """
    match e:
        case ast.Unary(operator="NOT"):
            return Not(condition_of(e.operand))
        case ast.Binary(operator="AND" | "OR"):
            return Joined(e.operator == "AND", condition_of(e.left), condition_of(e.right))
        case ast.Binary() if e.operator in OPPOSITE:
            return _compared(_operand(e.left), e.operator, _operand(e.right))
        case ast.IsNull(operand=ast.Binary(operator="AND" | "OR" | "=" | "<>" | "<" | "<=" | ">" | ">=")):
            return _negated(e.negated, IsUnknown(condition_of(e.operand)))
        case ast.IsNull():
            found = _operand(e.operand)
            missing: Condition = IsMissing(found) if isinstance(found, Value) else Always(found.value is None)
            return Not(missing) if e.negated else missing
        case ast.InList():
            equal = [_compared(_operand(e.operand), "=", _operand(o)) for o in e.options]
            return _negated(e.negated, _folded(equal, conjunction=False))
        case ast.Between():
            low = _compared(_operand(e.operand), ">=", _operand(e.low))
            return _negated(e.negated, Joined(True, low, _compared(_operand(e.operand), "<=", _operand(e.high))))
        case ast.Literal(type=ast.LiteralType.BOOLEAN | ast.LiteralType.NULL):
            return Always(None if e.value is None else bool(e.value))
    found = _operand(e)
    if isinstance(found, Value) and not found.made:
        return Compares(found, "=", Fixed(True))
    return Undecided(print_expression(e))


def _compared(left: Operand, operator: str, right: Operand) -> Condition:
    if not (isinstance(left, Fixed) and isinstance(right, Fixed)):
        return Compares(left, operator, right)
    if left.value is None or right.value is None:
        return Always(None)
    if isinstance(left.value, str) != isinstance(right.value, str):
        return Undecided(f"{left.value} {operator} {right.value}")
    first, last = sorted((left.value, right.value))  # both are texts, or both numbers
    places: dict[Operand, float | None] = {Fixed(first): 0, Fixed(last): 0 if first == last else 1}
    return Always(atom_truth(Compares(left, operator, right), places))


def _negated(negated: bool, c: Condition) -> Condition:
    return Not(c) if negated else c


def _folded(parts: list[Condition], *, conjunction: bool) -> Condition:
    first, *rest = parts
    for part in rest:
        first = Joined(conjunction, first, part)
    return first


def _operand(e: ast.Expression) -> Operand:
    match e:
        case ast.Name():
            return Value(e.name)
        case ast.Call(function="prev", arguments=(ast.Name() as name, *_)):
            return Value(name.name, steps_back(e))
        case ast.Literal():
            return Fixed(e.value)
        case ast.Unary(operator="-", operand=ast.Literal(value=int() | float() as value)):
            return Fixed(-value)
        case ast.DurationLiteral():
            return Fixed(Nanoseconds(int(e.duration.nanoseconds())))
    return Value(print_expression(e), made=True)


def made_of(text: str) -> tuple[Value, ...]:
    """The values of which arithmetic is made: it is missing where one of them is. None for what else is computed."""
    e = parse_expression(text)
    arithmetic = ast.Binary | ast.Unary | ast.Literal | ast.DurationLiteral
    found: list[Value] = []
    waiting = [e]
    while waiting:
        part = waiting.pop()
        operand = _operand(part)
        if isinstance(operand, Value) and not operand.made:
            found.append(operand)
        elif isinstance(part, arithmetic) and getattr(part, "operator", "+") in ("+", "-", "*"):
            waiting += [p for p in ast.children(part) if isinstance(p, ast.Expression)]
        else:
            return ()
    return tuple(dict.fromkeys(found))


def atoms_of(c: Condition) -> Iterator[Atom]:
    """The comparisons, and what else is asked, in a condition."""
    match c:
        case Not() | IsUnknown():
            yield from atoms_of(c.of)
        case Joined():
            yield from atoms_of(c.left)
            yield from atoms_of(c.right)
        case Compares() | IsMissing() | Undecided():
            yield c


def truth_of(c: Condition, of_atom: Callable[[Atom], Truth]) -> Truth:
    """What the condition is, in three-valued logic, where each atom is what `of_atom` says."""
    match c:
        case Always():
            return c.truth
        case Not():
            inner = truth_of(c.of, of_atom)
            return None if inner is None else not inner
        case IsUnknown():
            return truth_of(c.of, of_atom) is None
        case Joined():
            sides = (truth_of(c.left, of_atom), truth_of(c.right, of_atom))
            if (not c.conjunction) in sides:
                return not c.conjunction
            return None if None in sides else c.conjunction
    return of_atom(c)


def atom_truth(a: Compares | IsMissing, places: Mapping[Operand, float | None]) -> Truth:
    """What an atom is, where values lie at these places of a line, or at NAN; None is the place of what is missing."""
    if isinstance(a, IsMissing):
        return places[a.value] is None
    left, right = places[a.left], places[a.right]
    if left is None or right is None:
        return None
    if NAN in (left, right):
        return a.operator == "<>"
    below, same = left < right, left == right
    return {
        "=": same,
        "<>": not same,
        "<": below,
        "<=": below or same,
        ">": not (below or same),
        ">=": not below,
    }[a.operator]


def in_order(places: Iterable[float | None]) -> set[float]:
    """Those of the places that are on the line."""
    return {p for p in places if p is not None and p != NAN}
