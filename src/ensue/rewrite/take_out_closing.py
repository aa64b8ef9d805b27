"""Takes UNTIL out of the windows that it closes: `p UNTIL r` is `p`, and whether an `r` follows is asked of its end.

Where pairs have different UNTIL, they stay, since the end of a window does not say which of them it waits for.
"""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.until import are_alike, closings_of
from ensue.rewrite.bottom_up import bottom_up
from ensue.rewrite.query_parts import QueryParts


def take_out_closing(parts: QueryParts) -> QueryParts:
    """The query without UNTIL, if it is the same in all pairs.

    >>> from ensue.language.parser import parse_query
    >>> from ensue.language.printer import print_pattern
    >>> from ensue.logic.check import check
    >>> text = "SELECT count(w) AS n FROM S WINDOW w AS (IS A:+ UNTIL (B OR END)) OR (AFTER C IS D UNTIL (B OR END))"
    >>> after = take_out_closing(QueryParts(check(parse_query(text), text)))
    >>> print_pattern(after.pattern), print_pattern(after.closing.closing), after.closing.or_end
    ('SPAN(A:+ OR (D AFTER C)) AS w', 'B', True)
    """
    closings = closings_of(parts.pattern)
    if not closings or closings[0] is None or not are_alike(closings):
        return parts
    return dataclasses.replace(parts.with_pattern(without_closing(parts.pattern)), closing=closings[0])


def without_closing(pattern: ast.Pattern) -> ast.Pattern:
    """The windows of a pattern, whether they are closed or not."""
    return bottom_up(pattern, lambda p: p.body if isinstance(p, ast.Until) else p)
