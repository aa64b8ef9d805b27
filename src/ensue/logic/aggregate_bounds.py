"""What a filter on aggregates of a set asks of the sum of a weight over its events.

    avg(y.v) > 5      the sum of y.v - 5 is above 0
    max(y.v) < 5      the sum of -1 for each y with v >= 5 is at least 0

The greatest sum that the ways to go on can have is easily kept, so that what cannot pass is not even looked at. A bound
may let too much pass, where floats round, but never too little: what passes is judged afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ensue.language import ast
from ensue.logic.clauses import bare
from ensue.logic.comparisons import MIRRORED
from ensue.logic.orders import OPPOSITE
from ensue.logic.scope import aggregated_in, aggregates_of, is_aggregate, names_in
from ensue.logic.window import looks_back

#: More of them are not worth their memory.
MOST_BOUNDS = 8
#: Constants beyond have no exact float.
_EXACT = 2**53


class Weight(StrEnum):
    """What an event weighs."""

    SUM = "its value"
    AVERAGE = "its value less the constant"
    COUNT = "1 if there is a value"
    SOME = "1 if the condition is TRUE"
    NONE = "-1 if the condition is TRUE"


@dataclass(frozen=True)
class Bound:
    """What the events of a variable weigh, times the sign, comes to more than `least` or, if not strict, to as much."""

    variable: str
    weight: Weight
    value: ast.Expression | None  # over bare attributes; a count of events has none
    least: float
    strict: bool
    sign: int = 1
    constant: float = 0.0  # of an average

    @property
    def terms(self) -> tuple[Bound, ...]:
        """What is added up, for each variable by itself."""
        return (self,)


def bounds_of(conditions: Sequence[ast.Expression]) -> tuple[Bound, ...]:
    """The bounds of all conditions that have one.

    >>> from ensue.language.parser import parse_expression
    >>> [(b.sign, b.least, b.strict) for b in bounds_of([parse_expression("sum(y.v) BETWEEN 3 AND 5")])]
    [(1, 3.0, False), (-1, -5.0, False)]
    """
    return tuple(b for c in conditions for b in _bounds(c))[:MOST_BOUNDS]


def is_bounded(c: ast.Expression) -> bool:
    """Whether the condition asks for nothing but what its bounds say."""
    return bool(bounds_of([c]))


def _bounds(c: ast.Expression) -> Iterator[Bound]:
    match c:
        case ast.Between(negated=False):
            yield from _bounds(ast.Binary(">=", c.operand, c.low))
            yield from _bounds(ast.Binary("<=", c.operand, c.high))
        case ast.Binary(operator="="):
            yield from _bounds(replace(c, operator=">="))
            yield from _bounds(replace(c, operator="<="))
        case ast.Binary(operator="<" | "<=" | ">" | ">="):
            for a, operator, b in ((c.left, c.operator, c.right), (c.right, MIRRORED[c.operator], c.left)):
                if isinstance(a, ast.Call) and is_aggregate(a) and not names_in(b) and not aggregates_of(b):
                    yield from _of_aggregate(a, operator, b)


def _of_aggregate(a: ast.Call, operator: str, constant: ast.Expression) -> Iterator[Bound]:
    if len(aggregated_in(a)) != 1 or looks_back(a, constant):
        return
    (y,) = aggregated_in(a)
    (argument,) = a.arguments
    value = None if isinstance(argument, ast.Name) else bare(argument)
    above, strict = operator in (">", ">="), operator in ("<", ">")
    number, sign = number_of(constant), 1 if operator in (">", ">=") else -1
    match a.function:
        case "min" | "max" if value is not None and above == (a.function == "max"):
            yield Bound(y, Weight.SOME, ast.Binary(operator, value, constant), 1.0, strict=False)
        case "min" | "max" if value is not None:
            yield Bound(y, Weight.NONE, ast.Binary(OPPOSITE[operator], value, constant), 0.0, strict=False)
        case "sum" | "count" if number is not None:
            weight = Weight.SUM if a.function == "sum" else Weight.COUNT
            yield Bound(y, weight, value, sign * number, strict, sign)
        case "avg" if number is not None:
            yield Bound(y, Weight.AVERAGE, value, 0.0, strict, sign, number)


def number_of(e: ast.Expression) -> float | None:
    """The number that is written there, if it has an exact float."""
    match e:
        case ast.Unary(operator="-"):
            found = number_of(e.operand)
            return None if found is None else -found
        case ast.Literal(value=int() | float() as value) if not isinstance(value, bool) and abs(value) <= _EXACT:
            return float(value)
    return None
