"""The types of events that a query reads: an event of any other type makes no difference to it, whenever it comes."""

from __future__ import annotations

from ensue.language import ast
from ensue.logic.window import looks_back

#: Operators that skip the events in between, so that only those of the named types matter.
_SKIPPING = (
    ast.Type,
    ast.As,
    ast.Filter,
    ast.Optional,
    ast.Or,
    ast.And,
    ast.All,
    ast.Unless,
    ast.NotBetween,
    ast.NotAfter,
    ast.NotBefore,
    ast.Project,
)


def types_read(query: ast.Query) -> frozenset[str] | None:
    """The types; None where every event may matter, as with `ANY`, `:`, windows in events and `PREV`.

    >>> from ensue.language.parser import parse_query
    >>> sorted(types_read(parse_query("SELECT * FROM S WHERE A ; NOT B ; C WITHIN 1 h")))
    ['A', 'B', 'C']
    >>> types_read(parse_query("SELECT * FROM S WHERE A : B")) is None
    True
    """
    parts = [p for p in ast.walk(query.pattern) if isinstance(p, ast.Pattern)]
    if query.selector is ast.Selector.STRICT or looks_back(query) or not all(map(_skips, parts)):
        return None
    return frozenset(p.name for p in parts if isinstance(p, ast.Type))


def _skips(p: ast.Pattern) -> bool:
    match p:
        case ast.Sequence() | ast.Iteration():
            return p.link is not ast.Link.DIRECTLY
        case ast.Within():
            return isinstance(p.window, ast.Interval)
        case ast.Select():
            return p.selector is not ast.Selector.STRICT
    return isinstance(p, _SKIPPING)
