"""Finds conditions that cannot all be TRUE for the same events: `x.a = NULL`, `x.v > 5 AND x.v < 3`.

A condition is TRUE in one of several ways: `x.v IN (1, 2)` if `x.v = 1`, or if `x.v = 2`. A way is a list of simple
conditions, each TRUE or FALSE. It is impossible if one of them is NULL whatever the events are, if a value is NULL and
compared, or if no order of the values satisfies its comparisons (`logic/orders.py`). What is not understood, such as
the result of a function, can be anything: only what is certain is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ensue.data.schema import timestamp_literal
from ensue.language import ast
from ensue.logic.functions import AGGREGATES, FUNCTIONS, SPECIAL
from ensue.logic.orders import OPPOSITE, Comparison, Constant, Point, can_be_ordered

#: So many ways are tried, and so many conditions looked at together; no person's query comes near it.
MOST_WAYS, MOST_CONDITIONS = 200, 50
#: Larger whole numbers cannot be compared exactly with floats.
_EXACT = 2**53

#: A condition, and whether it is TRUE or FALSE.
Said = tuple[ast.Expression, bool]
Way = list[Said]


def contradiction(
    known: Sequence[ast.Expression], new: Sequence[ast.Expression], keys: frozenset[str] = frozenset()
) -> list[ast.Expression] | None:
    """The fewest of the conditions that cannot all be TRUE at once; None if no contradiction is found.

    No contradiction is among those that are `known`. Variables stand for one event each, and all events have the same
    values of `keys`.

    >>> from ensue.language.parser import parse_expression
    >>> found = contradiction([parse_expression("x.v > 5")], [parse_expression("x.w = 1"), parse_expression("x.v < 3")])
    >>> from ensue.language.printer import print_expression
    >>> list(map(print_expression, found))
    ['x.v > 5', 'x.v < 3']
    """
    rest = [c for c in (*known, *new) if _is_repeatable(c)][:MOST_CONDITIONS]
    for c in new:
        if _is_repeatable(c) and not _possible([c], keys):
            return [c]
    if len(rest) < 2 or not new or _possible(rest, keys):
        return None
    for c in list(rest):
        fewer = [other for other in rest if other is not c]
        if not _possible(fewer, keys):
            rest = fewer
    return rest


def _possible(conditions: Sequence[ast.Expression], keys: frozenset[str]) -> bool:
    return any(_can_be(way, keys) for way in _joined(conditions, both=True, wanted=True))


def _is_repeatable(e: ast.Expression) -> bool:
    """Whether the expression has the same value wherever it is written: a function of the user's own may not."""
    known = {*FUNCTIONS, *AGGREGATES, *SPECIAL}
    return all(call.function in known for call in ast.find(e, ast.Call))


# ---------------------------------------------------------------- the ways in which a condition can be TRUE


def _ways(e: ast.Expression, *, wanted: bool) -> list[Way]:
    """The ways in which the condition is TRUE, or FALSE; none of them is a way in which it is NULL."""
    match e:
        case ast.Unary(operator="NOT"):
            return _ways(e.operand, wanted=not wanted)
        case ast.Binary(operator="AND" | "OR"):
            return _joined(_operands(e), both=(e.operator == "AND") == wanted, wanted=wanted)
        case ast.Between():
            bounds: list[ast.Expression] = [ast.Binary(">=", e.operand, e.low), ast.Binary("<=", e.operand, e.high)]
            inside = wanted != e.negated
            return _joined(bounds, both=inside, wanted=inside)
        case ast.InList():
            among = wanted != e.negated
            if not among and any(map(_is_null, e.options)):
                return []
            if len(e.options) <= MOST_WAYS:
                options: list[ast.Expression] = [ast.Binary("=", e.operand, o) for o in e.options]
                return _joined(options, both=not among, wanted=among)
        case ast.Each() if wanted:
            return _ways(_of(e.variable, e.condition), wanted=True)
    return [[(e, wanted)]]


def _operands(e: ast.Binary) -> list[ast.Expression]:
    """The operands of a chain of ANDs, or of ORs, without recursion: such a chain may be long."""
    found: list[ast.Expression] = [e.right]
    rest = e.left
    while isinstance(rest, ast.Binary) and rest.operator == e.operator:
        found.append(rest.right)
        rest = rest.left
    return [rest, *reversed(found)]


def _joined(parts: Sequence[ast.Expression], *, both: bool, wanted: bool) -> list[Way]:
    """The ways in which all parts are so, or in which one of them is; the empty way, if there are too many."""
    if not both:
        found = [way for part in parts for way in _ways(part, wanted=wanted)]
        return found if len(found) <= MOST_WAYS else [[]]
    ways: list[Way] = [[]]
    for part in parts:
        more = _ways(part, wanted=wanted)
        if len(ways) * len(more) > MOST_WAYS:
            return [[]]
        ways = [[*way, *another] for way in ways for another in more]
    return ways


def _of(variable: str, e: ast.Expression) -> ast.Expression:
    """A condition over bare names as one about an event of the variable."""
    return ast.replaced(e, lambda p: ast.Attribute(variable, p.name, span=p.span) if isinstance(p, ast.Name) else None)


# ---------------------------------------------------------------- whether a way is possible


def _can_be(way: Way, keys: frozenset[str]) -> bool:
    comparisons: list[Comparison] = []
    known: set[Point] = set()  # what is not NULL
    null: set[Point] = set()
    point = partial(_point, keys=keys)
    for e, holds in way:
        match e:
            case ast.Literal():
                if e.value is not holds:
                    return False
            case ast.Binary() if e.operator in OPPOSITE:
                if _is_null(e.left) or _is_null(e.right):
                    return False
                comparisons.append((point(e.left), e.operator, point(e.right), holds))
                known |= {p for side in (e.left, e.right) for p in _needed(side, point)}
            case ast.IsNull() if e.negated == holds:
                if _is_null(e.operand):
                    return False
                known |= _needed(e.operand, point)
            case ast.IsNull():
                if isinstance(e.operand, ast.Literal) and not _is_null(e.operand):
                    return False
                null.add(point(e.operand))
            case ast.Like():
                if _is_null(e.operand) or _is_null(e.pattern):
                    return False
                known |= _needed(e.operand, point)
    return not known & null and can_be_ordered(comparisons, _constant)


def _is_null(e: ast.Expression) -> bool:
    """Whether the expression is NULL whatever the events are."""
    match e:
        case ast.Literal():
            return e.value is None
        case ast.Unary(operator="-"):
            return _is_null(e.operand)
        case ast.Binary(operator="+" | "-" | "*" | "/" | "%" | "||"):
            return _is_null(e.left) or _is_null(e.right)
    return False


def _needed(e: ast.Expression, point: Callable[[ast.Expression], Point]) -> set[Point]:
    """What cannot be NULL if the expression is not."""
    match e:
        case ast.Unary(operator="-"):
            return {e, *_needed(e.operand, point)}
        case ast.Binary(operator="+" | "-" | "*" | "/" | "%" | "||"):
            return {e, *_needed(e.left, point), *_needed(e.right, point)}
    return {point(e)}


def _point(e: ast.Expression, keys: frozenset[str]) -> Point:
    """The expression as a value among others: a key is the same of every event, and -5 is a number."""
    match e:
        case ast.Attribute() if e.name in keys:
            return "key", e.name
        case ast.Unary(operator="-", operand=ast.Literal(value=int() | float() as value) as literal):
            return ast.Literal(-value, literal.type)
    return e


def _constant(point: Point) -> Constant | None:
    match point:
        case ast.Literal(value=None):
            return None
        case ast.Literal(type=ast.LiteralType.INTEGER | ast.LiteralType.FLOAT, value=int() | float() as number):
            return ("number", number) if abs(number) <= _EXACT else None
        case ast.Literal():
            return str(point.type), point.value
        case ast.DurationLiteral():
            return "duration", point.duration.nanoseconds()
        case ast.Call(function="timestamp", arguments=(ast.Literal(value=str(text)),)):
            return _instant(text)
    return None


def _instant(text: str) -> Constant | None:
    scalar: Any = timestamp_literal(text)
    if scalar is None:
        return None
    zone = "time" if scalar.type.tz is None else "time with a zone"
    return zone, scalar.value * ast.NANOSECONDS[scalar.type.unit]
