"""`SELECT ALL ... WHERE NEXT(p)` is `SELECT NEXT ... WHERE p`."""

from __future__ import annotations

from dataclasses import replace

from ensue.language import ast
from ensue.rewrite.query_parts import QueryParts


def take_out_selector(parts: QueryParts) -> QueryParts:
    """The query without the selector around its whole pattern.

    It stays under CONSUME BY, and with an absence before the pattern: both take candidates away from a query's selector
    but not from one inside the pattern.

    >>> from ensue.language.parser import parse_query
    >>> from ensue.language.printer import print_pattern
    >>> from ensue.logic.check import check
    >>> text = "SELECT * FROM S WHERE NEXT(A ; B)"
    >>> after = take_out_selector(QueryParts(check(parse_query(text), text)))
    >>> print_pattern(after.pattern), str(after.selector)
    ('A ; B', 'NEXT')
    """
    query, whole = parts.query, parts.pattern
    if query.selector is not ast.Selector.ALL or query.consume is not ast.Consume.NONE or parts.before:
        return parts
    return replace(parts.with_pattern(whole.body), selector=whole.selector) if isinstance(whole, ast.Select) else parts
