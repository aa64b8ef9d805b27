"""Patterns of what leads from one state of a graph to another one: its states are taken out one by one (Kleene)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable
from functools import reduce
from typing import NamedTuple

from ensue.automata.model import Marks, Transition
from ensue.automata.predicates import Test, TypeIs
from ensue.errors import EngineError
from ensue.language import ast

#: A pattern of more single events than this is of no use to anybody.
MOST_EVENTS = 2_000


class Way(NamedTuple):
    """A pattern; `empty`: no event is needed."""

    pattern: ast.Pattern | None = None
    empty: bool = False
    size: int = 0  # in single events


NO_EVENT = Way(empty=True)
Ways = dict[tuple[Hashable, Hashable], Way]
_END = object()


def way_between(edges: Ways, start: Hashable, ends: Collection[Hashable]) -> Way:
    """What leads from the start to one of the ends, where the start may be one of them."""
    ways: Ways = {}
    for (a, b), way in edges.items():
        add(ways, a, b, way)
    for end in ends:
        add(ways, end, _END, NO_EVENT)
    begin = object()
    add(ways, begin, start, NO_EVENT)
    states = {s for edge in ways for s in edge} - {begin, _END}
    order = {s: n for n, s in enumerate(dict.fromkeys(s for edge in ways for s in edge))}
    while states:
        states.remove(_without_state(ways, states, order))
    return ways.get((begin, _END), Way())


def _without_state(ways: Ways, states: set[Hashable], order: dict[Hashable, int]) -> Hashable:
    """Takes the state out with the fewest ways through it; says which one it was."""
    into: dict[Hashable, list[Hashable]] = defaultdict(list)
    out: dict[Hashable, list[Hashable]] = defaultdict(list)
    for a, b in ways:
        if a != b:
            into[b].append(a)
            out[a].append(b)
    state = min(states, key=lambda s: (len(into[s]) * len(out[s]), order[s]))
    loop = repeated(ways.pop((state, state), Way()))
    for a in into[state]:
        for b in out[state]:
            add(ways, a, b, then(then(ways[a, state], loop), ways[state, b]))
    for edge in [edge for edge in ways if state in edge]:
        del ways[edge]
    check_size(ways.values())
    return state


def check_size(ways: Iterable[Way]) -> None:
    """Refuses a formula that is too large."""
    if sum(way.size for way in ways) > MOST_EVENTS:
        raise EngineError(f"the formula would have more than {MOST_EVENTS:,} single events")


def add(ways: Ways, source: Hashable, target: Hashable, way: Way) -> None:
    """One more way between two states."""
    known = ways.get((source, target), Way())
    ways[source, target] = Way(_either(known.pattern, way.pattern), known.empty or way.empty, known.size + way.size)


def then(p: Way, q: Way) -> Way:
    """One way directly behind the other."""
    joined = None
    if p.pattern is not None and q.pattern is not None:
        joined = ast.Sequence(p.pattern, q.pattern, ast.Link.DIRECTLY)
    pattern = _either(p.pattern if q.empty else None, q.pattern if p.empty else None)
    size = (
        p.size * (1 + q.empty) + q.size * (1 + p.empty) if joined is not None else p.size * q.empty + q.size * p.empty
    )
    return Way(_either(pattern, joined), p.empty and q.empty, size)


def _either(p: ast.Pattern | None, q: ast.Pattern | None) -> ast.Pattern | None:
    if p is None or q is None or p == q:
        return q if p is None else p
    return ast.Or(p, q)


def repeated(way: Way) -> Way:
    """Any number of it, one directly behind the other."""
    if way.pattern is None:
        return NO_EVENT
    return Way(ast.Iteration(way.pattern, 1, None, link=ast.Link.DIRECTLY), True, way.size)


def event_of(t: Transition, also: Marks = frozenset()) -> Way:
    """One event that satisfies the guard, with the marks of the transition, and some others."""
    types = [p.name for p, holds in t.guard if holds and isinstance(p, TypeIs)]
    event: ast.Pattern = ast.Type(types[0]) if types else ast.Any()
    for p, holds in sorted(t.guard, key=str):
        if isinstance(p, Test):
            event = ast.Satisfying(event, p.expression if holds else not_true(p.expression))
        elif not isinstance(p, TypeIs):
            raise EngineError(f"there is no formula of single events: {p}")
    excluded = sorted(p.name for p, holds in t.guard if isinstance(p, TypeIs) and not holds)
    others: list[ast.Pattern] = [ast.Type(name) for name in excluded]
    if others:
        event = ast.Unless(event, reduce(ast.Or, others))
    marks = t.marks | also
    for variable in sorted(marks - set(types)):
        event = ast.As(event, variable)
    unmarked = not set(types) <= marks or not marks
    return Way(ast.Project(tuple(sorted(marks)), event) if unmarked else event, size=1)


def not_true(e: ast.Expression) -> ast.Expression:
    """FALSE or NULL."""
    return ast.Binary("OR", ast.Unary("NOT", e), ast.IsNull(e, negated=False))
