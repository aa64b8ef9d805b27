"""Takes the absences with a deadline, at the end and at the front of a pattern, out of it.

`p ; NOT q WITHIN d` is `p` with a deadline for `q`: whether `q` followed in time is asked of the end of a match. `NOT q
WITHIN d ; p` is `p` whose first event has no `q` in the time before it.
"""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.rewrite.query_parts import QueryParts


def take_out_absence(parts: QueryParts) -> QueryParts:
    """The query without the absences at its end and at its front.

    >>> from ensue.language.parser import parse_query
    >>> from ensue.language.printer import print_pattern
    >>> from ensue.logic.check import check
    >>> text = "SELECT * FROM S WHERE NOT C WITHIN 1 s ; A ; NOT B WITHIN 5 s WITHIN 1 h"
    >>> after = take_out_absence(QueryParts(check(parse_query(text), text)))
    >>> print_pattern(after.pattern), print_pattern(after.absence.absent), print_pattern(after.before.absent)
    ('A WITHIN 1 h', 'B', 'C')
    """
    absence = next(ast.find(parts.pattern, ast.NotAfter), None)
    before = next(ast.find(parts.pattern, ast.NotBefore), None)
    if absence is None and before is None:
        return parts
    return dataclasses.replace(parts.with_pattern(_without(parts.pattern)), absence=absence, before=before)


def _without(p: ast.Pattern) -> ast.Pattern:
    """The pattern without these absences, which have only what keeps start and end around them."""
    match p:
        case ast.NotAfter() | ast.NotBefore():
            return _without(p.body)
        case ast.Filter() | ast.Within() | ast.SpanOf() | ast.After():
            return dataclasses.replace(p, body=_without(p.body))
    return p
