"""Windows of the whole pattern move out of its filters, to where the evaluator finds them."""

from __future__ import annotations

import dataclasses

from ensue.language import ast


def lift_windows(p: ast.Pattern) -> ast.Pattern:
    """`p WITHIN I FILTER f` as `p FILTER f WITHIN I`, at the top of the pattern; so also out of SPAN and AFTER.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(lift_windows(parse_pattern("A AS x ; B WITHIN 5 s FILTER x.v > 1")))
    'A AS x ; B FILTER x.v > 1 WITHIN 5 s'
    """
    if isinstance(p, ast.Within):
        return dataclasses.replace(p, body=lift_windows(p.body))
    if isinstance(p, ast.Filter | ast.SpanOf | ast.After):
        body = lift_windows(p.body)
        if isinstance(body, ast.Within):
            return dataclasses.replace(body, body=lift_windows(dataclasses.replace(p, body=body.body)))
        return dataclasses.replace(p, body=body)
    return p
