"""The lines of `explain` about a query with many matches: how many one end may have, and what bounds them."""

from __future__ import annotations

from ensue.data.budget import Large
from ensue.language import ast
from ensue.logic.match_counts import MatchCount, matches_of_one_end
from ensue.logic.memory_advice import advice_for
from ensue.logic.outputs import projected
from ensue.plan.choice import Choice

#: From so many matches of one end on, the lines are shown.
_MANY = 1_000
#: Larger numbers are shown as powers of ten.
_READABLE = 10**9


def count_lines(choice: Choice) -> list[str]:
    """The lines; none where few matches have one end, or where the query takes few of them."""
    query = choice.checked.query
    chosen = query.selector in (ast.Selector.NEXT, ast.Selector.LAST)
    if any(ast.find(query.pattern, ast.Matches)):
        return []  # what its arcs mark may be anything
    if chosen or (query.limit is not None and query.per is ast.Per.END):
        return []
    found = matches_of_one_end(query.pattern, projected(choice.checked.outputs), choice.window.events)
    if (found.most is not None and found.most < _MANY) or found.degree in (0, 1):
        return []
    line = f"matches       of one end: {_told(found, choice)}"
    if found.most is None and found.degree is not None:
        return [line]
    first, *others = advice_for(query)(Large.ENDING)
    return [line, f"bounded by    {first}", *(f"              {text}" for text in others)]


def _told(found: MatchCount, choice: Choice) -> str:
    window = choice.window
    if found.most is not None:
        return f"up to {_number(found.most)}, with the {window.events} events of the window"
    where = "of a partition" if choice.checked.query.partition else "of the stream"
    if window.time is not None or window.events is not None:
        where = "in the window"
    if found.degree is None:
        return f"they may double with each event {where}"
    return f"they may grow like n^{found.degree} with the n events {where}"


def _number(n: int) -> str:
    return f"{n:,}" if n < _READABLE else f"about 10^{len(str(n)) - 1}"
