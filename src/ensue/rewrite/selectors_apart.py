"""A selector inside a larger pattern, as a query of its own: the larger pattern without it, and what it chooses.

    NEXT(A AS x ; B AS y FILTER y.v > x.v) ; C

has those complex events of `(A AS x ; B AS y FILTER y.v > x.v) ; C` whose events of the part in parentheses are what
`SELECT NEXT` chooses of that part. A selector compares the sets of marked events that end at one event. So a variable
marks these in the larger pattern, and nothing else of a complex event tells whether it was chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ensue.language import ast
from ensue.logic.scope import has_rounds, is_atom, nullable
from ensue.rewrite.take_apart import Path, inner_parts, part_at, put_at

_NAME = "\0chosen "
#: Where one complex event of the whole has one of the part at most, and all of its marks.
_AROUND = (
    *(ast.Filter, ast.Within, ast.Sequence, ast.NotBetween, ast.Or, ast.All, ast.As, ast.Optional),
    *(ast.Unless, ast.NotAfter, ast.NotBefore),
)


@dataclass(frozen=True)
class Selected:
    """What a selector inside chooses of: the part that it stood around, all of it marked by the variable."""

    selector: ast.Selector
    pattern: ast.Pattern
    variable: str


def selectors_in(p: ast.Pattern, path: Path = ()) -> Iterator[Path]:
    """The places of selectors that can be queries of their own."""
    if isinstance(p, ast.Select):
        if p.selector not in (ast.Selector.ALL, ast.Selector.STRICT) and _ends_marked(p.body):
            yield path
    elif isinstance(p, _AROUND) or (isinstance(p, ast.Iteration) and not has_rounds(p)):
        for name, part in inner_parts(p):
            yield from selectors_in(part, (*path, name))


def selectors_apart(p: ast.Pattern, out: Collection[Path]) -> tuple[ast.Pattern, tuple[Selected, ...]]:
    """The pattern without the selectors at these places, and what they choose of.

    >>> from ensue.language.parser import parse_pattern
    >>> apart, (chosen,) = selectors_apart(parse_pattern("LAST(A AS x ; B) ; C"), [("left",)])
    >>> (apart.left == chosen.pattern, str(chosen.selector), chosen.pattern.variable == chosen.variable)
    (True, 'LAST', True)
    """
    found = []
    for number, path in enumerate(sorted(out)):
        node = part_at(p, path)
        assert isinstance(node, ast.Select)
        marked = ast.As(node.body, f"{_NAME}{number}", span=node.span)
        p = put_at(p, path, marked)
        found.append(Selected(node.selector, marked, marked.variable))
    return p, tuple(found)


def _ends_marked(p: ast.Pattern) -> bool:
    """Whether the last event is always marked, so that the marked events tell where it ends."""
    match p:
        case ast.Type():
            return True
        case ast.As():
            return is_atom(p.body) or _ends_marked(p.body)
        case ast.Sequence() | ast.NotBetween():
            return not nullable(p.right) and _ends_marked(p.right)
        case ast.Or() | ast.All():
            return _ends_marked(p.left) and _ends_marked(p.right)
        case ast.Filter() | ast.Within() | ast.Iteration() | ast.Unless() | ast.Select():
            return _ends_marked(p.body)
    return False
