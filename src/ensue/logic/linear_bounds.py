"""What a condition on several events asks of the sum of what each of them weighs by itself.

    x.v + y.v + 10 < z.v     the sum of -x.v, -y.v and z.v is above 10

So matches that cannot pass are left out while they are listed, as for aggregates (`logic/aggregate_bounds.py`). Floats
round, in the condition as in the sum: each event weighs as much more as that may make, so that a bound lets too much
pass at most.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ensue.language import ast
from ensue.logic.aggregate_bounds import MOST_BOUNDS, number_of
from ensue.logic.classify import is_plain
from ensue.logic.clauses import bare
from ensue.logic.comparisons import MIRRORED
from ensue.logic.scope import variables_of

#: Of all that is added, so much may get lost by rounding: more than by as many operations as a condition has.
SLACK = 2.0**-48


@dataclass(frozen=True)
class Term:
    """What the one event of a variable weighs: the value, over bare attributes, times the sign."""

    variable: str
    value: ast.Expression
    sign: int


@dataclass(frozen=True)
class LinearBound:
    """The terms come to more than `least` or, if not strict, to as much."""

    terms: tuple[Term, ...]
    least: float
    strict: bool


class _NoSum(Exception):
    """A side that is no sum of terms of one event each."""


def linear_bounds(conditions: Sequence[ast.Expression], once: Collection[str]) -> tuple[LinearBound, ...]:
    """The bounds of all conditions that have one; `once` are the variables that mark one event in every match.

    >>> from ensue.language.parser import parse_expression
    >>> (bound,) = linear_bounds([parse_expression("x.v + y.v + 10 < z.v")], "xyz")
    >>> [(t.variable, t.sign) for t in bound.terms], bound.least > 9, bound.strict
    ([('z', 1), ('x', -1), ('y', -1)], True, True)
    """
    found = (b for c in conditions for b in _bounds(c) if all(t.variable in once for t in b.terms))
    return tuple(found)[:MOST_BOUNDS]


def is_linear(c: ast.Expression) -> bool:
    """Whether the condition asks for nothing but what its bounds say, where each variable marks one event."""
    return bool(list(_bounds(c)))


def _bounds(c: ast.Expression) -> Iterator[LinearBound]:
    match c:
        case ast.Between(negated=False):
            yield from _bounds(ast.Binary(">=", c.operand, c.low))
            yield from _bounds(ast.Binary("<=", c.operand, c.high))
        case ast.Binary(operator="="):
            yield from _bounds(replace(c, operator=">="))
            yield from _bounds(replace(c, operator="<="))
        case ast.Binary(operator="<" | "<="):
            yield from _bounds(ast.Binary(MIRRORED[c.operator], c.right, c.left))
        case ast.Binary(operator=">" | ">=", right=ast.Call(function="abs", arguments=(inner,))):
            yield from _of_sum(c.left, inner, c.operator, (1, -1))
            yield from _of_sum(c.left, inner, c.operator, (1, 1))
        case ast.Binary(operator=">" | ">="):
            yield from _of_sum(c.left, c.right, c.operator, (1, -1))


def _of_sum(a: ast.Expression, b: ast.Expression, operator: str, signs: tuple[int, int]) -> Iterator[LinearBound]:
    """That the first side, and the other times its sign, come to more than 0, or to as much."""
    try:
        terms, constants = [], []
        for side, sign in zip((a, b), signs, strict=True):
            for value, own in _addends(side, sign):
                if isinstance(value, float):
                    constants.append(own * value)
                else:
                    terms.append(Term(min(variables_of(value)), bare(value), own))
    except _NoSum:
        return
    if len({t.variable for t in terms}) > 1:
        least = -sum(constants) - SLACK * sum(map(abs, constants))
        yield LinearBound(tuple(terms), least, strict=operator == ">")


def _addends(e: ast.Expression, sign: int) -> Iterator[tuple[ast.Expression | float, int]]:
    """What is added, each with its sign: numbers, and expressions of one event each."""
    number = number_of(e)
    if number is not None:
        yield number, sign
    elif len(variables_of(e)) == 1 and is_plain(e):
        yield e, sign
    elif isinstance(e, ast.Unary) and e.operator == "-":
        yield from _addends(e.operand, -sign)
    elif isinstance(e, ast.Binary) and e.operator in ("+", "-"):
        yield from _addends(e.left, sign)
        yield from _addends(e.right, sign if e.operator == "+" else -sign)
    else:
        raise _NoSum
