"""The builder's patterns, and the clause that defines windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import cast

from ensue.language import ast
from ensue.language.expression_builder import Expr, Variable
from ensue.language.parser import parse_interval


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
            return Pat(ast.Within(self.node, ast.EventCount(count_of(window))))
        return Pat(ast.Within(self.node, interval_of(window)))

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
        return Pat(ast.NotAfter(self.node, absent.node, interval_of(within)))

    def not_preceded_by(self, absent: Pat, within: str) -> Pat:
        """`NOT q WITHIN d ; p`: the time before is a duration ("10 min") or an upper bound ("< 10 min")."""
        return Pat(ast.NotBefore(absent.node, interval_of(within), self.node))

    def repeated(
        self,
        low: int | Expr = 1,
        high: int | Expr | None = None,
        *,
        link: ast.Link | str = ast.Link.THEN,
        gap: str | None = None,
    ) -> Pat:
        """`p+` and, with counts, `p{n,m}`; `link=":"` and `link="->"` make the other forms."""
        least, most = count_of(low), None if high is None else count_of(high)
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


def interval_of(text: str) -> ast.Interval:
    """An interval as a text says it, with or without brackets; one bound alone is the upper one."""
    inner = text.strip().removeprefix("[").removesuffix("]").strip()
    written = f"[{inner}]" if inner[:1] in "<>=" or ".." in inner else f"[<= {inner}]"
    return ast.WrittenInterval(None, None, written) if "$" in written else parse_interval(written)


def count_of(value: int | Expr) -> int:
    """A whole number of the tree. A parameter stands for one until the query is printed, and read with its values."""
    if isinstance(value, int):
        return value
    if isinstance(value.node, ast.Parameter):
        return cast(int, value.node)
    raise TypeError("a count is a whole number or param(...)")


def _gap(text: str | None) -> ast.Interval | None:
    return None if text is None else interval_of(text)
