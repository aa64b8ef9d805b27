"""From an automaton back to a pattern, by Kleene's theorem: the states are taken out one by one.

    A ; B      is      (A OR A : PROJECT () (ANY):+) : B

The pattern has only `:`, OR and `:+` over single events, as in Proposition 4.4 of Garcia and Riveros, which has more
for clocks: for each of them a formula of its own, joined by AND. That is not here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from functools import reduce
from typing import NamedTuple

from ensue.automata.build import Unsupported, build
from ensue.automata.liveness import pruned
from ensue.automata.model import Automaton, Transition
from ensue.automata.predicates import Test, TypeIs
from ensue.errors import EngineError
from ensue.language import ast
from ensue.language.parser import parse_pattern
from ensue.language.printer import print_pattern

#: A pattern of more single events than this is of no use to anybody.
MOST_EVENTS = 2_000


class _Way(NamedTuple):
    """Patterns of what leads from a state to another one; `empty`: no event is needed."""

    pattern: ast.Pattern | None = None
    empty: bool = False
    size: int = 0


def formula_of(automaton: Automaton | str) -> str:
    """A pattern with the complex events of an automaton, or of another pattern, whose conditions are on single events.

    >>> formula_of("A ; (B FILTER B.v > 1)")
    '(A OR A : PROJECT () (ANY):+) : B[v > 1]'
    """
    p = _built(automaton) if isinstance(automaton, str) else automaton
    if p.registers:
        raise EngineError("there is no formula of single events: the automaton compares events, or their times")
    ways: dict[tuple[Hashable, Hashable], _Way] = {}
    for t in p.transitions:
        _add(ways, t.source, t.target, _Way(_event(t), size=1))
    for final in p.finals:
        ways[final, "end"] = _Way(empty=True)
    states = set(range(p.size)) - {0}
    while states:
        states.remove(_without_state(ways, states))
    found = ways.get((0, "end"), _Way()).pattern
    if found is None:
        raise EngineError("there is no formula: no run of the automaton ends")
    return print_pattern(found)


def _built(text: str) -> Automaton:
    try:
        return pruned(build(parse_pattern(text)))
    except Unsupported as e:
        raise EngineError(f"the pattern has no automaton, because of {e.what}") from None


def _without_state(ways: dict[tuple[Hashable, Hashable], _Way], states: set[int]) -> int:
    """Takes the state out with the fewest ways through it; says which one it was."""
    into: dict[Hashable, list[Hashable]] = defaultdict(list)
    out: dict[Hashable, list[Hashable]] = defaultdict(list)
    for a, b in ways:
        if a != b:
            into[b].append(a)
            out[a].append(b)
    state = min(states, key=lambda s: (len(into[s]) * len(out[s]), s))
    loop = _repeated(ways.pop((state, state), _Way()))
    for a in into[state]:
        for b in out[state]:
            _add(ways, a, b, _then(_then(ways[a, state], loop), ways[state, b]))
    for edge in [edge for edge in ways if state in edge]:
        del ways[edge]
    if sum(way.size for way in ways.values()) > MOST_EVENTS:
        raise EngineError(f"the formula would have more than {MOST_EVENTS:,} single events")
    return state


def _add(ways: dict[tuple[Hashable, Hashable], _Way], source: Hashable, target: Hashable, way: _Way) -> None:
    known = ways.get((source, target), _Way())
    ways[source, target] = _Way(_either(known.pattern, way.pattern), known.empty or way.empty, known.size + way.size)


def _then(p: _Way, q: _Way) -> _Way:
    joined = None
    if p.pattern is not None and q.pattern is not None:
        joined = ast.Sequence(p.pattern, q.pattern, ast.Link.DIRECTLY)
    pattern = _either(p.pattern if q.empty else None, q.pattern if p.empty else None)
    return _Way(_either(pattern, joined), p.empty and q.empty, p.size * (1 + q.empty) + q.size * (1 + p.empty))


def _either(p: ast.Pattern | None, q: ast.Pattern | None) -> ast.Pattern | None:
    if p is None or q is None or p == q:
        return q if p is None else p
    return ast.Or(p, q)


def _repeated(way: _Way) -> _Way:
    if way.pattern is None:
        return _Way(empty=True)
    return _Way(ast.Iteration(way.pattern, 1, None, link=ast.Link.DIRECTLY), True, way.size)


def _event(t: Transition) -> ast.Pattern:
    """One event that satisfies the guard, with the marks of the transition."""
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
    for variable in sorted(t.marks - set(types)):
        event = ast.As(event, variable)
    unmarked = not set(types) <= t.marks or not t.marks
    return ast.Project(tuple(sorted(t.marks)), event) if unmarked else event


def not_true(e: ast.Expression) -> ast.Expression:
    """FALSE or NULL."""
    return ast.Binary("OR", ast.Unary("NOT", e), ast.IsNull(e, negated=False))
