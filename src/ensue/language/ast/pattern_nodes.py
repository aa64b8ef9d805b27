"""Patterns: section 3 of the language page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ensue.language.ast.durations import EventCount, Interval
from ensue.language.ast.nodes import Node
from ensue.language.ast.value_nodes import Expression
from ensue.language.own import Own


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
