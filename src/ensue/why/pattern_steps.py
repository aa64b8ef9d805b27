"""The steps of a pattern, and the pattern of the first so many of them.

A step is one event, or one group that stands for itself, such as `A OR B`. What a pattern asks of its first steps is
asked of a match that has only these: so it says how far a partial match has come.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ensue.language import ast
from ensue.language.printer import print_pattern
from ensue.logic.classify import conjunction, conjuncts_of
from ensue.logic.scope import (
    aggregates_of,
    bindings,
    free,
    is_atom,
    last_of_names,
    names_in,
    nullable,
    running_names,
    running_of,
    variables_of,
)

#: Of a repetition such as `B{100}`, so many rounds are steps of their own; all others are one more.
_ROUNDS = 6


class PatternStep(NamedTuple):
    """One step: how it is written, and the pattern of its event without any condition."""

    text: str
    plain: ast.Pattern


def alternatives(p: ast.Pattern) -> list[ast.Pattern]:
    """The branches of an OR that is all of a pattern, each with the filters and windows around it.

    >>> from ensue.language.parser import parse_pattern
    >>> [print_pattern(b) for b in alternatives(parse_pattern("A ; B OR C WITHIN 5 s"))]
    ['A ; B WITHIN 5 s', 'C WITHIN 5 s']
    """
    match p:
        case ast.Or() if not is_atom(p):
            return [*alternatives(p.left), *alternatives(p.right)]
        case ast.Filter() | ast.Within():
            inner = alternatives(p.body)
            return [p] if len(inner) == 1 else [closed(replace(p, body=b)) for b in inner]
    return [p]


def length(p: ast.Pattern) -> int:
    """How many steps a pattern has."""
    if is_atom(p):
        return 1
    match p:
        case ast.Sequence() | ast.NotBetween() | ast.All():
            return length(p.left) + length(p.right)
        case ast.Iteration():
            return length(p.body) + len(_rounds(p)) - 1
        case ast.Filter() | ast.Within() | ast.As() | ast.Unless() | ast.NotAfter() | ast.NotBefore():
            return length(p.body)
        case ast.Select() | ast.Project() | ast.SpanOf() | ast.After():
            return length(p.body)
    return 1


def steps_of(p: ast.Pattern) -> list[PatternStep]:
    """The steps of a pattern in their order."""
    if length(p) == 1:
        return [PatternStep(print_pattern(_unfiltered(p)), _event_of(p))]
    match p:
        case ast.Sequence() | ast.NotBetween() | ast.All():
            return [*steps_of(p.left), *steps_of(p.right)]
        case ast.Iteration():
            body = steps_of(p.body)
            rounds = [PatternStep(print_pattern(r), body[-1].plain) for r in _rounds(p)]
            return [*body[:-1], *rounds]
    return steps_of(p.body)  # type: ignore[attr-defined]


def prefix(p: ast.Pattern, count: int) -> ast.Pattern:
    """The pattern of the first `count` steps: whatever of the whole can be asked of these alone.

    >>> from ensue.language.parser import parse_pattern
    >>> whole = parse_pattern("A AS x ; B AS y ;[<= 2 s] C AS z FILTER y.v > x.v AND z.v > y.v WITHIN 5 s")
    >>> print_pattern(prefix(whole, 2))
    'A AS x ; B AS y FILTER y.v > x.v WITHIN 5 s'
    """
    return closed(_prefix(p, count))


def closed(p: ast.Pattern) -> ast.Pattern:
    """The pattern without the conditions that speak of variables that it does not have."""
    before = None
    while p != before:
        before, p = p, ast.rebuilt(p, partial(_without, missing=free(p)))
    return p.body if isinstance(p, ast.Optional) else p


def own_conditions(whole: ast.Pattern, plain: ast.Pattern) -> list[ast.Expression]:
    """The conditions on the event of a step, by itself, wherever in the pattern they stand."""
    own = bindings(plain).keys()
    filters = list(ast.find(whole, ast.Filter))
    return [c for f in filters for c in conjuncts_of(f.condition) if variables_of(c) and variables_of(c) <= own]


def filtered(p: ast.Pattern, conditions: list[ast.Expression]) -> ast.Pattern:
    """The pattern with these conditions; without any, as it is."""
    return ast.Filter(p, conjunction(conditions)) if conditions else p


def _prefix(p: ast.Pattern, count: int) -> ast.Pattern:
    if count >= length(p):
        return p
    match p:
        case ast.Sequence() | ast.NotBetween() | ast.All():
            return _prefix_of_two(p, count)
        case ast.Iteration():
            body = length(p.body)
            return _prefix(p.body, count) if count < body else _rounds(p)[count - body]
        case ast.Filter():
            body_of_it = _prefix(p.body, count)
            gone = bindings(p.body).keys() - bindings(body_of_it).keys()
            kept = [c for c in conjuncts_of(p.condition) if not names_in(c) & gone and not _of_all_rounds(c)]
            return filtered(body_of_it, kept)
        case ast.Within():
            window = _without_least(p.window)
            shorter = _prefix(p.body, count)
            return shorter if window is None else replace(p, body=shorter, window=window)
        case ast.As() | ast.NotBefore():
            return replace(p, body=_prefix(p.body, count))
    return _prefix(p.body, count)  # type: ignore[attr-defined]


def _prefix_of_two(p: ast.Sequence | ast.NotBetween | ast.All, count: int) -> ast.Pattern:
    left = length(p.left)
    if count <= left:
        return _prefix(p.left, count)
    right = _prefix(p.right, count - left)
    if isinstance(p, ast.NotBetween) and not free(p.absent) <= bindings(p.left).keys() | bindings(right).keys():
        return ast.Sequence(p.left, right, gap=p.gap)
    return replace(p, right=right)


def _rounds(p: ast.Iteration) -> list[ast.Pattern]:
    """The repetition up to its first rounds, and then as it is."""
    fewer = range(1, min(p.low, _ROUNDS))
    return [*(replace(p, low=n, high=n) for n in fewer), p]


def _of_all_rounds(c: ast.Expression) -> bool:
    """Whether the condition may hold of a whole match and not of its beginning."""
    return bool(aggregates_of(c) or running_of(c) or last_of_names(c))


def _without_least(window: ast.Interval | ast.EventCount) -> ast.Interval | ast.EventCount | None:
    """What a window asks of the beginning of a match, which may be shorter; None if nothing."""
    if isinstance(window, ast.EventCount):
        return window
    return None if window.high is None else ast.Interval(None, window.high)


def _without(node: ast.Node, *, missing: frozenset[str]) -> ast.Node | None:
    """The filter without what it says of these variables; None for anything else."""
    if isinstance(node, ast.Filter) and _names(node.condition) & missing:
        return filtered(node.body, [c for c in conjuncts_of(node.condition) if not _names(c) & missing])
    if isinstance(node, ast.NotBetween) and free(node.absent) & missing:
        return ast.Sequence(node.left, node.right, gap=node.gap)
    if isinstance(node, ast.Unless | ast.NotBefore | ast.NotAfter) and free(node.absent) & missing:
        return node.body
    return None


def _names(c: ast.Expression) -> frozenset[str]:
    """What a condition speaks of, with the events of earlier rounds under their internal names."""
    return names_in(c) | last_of_names(c) | running_names(c)


def _unfiltered(p: ast.Pattern) -> ast.Pattern:
    """A step as people name it: its filters are told by themselves."""
    match p:
        case ast.Filter() | ast.Within() | ast.Unless() | ast.NotBefore() | ast.NotAfter():
            return _unfiltered(p.body)
        case ast.As() | ast.Iteration() | ast.Optional():
            return replace(p, body=_unfiltered(p.body))
    return p


def _event_of(p: ast.Pattern) -> ast.Pattern:
    """The pattern of the one event of a step, with no condition; of a group, the group."""
    match p:
        case ast.SpanOf() if any(ast.find(p, ast.Until)):
            return p  # UNTIL closes windows, and nothing else
        case ast.Filter() | ast.Within() | ast.Iteration() | ast.Optional():
            return _event_of(p.body)
        case ast.NotAfter() | ast.NotBefore() | ast.Unless() | ast.After() | ast.Select() | ast.SpanOf():
            return _event_of(p.body)
        case ast.As():
            return replace(p, body=_event_of(p.body))
    return p if not nullable(p) else closed(p)
