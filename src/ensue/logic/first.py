"""The events that a pattern can start with: what `p -> q` must not pass over (language page, section 3)."""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.classify import conjunction, conjuncts_of
from ensue.logic.scope import (
    Bindings,
    aggregated_in,
    bindings,
    free,
    has_rounds,
    is_atom,
    last_of,
    last_of_names,
    nullable,
    singles,
)


class NoFirst(Exception):
    """A pattern that has no first events of its own, or `variable`: they depend on an event that is one of several."""

    def __init__(self, part: ast.Pattern, variable: str | None = None) -> None:
        self.part = part
        self.variable = variable
        super().__init__(part)


def first(q: ast.Pattern) -> ast.Pattern:
    """The pattern of one event that holds for the events `q` can start with; raises `NoFirst` where there is none.

    It may use the single variables of `q`.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(first(parse_pattern("((A AS x FILTER x.v > 1) OR (B ; C) FILTER B.v > C.v)")))
    '(A AS x FILTER x.v > 1) OR B'
    """
    q = when_there(q)
    found = _first(q)
    taken = free(found) - singles(q)
    for x in sorted(x for x in taken if x in bindings(q) or x not in free(q)):
        raise NoFirst(q, x)  # a set of events, or an event that PROJECT hides
    return found


def when_there(q: ast.Pattern) -> ast.Pattern:
    """The step as it is where it is not left out."""
    while isinstance(q, ast.Optional):
        q = q.body
    return q


def _first(q: ast.Pattern) -> ast.Pattern:
    match q:
        case ast.Type() | ast.Any() | ast.Satisfying():
            return q
        case ast.As() | ast.Filter() | ast.Project() if is_atom(q.body):
            return dataclasses.replace(q, body=_first(q.body))
        case ast.Or():
            return dataclasses.replace(q, left=_first(q.left), right=_first(q.right))
        case ast.Sequence() | ast.NotBetween():
            start = _first(q.left)
            return ast.Or(start, _first(q.right), span=q.span) if nullable(q.left) else start
        case ast.Iteration() if has_rounds(q):
            return _in_first_round(_first(q.body), frozenset(bindings(q.body)))
        case ast.As() | ast.Filter() | ast.Project() | ast.Within() | ast.Iteration() | ast.Optional() | ast.SpanOf():
            return _first(q.body)
        case ast.Select(selector=ast.Selector.STRICT):
            return _first(q.body)
    raise NoFirst(q)


def _in_first_round(p: ast.Pattern, own: frozenset[str]) -> ast.Pattern:
    """The pattern of one event as it is in a first round of an iteration that binds these variables.

    The conjuncts that speak of the round before hold there, and a RUNNING aggregate is over this round alone.
    """
    match p:
        case ast.Or():
            return dataclasses.replace(p, left=_in_first_round(p.left, own), right=_in_first_round(p.right, own))
        case ast.Filter():
            body, told = _in_first_round(p.body, own), frozenset(map(last_of, own))
            kept = [c for c in conjuncts_of(p.condition) if last_of_names(c).isdisjoint(told)]
            kept = [_over_one_round(c, own, bindings(p.body)) for c in kept]
            return dataclasses.replace(p, body=body, condition=conjunction(kept)) if kept else body
        case ast.As() | ast.Project():
            return dataclasses.replace(p, body=_in_first_round(p.body, own))
    return p


def _over_one_round(c: ast.Expression, own: frozenset[str], bound: Bindings) -> ast.Expression:
    """The condition with the RUNNING aggregates of the iteration over the events of one round."""

    def of_this_round(e: ast.Expression) -> ast.Expression | None:
        if not isinstance(e, ast.Running) or aggregated_in(e.aggregate).isdisjoint(own):
            return None
        single = all(bound.get(x, True) for x in aggregated_in(e.aggregate))
        return (of_one_event(e.aggregate) if single else None) or e.aggregate

    return ast.replaced(c, of_this_round)


def of_one_event(a: ast.Call) -> ast.Expression | None:
    """What the aggregate of a single event comes to; None where there is no simpler way to say it."""
    (value,) = a.arguments
    one, zero = (ast.Literal(n, ast.LiteralType.INTEGER, span=a.span) for n in (1, 0))
    match a.function:
        case "count" if isinstance(value, ast.Name):
            return one
        case "count":
            return ast.Case(None, (ast.IsNull(value, negated=True), one), zero, span=a.span)
        case "min" | "max" | "first" | "last":
            return value
        case "sum":
            return ast.Binary("+", value, zero, span=a.span)
        case "avg":
            return ast.Binary("/", value, one, span=a.span)
    return None
