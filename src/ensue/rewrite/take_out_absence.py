"""`p ; NOT q WITHIN d` is `p` with a deadline for `q`: whether `q` followed in time is asked of the end of a match."""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.rewrite.query_parts import QueryParts


def take_out_absence(parts: QueryParts) -> QueryParts:
    """The query without the absence at its end.

    >>> from ensue.language.parser import parse_query
    >>> from ensue.language.printer import print_pattern
    >>> from ensue.logic.check import check
    >>> text = "SELECT * FROM S WHERE A ; NOT B WITHIN 5 s WITHIN 1 h"
    >>> after = take_out_absence(QueryParts(check(parse_query(text), text)))
    >>> print_pattern(after.pattern), print_pattern(after.absence.absent)
    ('A WITHIN 1 h', 'B')
    """
    absence = next(ast.find(parts.pattern, ast.NotAfter), None)
    if absence is None:
        return parts
    return dataclasses.replace(parts.with_pattern(_before(parts.pattern)), absence=absence)


def _before(p: ast.Pattern) -> ast.Pattern:
    """The pattern without the absence at its end. Only filters, windows and an absence at the front are around it."""
    if isinstance(p, ast.NotAfter):
        return p.body
    assert isinstance(p, ast.Filter | ast.Within | ast.NotBefore)
    return dataclasses.replace(p, body=_before(p.body))
