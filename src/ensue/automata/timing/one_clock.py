"""Finds an automaton with one clock, which is evaluated in constant time per event, if the query has one.

It is the monotonic automaton of `monotonic.py`, with the window of the whole pattern as a bound on its clock, and
without needless checks. A check is needless if a later check drops the same runs: it would be made at every event, and
its result would have to be stored.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator
from fractions import Fraction

from ensue.automata.liveness import longest_allowed
from ensue.automata.model import Automaton, Label, Transition
from ensue.automata.predicates import Guard, rankings_of
from ensue.automata.registers import Since, Store
from ensue.automata.timing.clocks import clocks_of, fewest_clocks, with_window
from ensue.automata.timing.in_line import only_marks_ask
from ensue.automata.timing.monotonic import monotonic
from ensue.language import ast

#: Larger automata are not examined: a query should not wait for that.
MOST_TRANSITIONS = 300


def on_one_clock(automaton: Automaton, window: ast.Bound | None) -> Automaton | None:
    """An equivalent deterministic automaton with one clock and bounds on one side only; None if none is found.

    If the bounds are lower bounds, only marked events may check or reset the clock.

    >>> from ensue.automata.build import build
    >>> from ensue.automata.liveness import pruned
    >>> from ensue.automata.automaton_printer import print_automaton
    >>> from ensue.language.parser import parse_pattern
    >>> made = on_one_clock(pruned(build(parse_pattern("A ;[<= 1 s] B ;[<= 2 s] C"))), None)
    >>> print("\\n".join(print_automaton(made)))
    0 -> 1  A / A; $1 := time
    1 -> 1  true /
    1 -> 2  B & time since $1 in [<= 1 s] / B; $1 := time
    2 -> 2  true /
    2 -> 3* C & time since $1 in [<= 2 s] / C
    """
    if not clocks_of(automaton) or len(automaton.transitions) > MOST_TRANSITIONS:
        return None
    if rankings_of(t.guard for t in automaton.transitions):
        return None  # what is best differs between runs that are one here
    found = monotonic(fewest_clocks(with_window(automaton, window)))
    if found is None or len(found.transitions) > MOST_TRANSITIONS:
        return None
    if not _intervals(found):
        return None
    if has_lower_bounds(found):
        found = _with_fewer_guards(found)
        return found if only_marks_ask(found) else None
    return _with_fewer_guards(_without_needless_checks(found))


def has_lower_bounds(automaton: Automaton) -> bool:
    """Whether the bounds on the clock of such an automaton are lower bounds."""
    return any(i.high is None for i in _intervals(automaton))


def _intervals(automaton: Automaton) -> list[ast.Interval]:
    return [a.interval for t in automaton.transitions for a in t.actions if isinstance(a, Since)]


#: A time, and whether the time itself is included.
_Age = tuple[Fraction | float, bool]
_NO_AGE: _Age = (-1, False)
_ANY_AGE: _Age = (math.inf, True)


def _without_needless_checks(automaton: Automaton) -> Automaton:
    """Drops each check that is followed, in every run that can end, by a check that is at least as strict."""
    lasting = _lasting(automaton)
    return automaton.relabelled(
        lambda t: (
            (a for a in t.actions if not (isinstance(a, Since) and lasting.get(t.target, _NO_AGE) <= _age_allowed(t)))
            if _carries_on(automaton, t)
            else t.actions
        )
    )


def _lasting(automaton: Automaton) -> dict[int, _Age]:
    """For each state, how long after its reset a run may still lead to a match, given the checks that stay.

    A dropped check counts as the strictest check that follows it. The loop ends, because ages only grow and each is the
    age of a check.
    """
    found: dict[int, _Age] = {}
    changed = True
    while changed:
        changed = False
        for t in reversed(automaton.transitions):
            age = _age_allowed(t)
            if _carries_on(automaton, t):
                age = min(age, found.get(t.target, _NO_AGE))
            if age > found.get(t.source, _NO_AGE):
                found[t.source] = age
                changed = True
    return found


def _with_fewer_guards(automaton: Automaton) -> Automaton:
    """Merges two transitions that do the same into one, if one requires a condition and the other its negation.

    So a state in which runs only wait has one loop for all events, which shows that those events change nothing.
    """
    guards: dict[tuple[int, Label, int], dict[Guard, None]] = defaultdict(dict)
    for t in automaton.transitions:
        guards[t.source, t.label, t.target][t.guard] = None
    for own in guards.values():
        while (pair := next(_opposite_pairs(own), None)) is not None:
            own.pop(pair[0])
            own.pop(pair[1])
            own[pair[0] & pair[1]] = None
    made = (Transition(s, guard, label, target) for (s, label, target), own in guards.items() for guard in own)
    return Automaton(automaton.size, automaton.finals, tuple(made))


def _opposite_pairs(guards: Collection[Guard]) -> Iterator[tuple[Guard, Guard]]:
    """The pairs of guards that differ in one condition, which one requires and the other excludes."""
    for guard in guards:
        for condition, holds in sorted(guard, key=str):  # sorted, so that every process gives the same result
            other = guard - {(condition, holds)} | {(condition, not holds)}
            if other in guards:
                yield guard, other


def _carries_on(automaton: Automaton, t: Transition) -> bool:
    """Whether a run continues after the transition with an unchanged clock."""
    return t.target not in automaton.finals and not any(isinstance(a, Store) for a in t.actions)


def _age_allowed(t: Transition) -> _Age:
    return next((longest_allowed(a)[:2] for a in t.actions if isinstance(a, Since)), _ANY_AGE)
