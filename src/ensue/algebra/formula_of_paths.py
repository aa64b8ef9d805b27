"""From an automaton that compares values to a pattern with filters, where no round of it stores or compares.

    A AS x ; B AS y FILTER y.v > x.v    is    PROJECT A, B, x, y ((A AS x AS step_0 : B AS y AS step_1) OR ...

Every run that ends takes one of finitely many paths then, apart from the events that it passes in a state. On a path it
is known which event each register was written at, so what the automaton checks there are filters over two events of it.
In a round the same transition would be another event each time, and no variable names the one of the round before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import reduce

from ensue.algebra.ways import NO_EVENT, Way, check_size, event_of, not_true, repeated, then
from ensue.automata.model import Automaton, Transition
from ensue.automata.registers import Check, Clear, Holds, Keep, Store, conditions_of, writes_of
from ensue.errors import EngineError
from ensue.language import ast
from ensue.logic.stored_values import Register, register_of

#: What each register that holds something holds: an expression over the attributes of a variable.
_Held = Mapping[Register, ast.Expression]


def formula_of_paths(p: Automaton) -> ast.Pattern | None:
    """The pattern; None if no run ends."""
    loops: dict[int, list[Transition]] = defaultdict(list)
    for t in p.transitions:
        if t.source == t.target:
            if t.actions:
                raise _none("a round of the automaton stores or compares")
            loops[t.source].append(t)
    passing = {state: reduce(_or, (event_of(t) for t in own)) for state, own in loops.items()}
    found = []
    for path in _paths(p):
        found += _of_path(p, path, passing)
        check_size(found)
    if not found:
        return None
    kept = sorted(frozenset().union(*(t.marks for t in p.transitions)))
    patterns = [way.pattern for way in found if way.pattern is not None]
    return ast.Project(tuple(kept), reduce(ast.Or, patterns))


def _none(why: str) -> EngineError:
    return EngineError(f"there is no formula of single events: {why}")


def _or(p: Way, q: Way) -> Way:
    assert p.pattern is not None
    assert q.pattern is not None
    return Way(ast.Or(p.pattern, q.pattern), False, p.size + q.size)


def _paths(p: Automaton) -> Iterator[list[Transition]]:
    """The ways from the start to a final state that stay in no state, and come to none twice."""
    pending: list[list[Transition]] = [[t] for t in p.outgoing.get(0, ())]
    while pending:
        path = pending.pop()
        here = path[-1].target
        if here in p.finals:
            yield path
        for t in p.outgoing.get(here, ()):
            if t.target == here:
                continue
            if t.target in {s.source for s in path}:
                raise _none("it comes to a state again, where it may have stored something else")
            pending.append([*path, t])


def _of_path(p: Automaton, path: list[Transition], passing: Mapping[int, Way]) -> list[Way]:
    """One sequence for each choice of the states in which events are passed."""
    ways = [NO_EVENT]
    held: dict[Register, ast.Expression] = {}
    asked: list[ast.Expression] = []
    for n, t in enumerate(path):
        step = f"step_{n}"
        asked += _conditions(t, step, held)
        for w in writes_of(t.actions):
            held.pop(w.register, None)
            if isinstance(w, Store):
                held[w.register] = _stored(w, step)
        ways = [then(way, event_of(t, frozenset({step}))) for way in ways]
        if t.target in passing and (n < len(path) - 1 or t.target in p.finals):
            stay = repeated(passing[t.target])._replace(empty=False)
            ways += [then(way, stay) for way in ways]
    return [way._replace(pattern=reduce(ast.Filter, asked, way.pattern)) for way in ways if way.pattern is not None]


def _stored(w: Store, step: str) -> ast.Expression:
    if w.value is None or w.keep is not Keep.NEW:
        raise _none("it compares times and values, or adds up")
    return _of_event(w.value, step)


def _conditions(t: Transition, step: str, held: _Held) -> Iterator[ast.Expression]:
    """What the transition asks of registers that hold something: a check of an empty one holds."""
    for c in sorted(conditions_of(t.actions), key=str):
        if not c.registers <= held.keys():
            continue
        if isinstance(c, Check):
            yield ast.Binary(c.operator, held[c.register], _of_event(c.value, step))
        elif isinstance(c, Holds):
            e = ast.replaced(_of_event(c.condition, step), lambda part: held.get(register_of(part) or ""))
            yield not_true(e) if c.absent else e
        else:
            raise _none("it compares times and values")


def _of_event(e: ast.Expression, step: str) -> ast.Expression:
    """The expression over bare names, of the event that the variable marks."""
    return ast.replaced(e, lambda part: ast.Attribute(step, part.name) if isinstance(part, ast.Name) else None)


def stores_values(p: Automaton) -> bool:
    """Whether the automaton keeps more of events than their times."""
    return any(
        isinstance(a, Check | Holds | Clear) or (isinstance(a, Store) and a.value is not None)
        for t in p.transitions
        for a in t.actions
    )
