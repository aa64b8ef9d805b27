"""The abstract syntax of a query: small immutable nodes, each with the span of text that it came from.

Equality ignores spans, so a test can ask `parse(print(q)) == q` directly. Patterns mirror the table in section 3 of
the language page, expressions section 4, and `Query` section 6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

from ensue.errors import Span
from ensue.language.own import Own

NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Node:
    """The base of all nodes: a span that equality ignores."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# ---------------------------------------------------------------- durations, intervals, windows

#: Every spelling of a time unit, and the unit it stands for.
UNITS: dict[str, str] = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("us", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
NANOSECONDS: dict[str, int] = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}


@dataclass(frozen=True)
class Duration(Node):
    """An exact length of time, such as `1.5 s`."""

    amount: Decimal
    unit: str

    def nanoseconds(self) -> Fraction:
        return Fraction(self.amount) * NANOSECONDS[self.unit]


@dataclass(frozen=True)
class Bound(Node):
    duration: Duration
    inclusive: bool


@dataclass(frozen=True)
class Interval(Node):
    """A set of time differences between two bounds; a missing bound leaves that side open."""

    low: Bound | None
    high: Bound | None

    def contains(self, nanoseconds: float | Fraction) -> bool:
        if self.low is not None:
            low = self.low.duration.nanoseconds()
            if nanoseconds < low or (nanoseconds == low and not self.low.inclusive):
                return False
        if self.high is not None:
            high = self.high.duration.nanoseconds()
            if nanoseconds > high or (nanoseconds == high and not self.high.inclusive):
                return False
        return True

    def is_empty(self) -> bool:
        """Whether the interval contains no time difference (differences are never negative: a stream is ordered)."""
        low = self.low.duration.nanoseconds() if self.low else Fraction(0)
        low_inclusive = self.low.inclusive if self.low else True
        if self.high is None:
            return False
        high = self.high.duration.nanoseconds()
        return high < low or (high == low and not (low_inclusive and self.high.inclusive))


@dataclass(frozen=True)
class WrittenInterval(Interval):
    """An interval with parameters, in what the builder makes: its text is read when these have values."""

    text: str = ""


@dataclass(frozen=True)
class EventCount(Node):
    """The window `n EVENTS`."""

    count: int


# ---------------------------------------------------------------- expressions


class LiteralType(StrEnum):
    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    STRING = "string"


@dataclass(frozen=True)
class Expression(Node):
    pass


@dataclass(frozen=True)
class Literal(Expression):
    """A constant. The type is a field because 1, 1.0 and TRUE are equal in Python but must differ here."""

    value: bool | int | float | str | None
    type: LiteralType


@dataclass(frozen=True)
class DurationLiteral(Expression):
    duration: Duration


@dataclass(frozen=True)
class Parameter(Expression):
    """`$name`, in what the builder makes; a query that was read has values in the places of its parameters."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True)
class Name(Expression):
    """A bare name: an attribute inside `x[...]`, a whole variable in items and in `count(x)`."""

    name: str


@dataclass(frozen=True)
class InRegister(Expression):
    """What a field of the register of an automaton holds when a match of it ends; in a text it is a bare name."""

    name: str
    type: LiteralType


@dataclass(frozen=True)
class Attribute(Expression):
    """`x.a`"""

    variable: str
    name: str


@dataclass(frozen=True)
class LastOf(Expression):
    """`LASTOF(y).a`: attribute `a` of the event that `y` marked in the previous round of the enclosing iteration."""

    variable: str
    name: str


@dataclass(frozen=True)
class Field(Expression):
    """`e.a`: field `a` of a struct, as in `x.user.id`."""

    of: Expression
    name: str


@dataclass(frozen=True)
class Element(Expression):
    """`e[i]`: an element of a list, counted from 1, or the value of a key of a map."""

    of: Expression
    index: Expression


@dataclass(frozen=True)
class Each(Expression):
    """`x[g]`: every event of `x` satisfies `g`."""

    variable: str
    condition: Expression


@dataclass(frozen=True)
class Unary(Expression):
    """`-e` or `NOT e`."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """Arithmetic, comparison, `||`, `AND`, `OR`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class IsNull(Expression):
    operand: Expression
    negated: bool


@dataclass(frozen=True)
class InList(Expression):
    operand: Expression
    options: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True)
class Between(Expression):
    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True)
class Like(Expression):
    """`e LIKE p`, and `e ILIKE p`, which takes small and capital letters as the same."""

    operand: Expression
    pattern: Expression
    negated: bool
    any_case: bool = False


@dataclass(frozen=True)
class Case(Expression):
    """`CASE WHEN c THEN r ... ELSE o END`, and `CASE e WHEN v THEN r ... END` where `operand` is `e`."""

    operand: Expression | None
    parts: tuple[Expression, ...]  # a condition, its result, the next condition, ...
    otherwise: Expression | None

    @property
    def branches(self) -> list[tuple[Expression, Expression]]:
        """Each condition (with an operand, the value it is compared with) with its result."""
        return list(zip(self.parts[::2], self.parts[1::2], strict=True))


#: Every spelling of a type in CAST, and the type it stands for.
CAST_TYPES: dict[str, str] = {
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("integer", "int", "bigint", "long"), "integer"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("string", "text", "varchar"), "string"),
    **dict.fromkeys(("timestamp", "datetime"), "timestamp"),
    "timestamptz": "timestamptz",
}


@dataclass(frozen=True)
class Cast(Expression):
    """`CAST(e AS type)` and `e::type`; the type is one of the values of `CAST_TYPES`."""

    operand: Expression
    type: str


@dataclass(frozen=True)
class AtTimeZone(Expression):
    """`e AT TIME ZONE 'Europe/Madrid'`"""

    operand: Expression
    zone: str


@dataclass(frozen=True)
class AllMatches(Expression):
    """The `*` of `count(*)`."""


#: The name of `count(DISTINCT e)`, which no text of a query can have.
COUNT_DISTINCT = "count distinct"


@dataclass(frozen=True)
class Call(Expression):
    """A function, a look-back `PREV(x.a, k)` or an aggregate. The name is in lower case.

    `own` is the function or aggregate of the user's own that the name stands for, once that is known.
    """

    function: str
    arguments: tuple[Expression, ...]
    own: Own | None = None

    @property
    def shown(self) -> str:
        """The name of the function as messages show it."""
        return "count(DISTINCT)" if self.function == COUNT_DISTINCT else self.function


@dataclass(frozen=True)
class Running(Expression):
    """`RUNNING sum(y.a)`: the aggregate over the rounds so far of an iteration, this one included."""

    aggregate: Call


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True)
class Pattern(Node):
    pass


@dataclass(frozen=True)
class Type(Pattern):
    """`T`: one event of type `T`."""

    name: str


@dataclass(frozen=True)
class Any(Pattern):
    """`ANY`: one event of any type."""


@dataclass(frozen=True)
class Satisfying(Pattern):
    """`T[g]`, `ANY[g]`: one event that satisfies `g`, a condition over bare attribute names."""

    body: Pattern
    condition: Expression


@dataclass(frozen=True)
class As(Pattern):
    body: Pattern
    variable: str


@dataclass(frozen=True)
class Filter(Pattern):
    body: Pattern
    condition: Expression


class Link(StrEnum):
    """How one step, or one round, follows the other; as a step it is written like this."""

    THEN = ";"
    DIRECTLY = ":"
    NEXT = "->"


@dataclass(frozen=True)
class Sequence(Pattern):
    """`p ; q`, `p : q`, `p -> q` and their timed forms."""

    left: Pattern
    right: Pattern
    link: Link = Link.THEN
    gap: Interval | None = None


@dataclass(frozen=True)
class Iteration(Pattern):
    """`p+`, `p{n,m}`, the same with `:` and `->`, timed or not; if `high` is None, there is no upper limit."""

    body: Pattern
    low: int = 1
    high: int | None = None
    link: Link = Link.THEN
    gap: Interval | None = None
    absent: Pattern | None = None  # what must not occur between two rounds, once a rewriting has spelled out `->`


@dataclass(frozen=True)
class Optional(Pattern):
    """`p?`, in a sequence."""

    body: Pattern


@dataclass(frozen=True)
class NotBetween(Pattern):
    """`p ; NOT q ; r` and `p ; NOT q ;[I] r`, where the interval is from the end of `p` to the start of `r`."""

    left: Pattern
    absent: Pattern
    right: Pattern
    gap: Interval | None = None


@dataclass(frozen=True)
class NotAfter(Pattern):
    """`p ; NOT q WITHIN d`: an absence with a deadline; the deadline is an interval with an upper bound only."""

    body: Pattern
    absent: Pattern
    deadline: Interval


@dataclass(frozen=True)
class NotBefore(Pattern):
    """`NOT q WITHIN d ; p`: no `q` ended before `p` starts and started at most `d` before that start."""

    absent: Pattern
    deadline: Interval
    body: Pattern


@dataclass(frozen=True)
class Or(Pattern):
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class And(Pattern):
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class All(Pattern):
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Unless(Pattern):
    body: Pattern
    absent: Pattern


@dataclass(frozen=True)
class Within(Pattern):
    body: Pattern
    window: Interval | EventCount


@dataclass(frozen=True)
class SpanOf(Pattern):
    """`SPAN(p) AS w`: a window, all events from the first to the last of a complex event of `p`."""

    body: Pattern
    variable: str


@dataclass(frozen=True)
class After(Pattern):
    """`p AFTER q`: all that stands before `p` is a complex event of `q`; None, in text `()`, is no event at all."""

    body: Pattern
    past: Pattern | None


@dataclass(frozen=True)
class Matches(Pattern):
    """`MATCHES name`: the matches of an automaton of the user's own, once that is known."""

    name: str
    own: Own | None = None


@dataclass(frozen=True)
class Until(Pattern):
    """`IS p UNTIL r`, a pair of the clause WINDOW: of `p`, and a complex event of `r` starts directly behind it.

    With `or_end`, in text `UNTIL (r OR END)` and `UNTIL END`, also if it is known that nothing follows.
    """

    body: Pattern
    closing: Pattern | None
    or_end: bool = False


#: The patterns with something that must not occur.
Absence = Unless | NotBetween | NotAfter | NotBefore


class Selector(StrEnum):
    ALL = "ALL"
    NEXT = "NEXT"
    LAST = "LAST"
    MAX = "MAX"
    STRICT = "STRICT"


@dataclass(frozen=True)
class Select(Pattern):
    """`NEXT(p)`, `LAST(p)`, `MAX(p)`, `STRICT(p)`."""

    selector: Selector
    body: Pattern


@dataclass(frozen=True)
class Project(Pattern):
    """`PROJECT x, y (p)`"""

    variables: tuple[str, ...]
    body: Pattern


# ---------------------------------------------------------------- queries


class Consume(StrEnum):
    NONE = "NONE"
    PARTITION = "PARTITION"
    ANY = "ANY"


@dataclass(frozen=True)
class Item(Node):
    expression: Expression
    alias: str | None = None


class Per(StrEnum):
    """Of what `LIMIT n` takes `n` rows; the whole result is what a query says without PER."""

    RESULT = "RESULT"
    END = "END"
    PARTITION = "PARTITION"


@dataclass(frozen=True)
class SortKey(Node):
    """`e DESC NULLS FIRST`. Without a word about NULLs they count as the greatest value."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class PartitionKey(Node):
    """`k`, or a computed key: then `attribute` names the column of its values, and is made up from its text."""

    attribute: str
    expression: Expression | None = None
    alias: str | None = None


@dataclass(frozen=True)
class GroupKey(Node):
    """A key of PARTITION BY, by the name of its column."""

    name: str


@dataclass(frozen=True)
class Aggregation(Node):
    """What `AGGREGATE` asks of all matches together, and their groups: of keys, of buckets of time, or of each end."""

    items: tuple[Item, ...]
    keys: tuple[GroupKey, ...] = ()
    every: Duration | None = None
    per_end: bool = False

    @property
    def grouped(self) -> bool:
        """Whether there is a GROUP BY: without one, there is always one row."""
        return bool(self.keys) or self.every is not None or self.per_end


@dataclass(frozen=True)
class Query(Node):
    """A whole query. If `items` is None, it is `*`. Query-level FILTER and WITHIN are suffixes of the pattern.

    With an `aggregation` the matches are those of `SELECT *`.
    """

    items: tuple[Item, ...] | None
    streams: tuple[str, ...]
    pattern: Pattern
    selector: Selector = Selector.ALL
    partition: tuple[PartitionKey, ...] = ()
    consume: Consume = Consume.NONE
    limit: int | None = None
    per: Per = Per.RESULT
    order: tuple[SortKey, ...] = ()
    expect: Pattern | None = None  # what the user says of the stream; it changes no result
    aggregation: Aggregation | None = None
    #: The spans of parts that are not nodes: "items", "stream 0", "LIMIT".
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)


# ---------------------------------------------------------------- walking

N = TypeVar("N", bound=Node)


_FIELDS: dict[type[Node], tuple[str, ...]] = {}


def _fields(kind: type[Node]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(f.name for f in dataclasses.fields(kind))
    return _FIELDS[kind]


def children(node: Node) -> Iterator[Node]:
    """The direct children of the node, in the order of the text."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Node))


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, without recursion, so that deep input cannot overflow the stack."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def find(node: Node, kind: type[N]) -> Iterator[N]:
    return (n for n in walk(node) if isinstance(n, kind))


def rebuilt(node: N, by: Callable[[Node], Node | None]) -> N:
    """The node with each part replaced for which `by` returns another; replacements are not searched again."""
    other = by(node)
    if other is not None:
        return other  # type: ignore[return-value]
    changes: dict[str, object] = {}
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            changes[name] = rebuilt(value, by)
        elif isinstance(value, tuple):
            changes[name] = tuple(rebuilt(v, by) if isinstance(v, Node) else v for v in value)
    return dataclasses.replace(node, **changes)  # type: ignore[arg-type]


def replaced(e: Expression, by: Callable[[Expression], Expression | None]) -> Expression:
    """The expression with each part replaced for which `by` returns another; replacements are not searched again."""
    other = by(e)
    if other is not None:
        return other
    changes: dict[str, object] = {}
    for name in _fields(type(e)):
        value = getattr(e, name)
        if isinstance(value, Expression):
            changes[name] = replaced(value, by)
        elif isinstance(value, tuple):
            changes[name] = tuple(replaced(v, by) if isinstance(v, Expression) else v for v in value)
    return dataclasses.replace(e, **changes)  # type: ignore[arg-type]
