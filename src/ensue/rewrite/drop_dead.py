"""Branches that cannot match are removed, and conditions that always hold."""

from __future__ import annotations

from ensue.language import ast
from ensue.logic.scope import free
from ensue.rewrite.bottom_up import bottom_up

#: The pattern that matches nothing: an event of two types at once.
NOTHING = ast.And(ast.Type("\0nothing"), ast.Any())


def drop_dead(p: ast.Pattern) -> ast.Pattern:
    """The pattern without dead branches.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(drop_dead(parse_pattern("(A FILTER FALSE) OR (B FILTER TRUE) ; C")))
    'B ; C'
    """
    if any(isinstance(n, ast.Sequence | ast.Iteration) and n.link is ast.Link.NEXT for n in ast.walk(p)):
        return p  # the dead branches of a step behind `->` say, too, what must not lie before it
    dropped = bottom_up(p, _drop)
    # A filter may speak of a variable that only a dead branch binds: then nothing is dropped.
    return dropped if free(dropped) == free(p) else p


def _drop(p: ast.Pattern) -> ast.Pattern:
    match p:
        case ast.Filter(condition=ast.Literal(value=value)):
            return p.body if value is True else NOTHING
        case ast.Satisfying(condition=ast.Literal(value=value)):
            return p.body if value is True else NOTHING
        case ast.After() if p.past == NOTHING:
            return NOTHING
        case ast.SpanOf() | ast.After():
            return NOTHING if p.body == NOTHING else p
        case ast.Or():
            if p.left == NOTHING:
                return p.right
            return p.left if p.right == NOTHING else p
        case ast.Sequence() | ast.And() | ast.All() | ast.NotBetween() if NOTHING in (p.left, p.right):
            return NOTHING
        case ast.NotBetween() if p.absent == NOTHING:
            return ast.Sequence(p.left, p.right, gap=p.gap, span=p.span)
        case ast.Unless() if p.absent == NOTHING:
            return p.body
        case ast.Filter() | ast.As() | ast.Within() | ast.Select() | ast.Project() | ast.Iteration() | ast.Unless():
            return NOTHING if p.body == NOTHING else p
    return p
