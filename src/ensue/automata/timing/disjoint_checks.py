"""Checks of time made disjoint, so that determinisation can merge runs that only check differently.

    (A ;[< 1 s] B) OR (A ;[> 2 s] B)

Two runs of this find the same match only if both of their checks hold. Where all runs with the same marks agree on a
clock, an event takes each of them through one *clock type*: the intervals between the bounds that are checked (Garcia
and Riveros, Theorem 5.3). So each check is split into these, and no match is found twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ensue.automata.ambiguity import is_ambiguous
from ensue.automata.liveness import pruned, register_liveness
from ensue.automata.model import Automaton, Builder, Label, Transition
from ensue.automata.predicates import conjunction
from ensue.automata.registers import Actions, Since
from ensue.automata.timing.clock_types import clock_types, covers
from ensue.language import ast
from ensue.logic.stored_values import Register

#: Larger automata are not examined.
MOST_TRANSITIONS = 500


def with_disjoint_checks(automaton: Automaton) -> Automaton | None:
    """An equivalent automaton of which no match is found twice; None if its checks of time do not give one.

    >>> from ensue.automata.build import build
    >>> from ensue.automata.liveness import pruned
    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.automata.automaton_printer import print_automaton
    >>> made = with_disjoint_checks(pruned(build(parse_pattern("A ;[< 2 s] B OR A ;[> 1 s] B"))))
    >>> print("\\n".join(line for line in print_automaton(made) if line.startswith("1 -> 2*")))
    1 -> 2* B & time since $1 in [<= 1 s] / B
    1 -> 2* B & time since $1 in [> 1 s, < 2 s] / B
    """
    stored = register_liveness(automaton).stored
    checking: dict[Register, list[Transition]] = defaultdict(list)
    for t in automaton.transitions:
        for r in {a.register for a in t.actions if isinstance(a, Since)}:
            if r not in stored[t.source]:
                return None  # in an empty register every check holds
            checking[r].append(t)
    if not checking or len(automaton.transitions) > MOST_TRANSITIONS:
        return None
    types = {
        r: clock_types([a.interval for t in own for a in t.actions if isinstance(a, Since) and a.register == r])
        for r, own in checking.items()
    }
    made: dict[Transition, None] = {}
    for t in automaton.transitions:
        asked = [r for r, own in sorted(checking.items()) if r in stored[t.source] and _concerns(t, own)]
        made |= dict.fromkeys(_split(t, {r: types[r] for r in asked}))
        if len(made) > MOST_TRANSITIONS:
            return None
    split = Automaton(automaton.size, automaton.finals, tuple(made))
    if len({t.target for t in made}) < len({t.target for t in automaton.transitions}):
        split = _reached(automaton, made)
    return None if is_ambiguous(split) else split


def _reached(automaton: Automaton, transitions: Iterable[Transition]) -> Automaton:
    """The automaton with these transitions, of which checks that contradict each other may have taken some away."""
    made = Builder(0)
    for t in transitions:
        made.add(t.source, t.guard, t.label, t.target, final=t.target in automaton.finals)
    return pruned(made.build())


def _concerns(t: Transition, checking: list[Transition]) -> bool:
    """Whether some run that is checked may do at an event what this transition does."""
    return t in checking or any(
        t.marks == u.marks and _rest(t.actions) == _rest(u.actions) and conjunction(t.guard, u.guard) is not None
        for u in checking
    )


def _rest(actions: Actions) -> Actions:
    return frozenset(a for a in actions if not isinstance(a, Since))


def _split(t: Transition, types: dict[Register, list[ast.Interval]]) -> Iterator[Transition]:
    """The transition once for each type of the clocks with which its checks hold."""
    parts: list[Actions] = [frozenset(a for a in t.actions if not (isinstance(a, Since) and a.register in types))]
    for r, intervals in types.items():
        own = [a.interval for a in t.actions if isinstance(a, Since) and a.register == r]
        held = [Since(r, i) for i in intervals if all(covers(o, i) for o in own)]
        parts = [part | {since} for part in parts for since in held]
    yield from (replace(t, label=Label(t.marks, part)) for part in parts)
