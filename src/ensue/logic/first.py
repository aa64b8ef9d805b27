"""The events that a pattern can start with: what `p -> q` must not pass over (language page, section 3)."""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.classify import conjunction, conjuncts_of
from ensue.logic.scope import bindings, free, has_rounds, is_atom, last_of, last_of_names, nullable, singles


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
            return _in_first_round(_first(q.body), frozenset(map(last_of, bindings(q.body))))
        case ast.As() | ast.Filter() | ast.Project() | ast.Within() | ast.Iteration() | ast.Optional() | ast.SpanOf():
            return _first(q.body)
        case ast.Select(selector=ast.Selector.STRICT):
            return _first(q.body)
    raise NoFirst(q)


def _in_first_round(p: ast.Pattern, told: frozenset[str]) -> ast.Pattern:
    """The pattern of one event without the conjuncts that speak of the round before: in a first round they hold."""
    match p:
        case ast.Or():
            return dataclasses.replace(p, left=_in_first_round(p.left, told), right=_in_first_round(p.right, told))
        case ast.Filter():
            body = _in_first_round(p.body, told)
            kept = [c for c in conjuncts_of(p.condition) if last_of_names(c).isdisjoint(told)]
            return dataclasses.replace(p, body=body, condition=conjunction(kept)) if kept else body
        case ast.As() | ast.Project():
            return dataclasses.replace(p, body=_in_first_round(p.body, told))
    return p
