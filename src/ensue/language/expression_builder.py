"""The builder's expressions: Python's operators over attributes and values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ensue.language import ast

Value: TypeAlias = "Expr | Variable | bool | int | float | str | None"


class Expr:
    """An expression; Python's operators build larger ones, with `&`, `|`, `~` for AND, OR, NOT."""

    __hash__ = None  # type: ignore[assignment]  # == builds an expression

    def __init__(self, node: ast.Expression) -> None:
        self.node = node

    def _binary(self, operator: str, other: Value) -> Expr:
        return Expr(ast.Binary(operator, self.node, node_of(other)))

    def _reflected(self, operator: str, other: Value) -> Expr:
        return Expr(ast.Binary(operator, node_of(other), self.node))

    def __eq__(self, other: Value) -> Expr:  # type: ignore[override]
        return self._binary("=", other)

    def __ne__(self, other: Value) -> Expr:  # type: ignore[override]
        return self._binary("<>", other)

    def __lt__(self, other: Value) -> Expr:
        return self._binary("<", other)

    def __le__(self, other: Value) -> Expr:
        return self._binary("<=", other)

    def __gt__(self, other: Value) -> Expr:
        return self._binary(">", other)

    def __ge__(self, other: Value) -> Expr:
        return self._binary(">=", other)

    def __add__(self, other: Value) -> Expr:
        return self._binary("+", other)

    def __radd__(self, other: Value) -> Expr:
        return self._reflected("+", other)

    def __sub__(self, other: Value) -> Expr:
        return self._binary("-", other)

    def __rsub__(self, other: Value) -> Expr:
        return self._reflected("-", other)

    def __mul__(self, other: Value) -> Expr:
        return self._binary("*", other)

    def __rmul__(self, other: Value) -> Expr:
        return self._reflected("*", other)

    def __truediv__(self, other: Value) -> Expr:
        return self._binary("/", other)

    def __rtruediv__(self, other: Value) -> Expr:
        return self._reflected("/", other)

    def __mod__(self, other: Value) -> Expr:
        return self._binary("%", other)

    def __neg__(self) -> Expr:
        return Expr(ast.Unary("-", self.node))

    def __and__(self, other: Value) -> Expr:
        return self._binary("AND", other)

    def __or__(self, other: Value) -> Expr:
        return self._binary("OR", other)

    def __invert__(self) -> Expr:
        return Expr(ast.Unary("NOT", self.node))

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value here: write & for AND, | for OR, ~ for NOT")

    def concat(self, other: Value) -> Expr:
        """`e || f`"""
        return self._binary("||", other)

    def is_null(self) -> Expr:
        """`e IS NULL`"""
        return Expr(ast.IsNull(self.node, negated=False))

    def is_not_null(self) -> Expr:
        """`e IS NOT NULL`"""
        return Expr(ast.IsNull(self.node, negated=True))

    def isin(self, *options: Value) -> Expr:
        """`e IN (f, g)`"""
        return Expr(ast.InList(self.node, tuple(map(node_of, options)), negated=False))

    def not_in(self, *options: Value) -> Expr:
        """`e NOT IN (f, g)`"""
        return Expr(ast.InList(self.node, tuple(map(node_of, options)), negated=True))

    def between(self, low: Value, high: Value) -> Expr:
        """`e BETWEEN f AND g`"""
        return Expr(ast.Between(self.node, node_of(low), node_of(high), negated=False))

    def like(self, pattern: Value) -> Expr:
        """`e LIKE f`"""
        return Expr(ast.Like(self.node, node_of(pattern), negated=False))

    def ilike(self, pattern: Value) -> Expr:
        """`e ILIKE f`"""
        return Expr(ast.Like(self.node, node_of(pattern), negated=False, any_case=True))

    def cast(self, type_: str) -> Expr:
        """`CAST(e AS type)`"""
        return Expr(ast.Cast(self.node, ast.CAST_TYPES[type_.lower()]))

    def at_time_zone(self, zone: str) -> Expr:
        """`e AT TIME ZONE 'zone'`"""
        return Expr(ast.AtTimeZone(self.node, zone))

    def field(self, name: str) -> Expr:
        """`e.a`: a field of a struct, as `x.user.field("id")` for `x.user.id`."""
        return Expr(ast.Field(self.node, name))

    def __getitem__(self, index: Value) -> Expr:
        """`e[i]`: an element of a list, counted from 1, or the value of a key of a map."""
        return Expr(ast.Element(self.node, node_of(index)))

    def __iter__(self) -> Iterator[Expr]:
        raise TypeError("an expression cannot be iterated over: x.tags[1] is the first element of a list")

    def ascending(self, *, nulls_first: bool = False) -> ast.SortKey:
        """`e NULLS FIRST` in ORDER BY"""
        return ast.SortKey(self.node, False, nulls_first)

    def descending(self, *, nulls_first: bool = True) -> ast.SortKey:
        """`e DESC` in ORDER BY; NULL is the greatest value, unless `nulls_first` is False"""
        return ast.SortKey(self.node, True, nulls_first)

    def named(self, alias: str) -> ast.Item:
        """The expression as an item of SELECT with a name."""
        return ast.Item(self.node, alias)


class Variable:
    """A variable: `x.a` and `x["a"]` are its attributes, `x.each(g)` is `x[g]`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Expr:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return self[attribute]

    def __getitem__(self, attribute: str) -> Expr:
        return Expr(ast.Attribute(self._name, attribute))

    def each(self, condition: Expr) -> Expr:
        """`x[g]`: every event of the variable satisfies the condition, which names bare attributes."""
        return Expr(ast.Each(self._name, condition.node))

    def __repr__(self) -> str:
        return f"Variable({self._name!r})"


@dataclass(frozen=True)
class LastOf:
    """The event of a variable in the previous round: `lastof(y).v` and `lastof(y)["v"]` are its attributes."""

    _of: str

    def __getattr__(self, attribute: str) -> Expr:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return self[attribute]

    def __getitem__(self, attribute: str) -> Expr:
        return Expr(ast.LastOf(self._of, attribute))


def lastof(variable: Variable) -> LastOf:
    """`LASTOF(y)`: inside an iteration, the event of `y` in the previous round."""
    return LastOf(variable._name)


def running(aggregate: Expr) -> Expr:
    """`RUNNING sum(y.v)`: inside an iteration, the aggregate over the rounds so far, as `running(call("sum", y.v))`."""
    if not isinstance(aggregate.node, ast.Call):
        raise TypeError("RUNNING takes an aggregate: running(call('sum', y.v))")
    return Expr(ast.Running(aggregate.node))


def variables(*names: str) -> tuple[Variable, ...]:
    """Variables with these names."""
    return tuple(map(Variable, names))


def param(name: str) -> Expr:
    """`$name`: a value that `ensue.query(built, params={name: value})` gives; also a count of `repeated` and `limit`.

    In a text for a window or a gap it is written out: `within("$time")`, `then(B, "<= $n min")`.
    """
    if not name.isidentifier():
        raise ValueError(f"{name!r} is no name of a parameter: a letter, then letters, digits and _")
    return Expr(ast.Parameter(name))


def attribute(name: str) -> Expr:
    """A bare attribute name, for the condition of `x.each(...)`."""
    return Expr(ast.Name(name))


def call(function: str, *arguments: Value) -> Expr:
    """A function, a look-back (`call("prev", x.v)`) or an aggregate (`call("count", x)`)."""
    return Expr(ast.Call(function.lower(), tuple(map(node_of, arguments))))


def count_matches() -> Expr:
    """`count(*)`: how many matches there are, in `aggregate`."""
    return Expr(ast.Call("count", (ast.AllMatches(),)))


def count_distinct(value: Value) -> Expr:
    """`count(DISTINCT x.v)`: how many different values the events of a set have."""
    return Expr(ast.Call(ast.COUNT_DISTINCT, (node_of(value),)))


def case(*branches: tuple[Value, Value], of: Value = None, otherwise: Value = None) -> Expr:
    """`CASE WHEN c THEN r ... ELSE o END` of the pairs `(c, r)`; `of=e` makes `CASE e WHEN v THEN r ...`."""
    if not branches:
        raise ValueError("CASE needs a branch: case((condition, result), otherwise=other)")
    parts = tuple(node_of(value) for branch in branches for value in branch)
    operand = None if of is None else node_of(of)
    return Expr(ast.Case(operand, parts, None if otherwise is None else node_of(otherwise)))


def node_of(value: Value) -> ast.Expression:
    """The expression that a value of Python stands for."""
    match value:
        case Expr():
            return value.node
        case Variable():
            return ast.Name(value._name)
        case None:
            return ast.Literal(None, ast.LiteralType.NULL)
        case bool():
            return ast.Literal(value, ast.LiteralType.BOOLEAN)
        case int() if abs(value) < 2**63:
            number = ast.Literal(abs(value), ast.LiteralType.INTEGER)
            return ast.Unary("-", number) if value < 0 else number
        case float() if value == value and abs(value) != float("inf"):
            literal = ast.Literal(abs(value), ast.LiteralType.FLOAT)
            return ast.Unary("-", literal) if value < 0 else literal
        case str():
            return ast.Literal(value, ast.LiteralType.STRING)
    raise TypeError(f"{value!r} cannot stand in an expression")
