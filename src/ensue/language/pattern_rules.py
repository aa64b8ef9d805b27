"""The tree of a pattern, and of the intervals and windows in it."""

from __future__ import annotations

from typing import Any as Anything

from lark import Token, Transformer_NonRecursive, v_args
from lark.tree import Meta

from ensue.errors import Span
from ensue.language import ast
from ensue.language.duration_parts import duration_of
from ensue.language.rule_support import Refused, span_of, token_span, unquoted, whole_number


@v_args(inline=True, meta=True)
class PatternRules(Transformer_NonRecursive):  # type: ignore[type-arg]
    """One method for each rule of section 3 of the language page."""

    def filter(self, meta: Meta, body: ast.Pattern, _f: Token, condition: ast.Expression) -> ast.Pattern:
        return ast.Filter(body, condition, span=span_of(meta))

    def within(self, meta: Meta, body: ast.Pattern, _w: Token, window: Anything) -> ast.Pattern:
        return ast.Within(body, window, span=span_of(meta))

    def unless_(self, meta: Meta, body: ast.Pattern, _u: Token, absent: ast.Pattern) -> ast.Pattern:
        return ast.Unless(body, absent, span=span_of(meta))

    def or_(self, meta: Meta, left: ast.Pattern, _o: Token, right: ast.Pattern) -> ast.Pattern:
        return ast.Or(left, right, span=span_of(meta))

    def and_(self, meta: Meta, left: ast.Pattern, _a: Token, right: ast.Pattern) -> ast.Pattern:
        return ast.And(left, right, span=span_of(meta))

    def all_(self, meta: Meta, left: ast.Pattern, _a: Token, right: ast.Pattern) -> ast.Pattern:
        return ast.All(left, right, span=span_of(meta))

    def then(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        return self._sequence(meta, left, ast.Link.THEN, rest)

    def directly(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        return self._sequence(meta, left, ast.Link.DIRECTLY, rest)

    def next_(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        return self._sequence(meta, left, ast.Link.NEXT, rest)

    def _sequence(self, meta: Meta, left: ast.Pattern, link: ast.Link, rest: Anything) -> ast.Pattern:
        *gap, right = rest
        return ast.Sequence(left, right, link, gap[0] if gap else None, span=span_of(meta))

    def not_between(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        *between, right = rest
        absent = [part for part in between if isinstance(part, ast.Pattern)]
        gap = between[-1] if len(between) > len(absent) else None
        return ast.NotBetween(left, neither(absent), right, gap, span=span_of(meta))

    def not_before(self, meta: Meta, *parts: Anything) -> ast.Pattern:
        _not, absent, _within, deadline, body = parts
        check_deadline(deadline)
        return ast.NotBefore(absent, deadline, body, span=span_of(meta))

    def not_after(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        *before, _not, last, _within, deadline = rest
        check_deadline(deadline)
        return ast.NotAfter(left, neither([*before, last]), deadline, span=span_of(meta))

    def absent(self, _meta: Meta, _not: Token, pattern: ast.Pattern) -> ast.Pattern:
        return pattern

    def as_(self, meta: Meta, body: ast.Pattern, _as: Token, name: tuple[str, Span]) -> ast.Pattern:
        return ast.As(body, name[0], span=span_of(meta))

    def optional(self, meta: Meta, body: ast.Pattern) -> ast.Pattern:
        return ast.Optional(body, span=span_of(meta))

    def star_(self, meta: Meta, body: ast.Pattern, _star: Token, *gap: Anything) -> ast.Pattern:
        return ast.Optional(self.plus(meta, body, *gap), span=span_of(meta))

    def star_directly(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Optional(self.plus_directly(meta, body, *gap), span=span_of(meta))

    def plus(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Iteration(body, gap=gap[-1] if gap else None, span=span_of(meta))

    def plus_directly(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Iteration(body, link=ast.Link.DIRECTLY, gap=gap[-1] if gap else None, span=span_of(meta))

    def plus_next(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Iteration(body, link=ast.Link.NEXT, gap=gap[-1] if gap else None, span=span_of(meta))

    def repeat(self, meta: Meta, body: ast.Pattern, times: Anything, *gap: Anything) -> ast.Pattern:
        return self._repeat(meta, body, times, gap, ast.Link.THEN)

    def repeat_directly(self, meta: Meta, body: ast.Pattern, times: Anything, *gap: Anything) -> ast.Pattern:
        return self._repeat(meta, body, times, gap, ast.Link.DIRECTLY)

    def repeat_next(self, meta: Meta, body: ast.Pattern, times: Anything, *gap: Anything) -> ast.Pattern:
        return self._repeat(meta, body, times, gap, ast.Link.NEXT)

    def _repeat(self, meta: Meta, body: ast.Pattern, times: Anything, gap: Anything, link: ast.Link) -> ast.Pattern:
        low, high, where = times
        if high is not None and (high < low or high == 0):
            message = "an iteration of no rounds" if high == 0 else f"an iteration of at least {low} and at most {high}"
            raise Refused(f"{message} matches nothing", where)
        span = span_of(meta)
        node = ast.Iteration(body, max(low, 1), high, link, gap[0] if gap else None, span=span)
        return node if low else ast.Optional(node, span=span)

    def exactly(self, meta: Meta, count: Token) -> Anything:
        return whole_number(count), whole_number(count), span_of(meta)

    def at_least(self, meta: Meta, count: Token) -> Anything:
        return whole_number(count), None, span_of(meta)

    def from_to(self, meta: Meta, low: Token, high: Token) -> Anything:
        return whole_number(low), whole_number(high), span_of(meta)

    def type(self, meta: Meta, name: tuple[str, Span]) -> ast.Pattern:
        return ast.Type(name[0], span=span_of(meta))

    def matches(self, meta: Meta, _matches: Token, name: Token) -> ast.Pattern:
        return ast.Matches(unquoted(name), span=span_of(meta))

    def any(self, meta: Meta, _any: Token) -> ast.Pattern:
        return ast.Any(span=span_of(meta))

    def group(self, _meta: Meta, inner: ast.Node) -> ast.Node:
        return inner

    def select(self, meta: Meta, keyword: Token, body: ast.Pattern) -> ast.Pattern:
        return ast.Select(ast.Selector(keyword.upper()), body, span=span_of(meta))

    def project(self, meta: Meta, _p: Token, names: Anything, body: ast.Pattern) -> ast.Pattern:
        return ast.Project(tuple(n for n, _ in names), body, span=span_of(meta))

    def project_nothing(self, meta: Meta, _p: Token, body: ast.Pattern) -> ast.Pattern:
        return ast.Project((), body, span=span_of(meta))

    # -- intervals

    def up_to(self, meta: Meta, *parts: Token) -> ast.Interval | ast.EventCount:
        span = span_of(meta)
        number, unit = parts[:2]
        if len(parts) == 2 and unit.lower() in ("event", "events"):
            if number.type != "INTEGER":
                raise Refused("a number of events is a whole number", token_span(number))
            return ast.EventCount(whole_number(number), span=span)
        return ast.Interval(None, ast.Bound(duration_of(parts, span), True, span=span), span=span)

    def window_interval(self, _meta: Meta, interval: ast.Interval) -> ast.Interval:
        return interval

    def bounds(self, meta: Meta, *bounds: tuple[str, ast.Duration]) -> ast.Interval:
        low: ast.Bound | None = None
        high: ast.Bound | None = None
        for operator, duration in bounds:
            bound = ast.Bound(duration, operator in ("<=", ">=", "="), span=duration.span)
            if operator in (">", ">=", "="):
                if low is not None:
                    raise Refused("a second lower bound in the interval", duration.span)
                low = bound
            if operator in ("<", "<=", "="):
                if high is not None:
                    raise Refused("a second upper bound in the interval", duration.span)
                high = bound
        return ast.Interval(low, high, span=span_of(meta))

    def closed(self, meta: Meta, low: ast.Duration, high: ast.Duration) -> ast.Interval:
        bounds = (ast.Bound(low, True, span=low.span), ast.Bound(high, True, span=high.span))
        return ast.Interval(*bounds, span=span_of(meta))

    def bound(self, _meta: Meta, operator: Token, duration: ast.Duration) -> tuple[str, ast.Duration]:
        return operator.value, duration

    def duration(self, meta: Meta, *parts: Token) -> ast.Duration:
        return duration_of(parts, span_of(meta))

    def number(self, _meta: Meta, token: Token) -> Token:
        return token


def neither(absent: list[ast.Pattern]) -> ast.Pattern:
    """Combines `NOT q1 ; NOT q2`, which excludes both, into `NOT (q1 OR q2)`."""
    one, *more = absent
    for other in more:
        one = ast.Or(one, other, span=one.span.join(other.span))
    return one


def check_deadline(window: ast.Interval | ast.EventCount) -> None:
    if not (isinstance(window, ast.Interval) and window.low is None and window.high is not None):
        hint = "write NOT q WITHIN 10 min, or WITHIN [< 10 min]"
        raise Refused("the deadline of an absence is an upper bound in time", window.span, hint)
