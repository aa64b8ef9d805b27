"""The events that a pattern can start with: what `p -> q` must not pass over (language page, section 3)."""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.scope import is_atom, nullable


class NoFirst(Exception):
    """A pattern that has no first events of its own."""

    def __init__(self, part: ast.Pattern) -> None:
        self.part = part
        super().__init__(part)


def first(q: ast.Pattern) -> ast.Pattern:
    """The pattern of one event that holds for the events `q` can start with; raises `NoFirst` where there is none.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(first(parse_pattern("((A AS x FILTER x.v > 1) OR (B ; C) FILTER B.v > C.v)")))
    '(A AS x FILTER x.v > 1) OR B'
    """
    match q:
        case ast.Type() | ast.Any():
            return q
        case ast.As() | ast.Filter() | ast.Project() if is_atom(q.body):
            return dataclasses.replace(q, body=first(q.body))
        case ast.Or():
            return dataclasses.replace(q, left=first(q.left), right=first(q.right))
        case ast.Sequence() | ast.NotBetween():
            start = first(q.left)
            return ast.Or(start, first(q.right), span=q.span) if nullable(q.left) else start
        case ast.As() | ast.Filter() | ast.Project() | ast.Within() | ast.Iteration() | ast.Optional():
            return first(q.body)
        case ast.Select(selector=ast.Selector.STRICT):
            return first(q.body)
    raise NoFirst(q)
