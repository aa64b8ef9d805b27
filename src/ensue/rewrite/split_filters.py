"""`p FILTER f AND g` is `p FILTER f FILTER g`: each conjunct can then move its own way."""

from __future__ import annotations

from ensue.language import ast
from ensue.logic.classify import conjuncts_of
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
    for conjunct in conjuncts_of(p.condition):
        result = ast.Filter(result, conjunct, span=p.span)
    return result
