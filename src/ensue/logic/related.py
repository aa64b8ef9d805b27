"""Filters that relate events, taken out of a pattern where they can be judged on a whole complex event.

    A AS x ; (B AS y FILTER y.v > x.v)+      is      A AS x ; (B AS y)+   of which   y.v > x.v   holds

for every choice of an event from each set, which is what a filter over sets means. What is left of the pattern speaks
of one event at a time, so the automaton engine evaluates it; the conditions are then judged over columns of matches.
"""

from __future__ import annotations

import dataclasses

from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.scope import always_marked, bindings, chosen_of, nullable, singles, variables_of

Conditions = tuple[ast.Expression, ...]
_NONE: Conditions = ()


def take_out(p: ast.Pattern) -> tuple[ast.Pattern, Conditions]:
    """The pattern without the conditions that relate events, and those; some may have to stay where they are.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_expression, print_pattern
    >>> pattern, taken = take_out(parse_pattern("A AS x ; (B AS y FILTER y.v > x.v AND y.w = 1)+"))
    >>> print_pattern(pattern), [print_expression(c) for c in taken]
    ('A AS x ; (B AS y FILTER y.w = 1)+', ['y.v > x.v'])
    """
    pattern, taken = _take(p)
    known = bindings(pattern).keys()
    return (pattern, taken) if all(variables_of(c) <= known for c in taken) else (p, _NONE)


def _take(p: ast.Pattern) -> tuple[ast.Pattern, Conditions]:
    """As `take_out`; conditions may speak of variables that a pattern around `p` binds."""
    match p:
        case ast.Filter():
            return _from_filter(p)
        case ast.Within() | ast.As() | ast.Unless() | ast.Iteration() | ast.Optional():
            body, taken = _take(p.body)
            return (dataclasses.replace(p, body=body), taken) if all(_may_leave(c, p) for c in taken) else (p, _NONE)
        case ast.Sequence() | ast.NotBetween() | ast.All() | ast.Or():
            changes, found = {}, _NONE
            for side, other in (("left", "right"), ("right", "left")):
                part, taken = _take(getattr(p, side))
                elsewhere = bindings(getattr(p, other)).keys()
                if taken and all(_own(c, part).isdisjoint(elsewhere) for c in taken):
                    changes[side], found = part, found + taken
            return dataclasses.replace(p, **changes), found  # type: ignore[arg-type]
    return p, _NONE


def _from_filter(p: ast.Filter) -> tuple[ast.Pattern, Conditions]:
    body, taken = _take(p.body)
    whole = not chosen_of(p.condition) & bindings(p.body).keys() <= always_marked(p.body)
    conjuncts = [p.condition] if whole else conjuncts_of(p.condition)
    related = tuple(c for c in conjuncts if len(variables_of(c)) > 1 and _is_plain(c) and _own(c, p.body))
    kept = [c for c in conjuncts if c not in related]
    if not kept:
        # Without its filter a pattern of optional steps could be left out of a sequence.
        return (p, _NONE) if nullable(body) else (body, taken + related)
    condition = kept[0]
    for c in kept[1:]:
        condition = ast.Binary("AND", condition, c, span=p.condition.span)
    return ast.Filter(body, condition, span=p.span), taken + related


def _is_plain(e: ast.Expression) -> bool:
    """Without look-back, and without `x[g]`, which speaks of all events of a set at once."""
    return not any(ast.find(e, ast.Each)) and not any(c.function == "prev" for c in ast.find(e, ast.Call))


def _own(c: ast.Expression, p: ast.Pattern) -> frozenset[str]:
    """The variables of the condition that the pattern binds."""
    return variables_of(c) & bindings(p).keys()


def _may_leave(c: ast.Expression, p: ast.Within | ast.As | ast.Unless | ast.Iteration | ast.Optional) -> bool:
    """Whether the condition means the same outside of `p` as in its body."""
    own = _own(c, p.body)
    match p:
        case ast.As():
            return p.variable not in own
        case ast.Iteration():
            # Of one round's event, or of every event of all rounds: the same, unless it relates two of one round.
            return len(own) == 1 and own <= singles(p.body)
        case ast.Optional():
            return own <= always_marked(p.body)  # left out, its sets are empty, and the condition holds
    return True
