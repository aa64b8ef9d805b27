"""The windows around the whole pattern become one bound on the length of a match, which needs no automaton."""

from __future__ import annotations

from dataclasses import replace

from ensue.language import ast
from ensue.logic.window import peel_windows
from ensue.rewrite.query_parts import QueryParts


def take_out_windows(parts: QueryParts) -> QueryParts:
    """The query without the upper bounds on its whole length; a window with a lower bound stays.

    >>> from ensue.language.parser import parse_query
    >>> from ensue.language.printer import print_pattern
    >>> from ensue.logic.check import check
    >>> text = "SELECT * FROM S WHERE A ; B WITHIN 5 s WITHIN 9 EVENTS"
    >>> after = take_out_windows(QueryParts(check(parse_query(text), text)))
    >>> print_pattern(after.pattern), after.window.events, after.window.ticks(1_000_000_000)
    ('A ; B', 9, 5)
    """
    core, _ = peel_windows(parts.pattern)
    taken = []
    pattern = parts.pattern
    while isinstance(pattern, ast.Within) and pattern is not core:
        taken.append(pattern.window)
        pattern = pattern.body
    return replace(parts.with_pattern(core), windows=(*parts.windows, *taken)) if taken else parts
