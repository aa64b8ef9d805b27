"""`p FILTER f AND g` is `p FILTER f FILTER g`: conditions that can go different ways are told apart.

A filter holds as a whole where one of its variables marks nothing, so this is so only where that cannot tell the
two apart: all variables mark something, or both conditions speak of the same ones.
"""

from __future__ import annotations

from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.scope import always_marked, chosen_variables
from ensue.rewrite.bottom_up import bottom_up


def split_filters(p: ast.Pattern) -> ast.Pattern:
    """One conjunct a FILTER.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(split_filters(parse_pattern("A AS x FILTER x.v > 1 AND x.w > 2")))
    'A AS x FILTER x.v > 1 FILTER x.w > 2'
    """
    return bottom_up(p, _split)


def _split(p: ast.Pattern) -> ast.Pattern:
    if not isinstance(p, ast.Filter):
        return p
    result = p.body
    conjuncts = conjuncts_of(p.condition)
    chosen = chosen_variables(p.condition)
    if not chosen <= always_marked(p.body) and any(chosen_variables(c) != chosen for c in conjuncts):
        return p
    for conjunct in conjuncts:
        result = ast.Filter(result, conjunct, span=p.span)
    return result
