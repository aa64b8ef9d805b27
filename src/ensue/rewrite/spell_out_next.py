"""`p -> q` is `p ; NOT first(q) ; q`, and `p ->+` an iteration with the same absence between its rounds.

This rule comes before all others. From here on, `first(q)` is a pattern of its own, so filters can move into and out of
`q` without changing what must not lie between.
"""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.first import first
from ensue.logic.scope import bindings, free, singles
from ensue.rewrite.bottom_up import bottom_up


def spell_out_next(p: ast.Pattern) -> ast.Pattern:
    """The pattern without `->`.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(spell_out_next(parse_pattern("A -> (B AS y FILTER y.v > 1) ->[<= 5 s] C")))
    'A ; NOT (B AS y FILTER y.v > 1) ; (B AS y FILTER y.v > 1) ; NOT C ;[<= 5 s] C'
    """
    return bottom_up(p, _spell_out)


def _spell_out(p: ast.Pattern) -> ast.Pattern:
    match p:
        case ast.Sequence(link=ast.Link.NEXT):
            made = ast.NotBetween(p.left, first(p.right), p.right, p.gap, span=p.span)
            # Where a name of `q` is one of the left side, too, it is not single any more, and says nothing.
            return made if free(made.absent) & bindings(p.right).keys() <= singles(made) else p
        case ast.Iteration(link=ast.Link.NEXT):
            return dataclasses.replace(p, link=ast.Link.THEN, absent=first(p.body))
    return p
