"""Recognises windowed patterns: windows around patterns whose other time constraints are gaps between marked events.

Garcia and Riveros, before theorem 5.5. A *simple* pattern has gaps, but neither windows in time nor projections. A
*windowed* pattern is built with AS, FILTER, OR, AND and windows from simple patterns and from patterns without time
constraints. Two clocks measure all of its constraints: one runs from the first event, the other from the last marked
event (theorem 5.5). The class is defined by syntax, so this module decides it from the syntax.

Operators that the paper does not have are allowed if its proof still holds. UNLESS, NOT between two patterns, STRICT
and windows of events exclude complex events and change neither marks nor clocks. A projection is allowed if it leaves
a variable on every event: the second clock needs the marks but not their names. ANY without a name marks nothing, so
it counts as a projection that leaves no variable.
"""

from __future__ import annotations

from ensue.language import ast
from ensue.logic.scope import is_atom, variables_of

Names = frozenset[str]
_NONE: Names = frozenset()


def is_windowed(p: ast.Pattern, shown: Names | None = None) -> bool:
    """Whether a pattern is windowed; `shown` are the variables that the items of its query use, or None for all.

    >>> from ensue.language.parser import parse_pattern
    >>> is_windowed(parse_pattern("A ;[<= 1 s] B+[= 2 s] WITHIN 5 s"))
    True
    >>> is_windowed(parse_pattern("(A ; B WITHIN 1 s) ; C")), is_windowed(parse_pattern("PROJECT () (A ;[= 1 s] A)"))
    (False, False)
    """
    if not is_timed(p):
        return True
    match p:
        case ast.Filter() if len(variables_of(p.condition)) > 1:
            return False  # it relates several events; the paper's filters do not
        case ast.Filter() | ast.Within():
            return is_windowed(p.body, shown)
        case ast.Select(selector=ast.Selector.STRICT):
            return is_windowed(p.body, shown)
        case ast.As():
            return is_windowed(p.body, None if shown is not None and p.variable in shown else shown)
        case ast.Or() | ast.And():
            return is_windowed(p.left, shown) and is_windowed(p.right, shown)
        case ast.Project():
            kept = frozenset(p.variables)
            return is_windowed(p.body, kept) and is_windowed(p.body, kept if shown is None else kept & shown)
    return _is_simple(p, _NONE, shown)


def is_timed(p: ast.Pattern) -> bool:
    """Whether the pattern contains a time constraint."""
    return any(ast.find(p, ast.Interval))


def _is_simple(p: ast.Pattern, names: Names, shown: Names | None) -> bool:
    """Whether `p` is simple and shown variables mark all its events; `names` are the names of the AS around it."""
    match p:
        case ast.Satisfying():
            return _is_simple(p.body, names, shown)
        case ast.Type():
            return shown is None or bool((names | {p.name}) & shown)
        case ast.Any():
            return bool(names if shown is None else names & shown)
        case ast.As() if is_atom(p.body):
            return _is_simple(p.body, names | {p.variable}, shown)
        case ast.As():  # this name, too, marks each event that is marked inside
            return _is_simple(p.body, _NONE, None if shown is not None and p.variable in shown else shown)
        case ast.Filter() if len(variables_of(p.condition)) > 1:
            return False
        case ast.Iteration() if p.absent is not None and is_timed(p.absent):
            return False
        case ast.Within(window=ast.EventCount()) | ast.Filter() | ast.Optional() | ast.Iteration():
            return _is_simple(p.body, names, shown)
        case ast.Select(selector=ast.Selector.STRICT):
            return _is_simple(p.body, names, shown)
        case ast.Sequence() | ast.Or() | ast.And():
            return _is_simple(p.left, names, shown) and _is_simple(p.right, names, shown)
        case ast.NotBetween() if not is_timed(p.absent):
            return _is_simple(p.left, names, shown) and _is_simple(p.right, names, shown)
        case ast.Unless() if not is_timed(p.absent):
            return _is_simple(p.body, names, shown)
    return False
