"""Why a query has no more matches: follows its pattern from step to step through the events."""

from __future__ import annotations

from typing import Any

from ensue.data.reading import Reading
from ensue.language import ast
from ensue.language.printer import print_pattern
from ensue.logic.never import warnings_of
from ensue.pipeline import RunOptions, unknown_types
from ensue.why.answer import Branch, Why
from ensue.why.lost_matches import Asked, frontier
from ensue.why.near_misses import near_misses
from ensue.why.pattern_steps import alternatives


def why(query: ast.Query, text: str, events: Any, options: RunOptions, *, reading: Reading) -> Why:
    """What each step of the query's pattern lost, and to what: see `Query.why`."""
    asked = Asked.of(query, text, events, options, reading)
    branches = []
    for pattern in alternatives(query.pattern):
        front = frontier(asked, pattern, options.progress)
        branches.append(Branch(print_pattern(pattern), tuple(front.steps), near_misses(asked, front)))
    notes = (*warnings_of(query, text), *unknown_types(query, asked.stream))
    return Why(asked.matches, tuple(branches), notes)
