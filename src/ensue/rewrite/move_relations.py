"""What a pattern says of several events at once, moved to where all of these events are in reach.

    A AS x ; (B AS y FILTER y.v > x.v)+      is      (A AS x ; (B AS y)+) FILTER y.v > x.v

A condition holds for every choice of an event from each set, which is what a filter over sets means. A condition that
the automaton's registers check (`early_conditions.py`) is left around the smallest pattern that binds its variables. So
is a choice between conditions on one event each, which the automaton's states keep track of. What neither checks is
taken out of the pattern, and judged over columns of whole matches.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.logic.classify import conjuncts_of, is_plain
from ensue.logic.comparisons import comparison, with_conjuncts
from ensue.logic.earlier_forms import as_comparisons
from ensue.logic.local_conditions import local_conditions
from ensue.logic.round_conditions import each_round, has_instructions, may_leave, speaks_of_rounds
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
#: Whether what a condition says of a round of an iteration is judged on whole matches, as far as it can be.
IsLate = Callable[[ast.Expression, Schema | None], bool]


def _never(_c: ast.Expression, _schema: Schema | None) -> bool:
    return False


def _is_late(c: ast.Expression, schema: Schema | None) -> bool:
    return not has_instructions(c, schema)


def _is_late_or_of_rounds(c: ast.Expression, schema: Schema | None) -> bool:
    return speaks_of_rounds(c) or _is_late(c, schema)


_Around = ast.Within | ast.As | ast.Unless | ast.Iteration | ast.Optional | ast.SpanOf | ast.After


def move_relations(parts: QueryParts) -> QueryParts:
    """The query with conditions where registers check them, and those to be judged on whole matches.

    None are taken out where consumption decides among complex events before these could be judged.
    """
    return _with_judged(parts, is_checked_early)


def move_all_but_comparisons(parts: QueryParts) -> QueryParts:
    """The same where registers check comparisons only: for a query that needs more than they have."""
    return _with_judged(parts, lambda c, _, schema: comparison(c, schema) is not None)


def move_rounds_without_instructions(parts: QueryParts) -> QueryParts:
    """The same where conditions on rounds that no kernel computes are judged on whole matches, too."""
    return _with_judged(parts, is_checked_early, _is_late)


def move_all_rounds(parts: QueryParts) -> QueryParts:
    """The same with all conditions that relate a round to those before it."""
    return _with_judged(parts, is_checked_early, _is_late_or_of_rounds)


def _with_judged(parts: QueryParts, is_early: IsEarly, is_late: IsLate = _never) -> QueryParts:
    pattern, related = take_out(parts.pattern, parts.checked.schema, is_early, is_late)
    if related and parts.query.consume is not ast.Consume.NONE:
        return parts
    return dataclasses.replace(parts.with_pattern(pattern), related=related)


def take_out(
    p: ast.Pattern, schema: Schema | None = None, is_early: IsEarly = is_checked_early, is_late: IsLate = _never
) -> tuple[ast.Pattern, Conditions]:
    """The pattern with conditions where registers can check them, and the other conditions that relate events.

    Some may have to stay where they are.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_expression, print_pattern
    >>> pattern, taken = take_out(parse_pattern("A AS x ; (B AS y FILTER y.v > x.v AND y.s LIKE x.s AND y.w = 1)+"))
    >>> print_pattern(pattern), [print_expression(c) for c in taken]
    ('A AS x ; (B AS y FILTER y.w = 1)+ FILTER y.v > x.v', ['y.s LIKE x.s'])
    """
    local = local_conditions(p)
    how = _How(schema, lambda c, body, schema: c in local or is_early(c, body, schema), is_late)
    pattern, taken = _take(p, how)
    known = bindings(pattern).keys()
    return (pattern, taken) if all(names_in(c) <= known for c in taken) else (p, _NONE)


class _How(NamedTuple):
    schema: Schema | None
    is_early: IsEarly
    is_late: IsLate

    def early(self, c: ast.Expression, p: ast.Pattern) -> bool:
        return not isinstance(c, ast.EachRound) and self.is_early(c, p, self.schema)

    def late(self, c: ast.Expression) -> bool:
        return self.is_late(c, self.schema)


def _take(p: ast.Pattern, how: _How) -> tuple[ast.Pattern, Conditions]:
    """As `take_out`; conditions may speak of variables that a pattern around `p` binds."""
    made, taken = _moved(p, how)
    if isinstance(p, ast.Filter) or nullable(made):
        return made, taken  # in a filter around a pattern of optional steps, it could no longer be left out
    here = [c for c in taken if variables_of(c) <= bindings(made).keys() and how.early(c, made)]
    for c in here:
        made = ast.Filter(made, c, span=c.span)
    return made, tuple(c for c in taken if c not in here)


def _moved(p: ast.Pattern, how: _How) -> tuple[ast.Pattern, Conditions]:
    take = partial(_take, how=how)
    match p:
        case ast.Filter():
            return _from_filter(_in_comparisons(p, how.schema), *take(p.body), how)
        case ast.Within() | ast.As() | ast.Unless() | ast.Iteration() | ast.Optional() | ast.SpanOf() | ast.After():
            body, taken = take(p.body)
            outside = {c: _outside(c, p, how) for c in taken}
            staying = [c for c, other in outside.items() if other is None]
            if staying and (nullable(body) or any(map(_is_of_rounds, staying))):
                return p, _NONE
            for c in staying:
                body = ast.Filter(body, c, span=c.span)
            return dataclasses.replace(p, body=body), tuple(c for c in outside.values() if c is not None)
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


def _from_filter(p: ast.Filter, body: ast.Pattern, taken: Conditions, how: _How) -> tuple[ast.Pattern, Conditions]:
    """`body` is that of the filter without what was taken out of it."""
    own = bindings(p.body).keys()
    conjuncts = conjuncts_of(p.condition)
    related = tuple(c for c in conjuncts if (_relates(c) or (speaks_of_rounds(c) and how.late(c))) and _own(c, p.body))
    settled = [c for c in related if variables_of(c) <= own and how.early(c, p.body)]
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


def _is_of_rounds(c: ast.Expression) -> bool:
    return isinstance(c, ast.EachRound) or speaks_of_rounds(c)


def _own(c: ast.Expression, p: ast.Pattern) -> frozenset[str]:
    """The variables of the condition that the pattern binds."""
    return names_in(c) & bindings(p).keys()


def _outside(c: ast.Expression, p: _Around, how: _How) -> ast.Expression | None:
    """The condition as it stands outside of `p`; None where it has to stay in its body."""
    if isinstance(c, ast.EachRound):
        return c if may_leave(c, p) else None
    if isinstance(p, ast.Iteration) and (speaks_of_rounds(c) or not _may_leave(c, p)):
        made = None if aggregates_of(c) or how.is_late is _never else each_round(c, p)
        return made if made is not None and (made.set_ or how.late(c)) else None
    return c if _may_leave(c, p) else None


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
