"""What a pattern forbids inside of its own matches although it is always there: `A ; B UNLESS B`."""

from __future__ import annotations

from ensue.language import ast
from ensue.logic.scope import free, nullable


def always_there(absent: ast.Pattern, body: ast.Pattern, needed: frozenset[str]) -> ast.Pattern | None:
    """What of the absent pattern is in every match of the body, which has events of the types `needed`; None if unsure.

    >>> from ensue.language.parser import parse_pattern
    >>> always_there(parse_pattern("C OR B AS y"), parse_pattern("A ; B"), frozenset({"A", "B"}))
    Type(name='B')
    """
    match absent:
        case ast.Type():
            return absent if absent.name in needed else None
        case ast.Any():
            return absent
        case ast.As() if not isinstance(absent.body, ast.Filter | ast.Satisfying):
            return always_there(absent.body, body, needed)
        case ast.Or():
            return always_there(absent.left, body, needed) or always_there(absent.right, body, needed)
    return absent if not free(absent) and absent in _parts_always_there(body) else None


def _parts_always_there(p: ast.Pattern) -> list[ast.Pattern]:
    """The pattern and all parts that each of its matches has a match of."""
    match p:
        case ast.Sequence() | ast.NotBetween():
            sides = [side for side in (p.left, p.right) if not nullable(side)]
            own = [] if nullable(p.left) or nullable(p.right) else [p]
            return [*own, *(part for side in sides for part in _parts_always_there(side))]
        case ast.And() | ast.All():
            return [p, *_parts_always_there(p.left), *_parts_always_there(p.right)]
        case ast.As() | ast.Filter() | ast.Within() | ast.Iteration() | ast.Project() | ast.Unless() | ast.NotAfter():
            return [p, *_parts_always_there(p.body)]
        case ast.Satisfying() | ast.SpanOf() | ast.After() | ast.Until():
            return [p, *_parts_always_there(p.body)]
    return [p]
