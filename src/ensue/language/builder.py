"""Builds queries in Python, for programs that make queries: the result is the same AST as from the text.

>>> T, H = types("T", "H")
>>> x, y = variables("x", "y")
>>> fire = (T.named(x) >> H.named(y)).where((x.temp > 40) & (y.hum < 25)).within("5 s")
>>> print(print_query(select(x, y.hum).from_("sensors").matching(fire).partition_by("id").build()))
SELECT x, y.hum
FROM sensors
WHERE T AS x ; H AS y
FILTER x.temp > 40 AND y.hum < 25
WITHIN 5 s
PARTITION BY id
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, cast

from ensue.language import ast
from ensue.language.parser import parse_interval, parse_query
from ensue.language.printer import print_query
from ensue.language.query_rules import partition_key

Value: TypeAlias = "Expr | Variable | bool | int | float | str | None"


# ---------------------------------------------------------------- expressions


class Expr:
    """An expression; Python's operators build larger ones, with `&`, `|`, `~` for AND, OR, NOT."""

    __hash__ = None  # type: ignore[assignment]  # == builds an expression

    def __init__(self, node: ast.Expression) -> None:
        self.node = node

    def _binary(self, operator: str, other: Value) -> Expr:
        return Expr(ast.Binary(operator, self.node, _node(other)))

    def _reflected(self, operator: str, other: Value) -> Expr:
        return Expr(ast.Binary(operator, _node(other), self.node))

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
        return Expr(ast.InList(self.node, tuple(map(_node, options)), negated=False))

    def not_in(self, *options: Value) -> Expr:
        """`e NOT IN (f, g)`"""
        return Expr(ast.InList(self.node, tuple(map(_node, options)), negated=True))

    def between(self, low: Value, high: Value) -> Expr:
        """`e BETWEEN f AND g`"""
        return Expr(ast.Between(self.node, _node(low), _node(high), negated=False))

    def like(self, pattern: Value) -> Expr:
        """`e LIKE f`"""
        return Expr(ast.Like(self.node, _node(pattern), negated=False))

    def ilike(self, pattern: Value) -> Expr:
        """`e ILIKE f`"""
        return Expr(ast.Like(self.node, _node(pattern), negated=False, any_case=True))

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
        return Expr(ast.Element(self.node, _node(index)))

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
    return Expr(ast.Call(function.lower(), tuple(map(_node, arguments))))


def count_matches() -> Expr:
    """`count(*)`: how many matches there are, in `aggregate`."""
    return Expr(ast.Call("count", (ast.AllMatches(),)))


def count_distinct(value: Value) -> Expr:
    """`count(DISTINCT x.v)`: how many different values the events of a set have."""
    return Expr(ast.Call(ast.COUNT_DISTINCT, (_node(value),)))


def case(*branches: tuple[Value, Value], of: Value = None, otherwise: Value = None) -> Expr:
    """`CASE WHEN c THEN r ... ELSE o END` of the pairs `(c, r)`; `of=e` makes `CASE e WHEN v THEN r ...`."""
    if not branches:
        raise ValueError("CASE needs a branch: case((condition, result), otherwise=other)")
    parts = tuple(_node(value) for branch in branches for value in branch)
    operand = None if of is None else _node(of)
    return Expr(ast.Case(operand, parts, None if otherwise is None else _node(otherwise)))


def _key(key: str | Expr | ast.Item) -> ast.PartitionKey:
    if isinstance(key, str):
        return ast.PartitionKey(key)
    e, alias = (key.expression, key.alias) if isinstance(key, ast.Item) else (key.node, None)
    return partition_key(e, alias, ast.NOWHERE)


def _node(value: Value) -> ast.Expression:
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


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True)
class Pat:
    """A pattern; `>>` is `;`, `|` is OR, `&` is AND, and the rest are methods."""

    node: ast.Pattern

    def named(self, variable: Variable | str) -> Pat:
        """`p AS x`"""
        return Pat(ast.As(self.node, variable if isinstance(variable, str) else variable._name))

    def __getitem__(self, condition: Expr) -> Pat:
        """`T[g]`: one event that satisfies a condition over bare attributes, `T[attribute("v") > 1]`"""
        if not isinstance(self.node, ast.Type | ast.Any):
            raise TypeError("a condition in brackets is of one event: T[g] or ANY[g]; else write p.where(f)")
        return Pat(ast.Satisfying(self.node, condition.node))

    def __iter__(self) -> Iterator[Pat]:
        raise TypeError("a pattern cannot be iterated over")

    def where(self, condition: Expr) -> Pat:
        """`p FILTER f`"""
        return Pat(ast.Filter(self.node, condition.node))

    def within(self, window: str | int | Expr) -> Pat:
        """`p WITHIN I`: a duration ("5 s"), an interval ("> 2 s, <= 5 s"), or a number of events."""
        if not isinstance(window, str):
            return Pat(ast.Within(self.node, ast.EventCount(_count(window))))
        return Pat(ast.Within(self.node, _interval(window)))

    def then(self, other: Pat, gap: str | None = None) -> Pat:
        """`p ; q`, with a gap `p ;[I] q`"""
        return Pat(ast.Sequence(self.node, other.node, ast.Link.THEN, _gap(gap)))

    def directly(self, other: Pat, gap: str | None = None) -> Pat:
        """`p : q`, with a gap `p :[I] q`"""
        return Pat(ast.Sequence(self.node, other.node, ast.Link.DIRECTLY, _gap(gap)))

    def followed_by(self, other: Pat, gap: str | None = None) -> Pat:
        """`p -> q`, with a gap `p ->[I] q`: the next event that `q` can start with"""
        return Pat(ast.Sequence(self.node, other.node, ast.Link.NEXT, _gap(gap)))

    def __rshift__(self, other: Pat) -> Pat:
        return self.then(other)

    def __or__(self, other: Pat) -> Pat:
        return Pat(ast.Or(self.node, other.node))

    def __and__(self, other: Pat) -> Pat:
        return Pat(ast.And(self.node, other.node))

    def all(self, other: Pat) -> Pat:
        """`p ALL q`"""
        return Pat(ast.All(self.node, other.node))

    def unless(self, absent: Pat) -> Pat:
        """`p UNLESS q`"""
        return Pat(ast.Unless(self.node, absent.node))

    def after(self, past: Pat | None) -> Pat:
        """`p AFTER q`: all that stands before is a match of `q`; with None, `p AFTER ()`: nothing stands before"""
        return Pat(ast.After(self.node, None if past is None else past.node))

    def span(self, variable: Variable | str) -> Pat:
        """`SPAN(p) AS w`: the window of all events from the first to the last"""
        return Pat(ast.SpanOf(self.node, variable if isinstance(variable, str) else variable._name))

    def without(self, absent: Pat, then: Pat, gap: str | None = None) -> Pat:
        """`p ; NOT q ; r`, with a gap from the end of `p` to the start of `r`: `p ; NOT q ;[I] r`"""
        return Pat(ast.NotBetween(self.node, absent.node, then.node, _gap(gap)))

    def not_followed_by(self, absent: Pat, within: str) -> Pat:
        """`p ; NOT q WITHIN d`: the deadline is a duration ("10 min") or an upper bound ("< 10 min")."""
        return Pat(ast.NotAfter(self.node, absent.node, _interval(within)))

    def not_preceded_by(self, absent: Pat, within: str) -> Pat:
        """`NOT q WITHIN d ; p`: the time before is a duration ("10 min") or an upper bound ("< 10 min")."""
        return Pat(ast.NotBefore(absent.node, _interval(within), self.node))

    def repeated(
        self,
        low: int | Expr = 1,
        high: int | Expr | None = None,
        *,
        link: ast.Link | str = ast.Link.THEN,
        gap: str | None = None,
    ) -> Pat:
        """`p+` and, with counts, `p{n,m}`; `link=":"` and `link="->"` make the other forms."""
        least, most = _count(low), None if high is None else _count(high)
        known = isinstance(low, int) and isinstance(high, int | None)
        if known and (least < 1 or (most is not None and most < least)):
            raise ValueError(f"an iteration of {low} to {high} rounds matches nothing; for none, use optional()")
        return Pat(ast.Iteration(self.node, least, most, ast.Link(link), _gap(gap)))

    def optional(self) -> Pat:
        """`p?`"""
        return Pat(ast.Optional(self.node))

    def strict(self) -> Pat:
        """`STRICT(p)`"""
        return Pat(ast.Select(ast.Selector.STRICT, self.node))

    def next(self) -> Pat:
        """`NEXT(p)`"""
        return Pat(ast.Select(ast.Selector.NEXT, self.node))

    def last(self) -> Pat:
        """`LAST(p)`"""
        return Pat(ast.Select(ast.Selector.LAST, self.node))

    def max(self) -> Pat:
        """`MAX(p)`"""
        return Pat(ast.Select(ast.Selector.MAX, self.node))

    def project(self, *kept: Variable) -> Pat:
        """`PROJECT x, y (p)`"""
        return Pat(ast.Project(tuple(v._name for v in kept), self.node))


@dataclass(frozen=True)
class Windows:
    """The clause `WINDOW w AS (AFTER q IS p UNTIL r) OR ...`: each `being` adds a pair, which `after` may begin."""

    variable: str
    pairs: tuple[ast.Pattern, ...] = ()
    past: tuple[ast.Pattern | None, ...] = ()  # of the pair that `being` completes, if it has one

    def after(self, past: Pat | None) -> Windows:
        """`AFTER q`: what stands before a window; with None, `AFTER ()`: nothing does"""
        return dataclasses.replace(self, past=(None if past is None else past.node,))

    def being(self, pattern: Pat) -> Windows:
        """`IS p`: what a window's events are"""
        pair = ast.After(pattern.node, self.past[0]) if self.past else pattern.node
        return dataclasses.replace(self, pairs=(*self.pairs, pair), past=())

    def given_by(self, formula: Pat) -> Windows:
        """`(b TO e WHERE f)`, as `given_by(from_to(b, e, f))`"""
        return dataclasses.replace(self, pairs=(*self.pairs, formula.node))

    def until(self, closing: Pat | None = None, *, or_end: bool = False) -> Windows:
        """`UNTIL r`, of the pair before: what closes its windows; with `or_end`, `UNTIL (r OR END)` or `UNTIL END`"""
        if not self.pairs or self.past:
            raise ValueError("until(...) stands behind being(...): window('w').being(p).until(r)")
        if closing is None and not or_end:
            raise ValueError("until(...) takes a pattern, or_end=True, or both")
        *before, pair = self.pairs
        if isinstance(pair, ast.Until):
            raise ValueError("a pair has one until(...); several things that close a window are p | q")
        closed = ast.Until(pair, None if closing is None else closing.node, or_end)
        return dataclasses.replace(self, pairs=(*before, closed))

    @property
    def node(self) -> ast.Pattern:
        """The pattern of the windows."""
        if not self.pairs or self.past:
            raise ValueError("a window needs being(...): window('w').after(q).being(p)")
        return ast.SpanOf(reduce(ast.Or, self.pairs), self.variable)

    def where(self, condition: Expr) -> Pat:
        """`FILTER f`, as on aggregates of the window"""
        return Pat(self.node).where(condition)

    def within(self, window: str | int | Expr) -> Pat:
        """`WITHIN I`"""
        return Pat(self.node).within(window)


def window(variable: Variable | str) -> Windows:
    """Begins the clause that defines windows: `window("w").after(q).being(p).until(r)`."""
    return Windows(variable if isinstance(variable, str) else variable._name)


def types(*names: str) -> tuple[Pat, ...]:
    """Event types with these names, each as the pattern of one event of that type."""
    return tuple(Pat(ast.Type(n)) for n in names)


#: The pattern of one event of any type.
ANY = Pat(ast.Any())


def _interval(text: str) -> ast.Interval:
    inner = text.strip().removeprefix("[").removesuffix("]").strip()
    written = f"[{inner}]" if inner[:1] in "<>=" or ".." in inner else f"[<= {inner}]"
    return ast.WrittenInterval(None, None, written) if "$" in written else parse_interval(written)


def _upper(interval: ast.Interval) -> ast.Duration:
    """The length of a bucket of time, read as the upper bound of an interval."""
    if interval.high is None or interval.low is not None:
        raise ValueError("every takes a time, such as '1 h'")
    return interval.high.duration


def _count(value: int | Expr) -> int:
    """A whole number of the tree. A parameter stands for one until the query is printed, and read with its values."""
    if isinstance(value, int):
        return value
    if isinstance(value.node, ast.Parameter):
        return cast(int, value.node)
    raise TypeError("a count is a whole number or param(...)")


def _gap(text: str | None) -> ast.Interval | None:
    return None if text is None else _interval(text)


# ---------------------------------------------------------------- queries


@dataclass(frozen=True)
class Select:
    """A query under construction; `build` completes it."""

    items: tuple[ast.Item, ...] | None
    streams: tuple[str, ...] = ()
    pattern: Pat | Windows | None = None
    selector: ast.Selector = ast.Selector.ALL
    keys: tuple[str | Expr | ast.Item, ...] = ()
    policy: ast.Consume = ast.Consume.NONE
    most: int | None = None
    per: ast.Per = ast.Per.RESULT
    order: tuple[ast.SortKey, ...] = ()
    expected: Pat | None = None
    aggregation: ast.Aggregation | None = None

    def from_(self, *streams: str) -> Select:
        """`FROM s, t`"""
        return dataclasses.replace(self, streams=streams)

    def matching(self, pattern: Pat | Windows) -> Select:
        """`WHERE p`, and `WINDOW w AS ...`"""
        return dataclasses.replace(self, pattern=pattern)

    def selecting(self, selector: str) -> Select:
        """The selector after SELECT, such as `NEXT`."""
        return dataclasses.replace(self, selector=ast.Selector(selector.upper()))

    def partition_by(self, *keys: str | Expr | ast.Item) -> Select:
        """`PARTITION BY k, date(time) AS day`: attributes, or expressions over them, which may be `named`."""
        return dataclasses.replace(self, keys=keys)

    def consume_by(self, policy: str) -> Select:
        """`CONSUME BY`: `ANY`, `PARTITION` or `NONE`."""
        return dataclasses.replace(self, policy=ast.Consume(policy.upper()))

    def group_by(self, *keys: str, every: str | None = None, end: bool = False) -> Select:
        """`GROUP BY k, EVERY 1 h` of an `aggregate`, as `group_by("k", every="1 h")`; `end=True` is `GROUP BY END`."""
        if self.aggregation is None:
            raise ValueError("group_by goes with aggregate(...): select gives one row a match")
        length = None if every is None else _upper(_interval(every))
        grouped = ast.Aggregation(self.aggregation.items, tuple(map(ast.GroupKey, keys)), length, end)
        return dataclasses.replace(self, aggregation=grouped)

    def order_by(self, *keys: Expr | ast.SortKey) -> Select:
        """`ORDER BY e, f DESC`, as `order_by(x.v, y.v.descending())`; `attribute("n")` names a column of the result."""
        made = (k if isinstance(k, ast.SortKey) else ast.SortKey(k.node) for k in keys)
        return dataclasses.replace(self, order=tuple(made))

    def limit(self, most: int | Expr, *, per: str = "result") -> Select:
        """`LIMIT n`, and with `per="end"` or `per="partition"` the other forms"""
        return dataclasses.replace(self, most=_count(most), per=ast.Per(per.upper()))

    def expecting(self, pattern: Pat) -> Select:
        """`EXPECT (p)`: every beginning of the stream is one of a stream that `p` spans"""
        return dataclasses.replace(self, expected=pattern)

    def build(self, params: Mapping[str, Any] | None = None) -> ast.Query:
        """Returns the AST, printed and parsed once, so that every node has a span in a readable text.

        `params` are the values of the parameters.
        """
        if self.pattern is None or not self.streams:
            raise ValueError("a query needs from_(...) and matching(...)")
        query = ast.Query(
            items=self.items,
            streams=self.streams,
            pattern=self.pattern.node,
            selector=self.selector,
            partition=tuple(map(_key, self.keys)),
            consume=self.policy,
            limit=self.most,
            per=self.per,
            order=self.order,
            expect=None if self.expected is None else self.expected.node,
            aggregation=self.aggregation,
        )
        return parse_query(print_query(query), params)


def select(*items: Expr | Variable | ast.Item) -> Select:
    """Starts a query; without items, it is `SELECT *`."""
    made = tuple(i if isinstance(i, ast.Item) else ast.Item(_node(i)) for i in items)
    return Select(made or None)


def aggregate(*items: ast.Item) -> Select:
    """Starts an `AGGREGATE` query; each item is named, as in `aggregate(count_matches().named("n"))`."""
    if not items:
        raise ValueError("aggregate needs an item: aggregate(count_matches().named('n'))")
    made = tuple(i if isinstance(i, ast.Item) else ast.Item(_node(i)) for i in items)
    return Select(None, aggregation=ast.Aggregation(made))
