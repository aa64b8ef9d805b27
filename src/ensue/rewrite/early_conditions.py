"""Which conditions between events are checked as soon as the last of their events is there, and not on whole matches.

A comparison of two events always is. Any other condition that instructions compute is, where it speaks of two events
of which one value each is enough: a run remembers what the earlier event has of it. Of a set of events it remembers the
last one, so the set must come after the other event. A condition on three events or more would make each pair of the
first two a run of its own, which costs more than to judge the matches; where it compares sums, those that cannot pass
are left out while matches are listed (`logic/linear_bounds.py`).
"""

from __future__ import annotations

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.logic.comparisons import comparison
from ensue.logic.formula import formula_between
from ensue.logic.scope import bindings, has_rounds, joined, variables_of


def is_checked_early(c: ast.Expression, p: ast.Pattern, schema: Schema | None) -> bool:
    """Whether registers check the condition around `p`, which binds all of its variables.

    >>> from ensue.language.parser import parse_expression, parse_pattern
    >>> pattern = parse_pattern("A AS x ; (B AS y)+ ; C AS z")
    >>> [is_checked_early(parse_expression(text), pattern, None) for text in ("x.v <> y.v", "y.v <> z.v", "y.v < z.v")]
    [True, False, True]
    """
    if comparison(c, schema) is not None:
        return True
    variables = variables_of(c)
    if len(variables) != 2 or formula_between(c, schema) is None:
        return False
    sets = [x for x in variables if _most_marks(p, x) > 1]
    return not sets or (len(sets) == 1 and _comes_after(p, sets[0], min(variables - set(sets))))


def _most_marks(p: ast.Pattern, x: str) -> int:
    """How many events the variable marks in a match, where 2 stands for more as well."""
    match p:
        case ast.Type():
            return int(p.name == x)
        case ast.As() if p.variable == x:
            return 1 if bindings(p)[x] else 2
        case ast.SpanOf() if p.variable == x:
            return 2
        case ast.Iteration() if has_rounds(p):
            return 2 * (x in bindings(p))
        case ast.Sequence() | ast.NotBetween():
            return min(_most_marks(p.left, x) + _most_marks(p.right, x), 2)
        case ast.All():
            return 1 if x in joined(p) else min(_most_marks(p.left, x) + _most_marks(p.right, x), 2)
        case ast.Or() | ast.And():
            return max(_most_marks(p.left, x), _most_marks(p.right, x))
        case ast.Any():
            return 0
    body = getattr(p, "body", None)
    if not isinstance(body, ast.Pattern):
        return 2 * (x in bindings(p))
    return _most_marks(body, x)


def _comes_after(p: ast.Pattern, later: str, earlier: str) -> bool:
    """Whether every event of the one variable comes after the only event of the other."""
    match p:
        case ast.Sequence() | ast.NotBetween():
            left, right = bindings(p.left), bindings(p.right)
            if later not in left and earlier not in right:
                return True
            part, other = (p.left, right) if later in left else (p.right, left)
            together = earlier in bindings(part) and other.keys().isdisjoint((later, earlier))
            return together and _comes_after(part, later, earlier)
        case ast.Filter() | ast.Within() | ast.Unless():
            return _comes_after(p.body, later, earlier)
    return False
