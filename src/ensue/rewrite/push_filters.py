"""Filters move to the events they concern (Grez, section 5.2: towards the LP normal form, by local rules only).

A filter over one variable says something of each of its events. So it can move into the part that binds the
variable, into both branches of OR, and into an iteration. What would have to be written out (a disjunction over two
variables) stays where it is: the automaton's monitor handles it without a blow-up.
"""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.scope import bindings, nullable, variables_of
from ensue.rewrite.bottom_up import bottom_up


def push_filters(p: ast.Pattern) -> ast.Pattern:
    """The pattern with its filters as far down as they go.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> print_pattern(push_filters(parse_pattern("A AS x ; (B AS y)+ FILTER x.v > 1 FILTER y.v > 2")))
    '(A AS x FILTER x.v > 1) ; (B AS y FILTER y.v > 2)+'
    """
    return bottom_up(p, lambda q: _push(q.body, q.condition, q) if isinstance(q, ast.Filter) else q)


def _push(body: ast.Pattern, condition: ast.Expression, here: ast.Filter) -> ast.Pattern:
    into = _parts_to_enter(body, condition)
    if not into:
        return dataclasses.replace(here, body=body)
    changes = {}
    for name in into:
        part = getattr(body, name)
        changes[name] = _push(part, condition, ast.Filter(part, condition, span=here.span))
    return dataclasses.replace(body, **changes)  # type: ignore[arg-type]


def _parts_to_enter(body: ast.Pattern, condition: ast.Expression) -> tuple[str, ...]:
    """The parts of `body` that the filter can move into, all at once; none where it must stay."""
    variables = variables_of(condition)
    if len(variables) != 1 or not variables <= bindings(body).keys():
        return ()
    (x,) = variables
    # Under NOT, x[g] asks for some event: that does not distribute over parts or rounds.
    each = any(ast.find(condition, ast.Each))
    if _stands_behind_next(body, x):
        return ()
    match body:
        case ast.Filter() | ast.Within() | ast.Project() | ast.Unless():
            return ("body",)
        case ast.Select(selector=ast.Selector.STRICT):
            return ("body",)
        case ast.As() if body.variable != x:
            return ("body",)
        case ast.Iteration() | ast.Optional() if not each:
            return ("body",)
        case ast.And():
            return ("left",) if x in bindings(body.left) else ("right",)
        case ast.Or() | ast.Sequence() | ast.NotBetween() | ast.All() if not each or _in_one(body, x):
            sides = tuple(side for side in ("left", "right") if x in bindings(getattr(body, side)))
            # A filter around a step that may be left out would keep it from being left out.
            stays = each and (isinstance(body, ast.Or) or any(nullable(getattr(body, side)) for side in sides))
            return () if stays else sides
    return ()


def _stands_behind_next(body: ast.Pattern, x: str) -> bool:
    """Whether `x` is bound behind `->`, where a condition says more: which events may not lie between."""
    match body:
        case ast.Sequence(link=ast.Link.NEXT):
            return x in bindings(body.right)
        case ast.Iteration(link=ast.Link.NEXT):
            return True
    return False


def _in_one(body: ast.Sequence | ast.NotBetween | ast.Or | ast.All, x: str) -> bool:
    return (x in bindings(body.left)) != (x in bindings(body.right))
