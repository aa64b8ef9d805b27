"""What a pattern says of several events at once, moved to where all of these events are in reach.

    A AS x ; (B AS y FILTER y.v > x.v)+      is      (A AS x ; (B AS y)+) FILTER y.v > x.v

A condition holds for every choice of an event from each set, which is what a filter over sets means. A condition that
the automaton's registers check (`early_conditions.py`) is left around the smallest pattern that binds its variables.
What they do not check is taken out of the pattern, and judged over columns of whole matches.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.comparisons import comparison, is_plain, with_conjuncts
from ensue.logic.earlier_forms import as_comparisons
from ensue.logic.scope import (
    aggregates_of,
    always_marked,
    bindings,
    last_of_names,
    names_in,
    nullable,
    running_of,
    singles,
    variables_of,
)
from ensue.logic.window import looks_back
from ensue.rewrite.early_conditions import is_checked_early
from ensue.rewrite.query_parts import Conditions, QueryParts

_NONE: Conditions = ()
#: Whether registers check a condition around a pattern that binds its variables.
IsEarly = Callable[[ast.Expression, ast.Pattern, Schema | None], bool]
_Around = ast.Within | ast.As | ast.Unless | ast.Iteration | ast.Optional | ast.SpanOf | ast.After


def move_relations(parts: QueryParts) -> QueryParts:
    """The query with conditions where registers check them, and those to be judged on whole matches.

    None are taken out where consumption decides among complex events before these could be judged.
    """
    return _with_judged(parts, is_checked_early)


def move_all_but_comparisons(parts: QueryParts) -> QueryParts:
    """The same where registers check comparisons only: for a query that needs more than they have."""
    return _with_judged(parts, lambda c, _, schema: comparison(c, schema) is not None)


def _with_judged(parts: QueryParts, is_early: IsEarly) -> QueryParts:
    pattern, related = take_out(parts.pattern, parts.checked.schema, is_early)
    if related and parts.query.consume is not ast.Consume.NONE:
        return parts
    return dataclasses.replace(parts.with_pattern(pattern), related=related)


def take_out(
    p: ast.Pattern, schema: Schema | None = None, is_early: IsEarly = is_checked_early
) -> tuple[ast.Pattern, Conditions]:
    """The pattern with conditions where registers can check them, and the other conditions that relate events.

    Some may have to stay where they are.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_expression, print_pattern
    >>> pattern, taken = take_out(parse_pattern("A AS x ; (B AS y FILTER y.v > x.v AND y.s LIKE x.s AND y.w = 1)+"))
    >>> print_pattern(pattern), [print_expression(c) for c in taken]
    ('A AS x ; (B AS y FILTER y.w = 1)+ FILTER y.v > x.v', ['y.s LIKE x.s'])
    """
    pattern, taken = _take(p, schema, is_early)
    known = bindings(pattern).keys()
    return (pattern, taken) if all(names_in(c) <= known for c in taken) else (p, _NONE)


def _take(p: ast.Pattern, schema: Schema | None, is_early: IsEarly) -> tuple[ast.Pattern, Conditions]:
    """As `take_out`; conditions may speak of variables that a pattern around `p` binds."""
    made, taken = _moved(p, schema, is_early)
    if isinstance(p, ast.Filter) or nullable(made):
        return made, taken  # in a filter around a pattern of optional steps, it could no longer be left out
    here = [c for c in taken if variables_of(c) <= bindings(made).keys() and is_early(c, made, schema)]
    for c in here:
        made = ast.Filter(made, c, span=c.span)
    return made, tuple(c for c in taken if c not in here)


def _moved(p: ast.Pattern, schema: Schema | None, is_early: IsEarly) -> tuple[ast.Pattern, Conditions]:
    take = partial(_take, schema=schema, is_early=is_early)
    match p:
        case ast.Filter():
            return _from_filter(_in_comparisons(p, schema), *take(p.body), lambda c: is_early(c, p.body, schema))
        case ast.Within() | ast.As() | ast.Unless() | ast.Iteration() | ast.Optional() | ast.SpanOf() | ast.After():
            body, taken = take(p.body)
            staying = tuple(c for c in taken if not _may_leave(c, p))
            if staying and nullable(body):
                return p, _NONE
            for c in staying:
                body = ast.Filter(body, c, span=c.span)
            return dataclasses.replace(p, body=body), tuple(c for c in taken if c not in staying)
        case ast.Sequence() | ast.NotBetween() | ast.All() | ast.Or():
            changes, found = {}, _NONE
            for side, other in (("left", "right"), ("right", "left")):
                part, taken = take(getattr(p, side))
                elsewhere = bindings(getattr(p, other)).keys()
                # What is said of a whole set on one side of OR is not said of the other.
                stays = isinstance(p, ast.Or) and any(map(aggregates_of, taken))
                if not stays and all(_own(c, part).isdisjoint(elsewhere) for c in taken):
                    changes[side], found = part, found + taken
            return dataclasses.replace(p, **changes), found  # type: ignore[arg-type]
    return p, _NONE


def _in_comparisons(p: ast.Filter, schema: Schema | None) -> ast.Filter:
    """The filter with comparisons in the place of conditions that mean the same."""
    spelled = [part for c in conjuncts_of(p.condition) for part in as_comparisons(c, schema)]
    return p if spelled == conjuncts_of(p.condition) else with_conjuncts(p, spelled) or p


def _from_filter(
    p: ast.Filter, body: ast.Pattern, taken: Conditions, is_early: Callable[[ast.Expression], bool]
) -> tuple[ast.Pattern, Conditions]:
    """`body` is that of the filter without what was taken out of it."""
    own = bindings(p.body).keys()
    conjuncts = conjuncts_of(p.condition)
    related = tuple(c for c in conjuncts if _relates(c) and _own(c, p.body))
    settled = [c for c in related if variables_of(c) <= own and is_early(c)]
    leaving = tuple(c for c in related if c not in settled)
    made = with_conjuncts(dataclasses.replace(p, body=body), [c for c in conjuncts if c not in leaving])
    if made is None and nullable(body):
        return p, _NONE  # without its filter a pattern of optional steps could be left out of a sequence
    return made or body, taken + leaving


def _relates(c: ast.Expression) -> bool:
    """Whether the condition speaks of several events, in a way that can be judged on a whole match."""
    if running_of(c):
        return False
    if aggregates_of(c):
        return not (last_of_names(c) or looks_back(c) or any(ast.find(c, ast.Each)))
    return len(variables_of(c)) > 1 and is_plain(c)


def _own(c: ast.Expression, p: ast.Pattern) -> frozenset[str]:
    """The variables of the condition that the pattern binds."""
    return names_in(c) & bindings(p).keys()


def _may_leave(c: ast.Expression, p: _Around) -> bool:
    """Whether the condition means the same outside of `p` as in its body."""
    own = _own(c, p.body)
    if aggregates_of(c) and isinstance(p, ast.Iteration | ast.Optional):
        return False  # it speaks of the set of a round; and where its pattern is left out, it says nothing
    match p:
        case ast.SpanOf():
            return False  # its variables mean nothing outside
        case ast.As():
            return p.variable not in own
        case ast.Iteration():
            # Of one round's event, or of every event of all rounds: the same, unless it relates two of one round.
            return len(own) == 1 and own <= singles(p.body)
        case ast.Optional():
            return own <= always_marked(p.body)  # left out, its sets are empty, and the condition holds
    return True
