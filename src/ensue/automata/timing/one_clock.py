"""The automaton that is evaluated with one clock in constant time an event, where a query has one.

It is the monotonic automaton of `monotonic.py`, with the window of the whole as a bound on its clock, and without the
checks that only drop what comes to nothing anyway: those would be made at every event, and would have to be remembered,
while the check that follows drops the same runs.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator
from fractions import Fraction

from ensue.automata.liveness import allowed
from ensue.automata.model import Automaton, Label, Transition
from ensue.automata.predicates import Guard
from ensue.automata.registers import Since, Store
from ensue.automata.timing.clocks import clocks_of, fewest_clocks, with_window
from ensue.automata.timing.in_line import wait_in_line
from ensue.automata.timing.monotonic import monotonic
from ensue.language import ast

#: Larger automata are not looked at: a query should not wait for it.
MOST_TRANSITIONS = 300


def on_one_clock(automaton: Automaton, window: ast.Bound | None) -> Automaton | None:
    """An equal automaton that is deterministic, with one clock and bounds on one side only; None if none is found.

    With lower bounds it must be one whose runs wait in line.

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
    found = monotonic(fewest_clocks(with_window(automaton, window)))
    if found is None or len(found.transitions) > MOST_TRANSITIONS:
        return None
    if not _intervals(found):
        return None
    if has_lower_bounds(found):
        found = _with_fewer_guards(found)
        return found if wait_in_line(found) else None
    return _with_fewer_guards(_without_needless_checks(found))


def has_lower_bounds(automaton: Automaton) -> bool:
    """Whether what is asked of the clock of such an automaton are lower bounds."""
    return any(i.high is None for i in _intervals(automaton))


def _intervals(automaton: Automaton) -> list[ast.Interval]:
    return [a.interval for t in automaton.transitions for a in t.actions if isinstance(a, Since)]


#: A time, and whether it is still in reach itself.
_Age = tuple[Fraction | float, bool]
_NO_AGE: _Age = (-1, False)
_ANY_AGE: _Age = (math.inf, True)


def _without_needless_checks(automaton: Automaton) -> Automaton:
    """Without the checks after which every run meets one that is as strict."""
    lasting = _lasting(automaton)
    return automaton.relabelled(
        lambda t: (
            (a for a in t.actions if not (isinstance(a, Since) and lasting.get(t.target, _NO_AGE) <= _asked(t)))
            if _carries_on(automaton, t)
            else t.actions
        )
    )


def _lasting(automaton: Automaton) -> dict[int, _Age]:
    """How long after its reset a run in each state may still come to something, by the checks that stay.

    A check that is dropped counts as the strictest that follows it. The ages only ever grow, and are those of checks.
    """
    found: dict[int, _Age] = {}
    changed = True
    while changed:
        changed = False
        for t in reversed(automaton.transitions):
            age = _asked(t)
            if _carries_on(automaton, t):
                age = min(age, found.get(t.target, _NO_AGE))
            if age > found.get(t.source, _NO_AGE):
                found[t.source] = age
                changed = True
    return found


def _with_fewer_guards(automaton: Automaton) -> Automaton:
    """With one transition for two that do the same, the one where something holds and the other where it does not.

    So a state in which runs only wait has one loop for all events, and those events are seen to change nothing.
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
    """Guards that differ in one condition, which holds in one and does not in the other."""
    for guard in guards:
        for condition, holds in sorted(guard, key=str):  # the same in every process
            other = guard - {(condition, holds)} | {(condition, not holds)}
            if other in guards:
                yield guard, other


def _carries_on(automaton: Automaton, t: Transition) -> bool:
    """Whether a run goes on with the clock as it is, and does not end."""
    return t.target not in automaton.finals and not any(isinstance(a, Store) for a in t.actions)


def _asked(t: Transition) -> _Age:
    return next((allowed(a)[:2] for a in t.actions if isinstance(a, Since)), _ANY_AGE)
