"""The automaton that is evaluated with one clock in constant time an event, where a query has one.

It is the monotonic automaton of `monotonic.py` for upper bounds, with the window of the whole as a bound on its clock,
and without the checks that only drop what comes to nothing anyway: those would be made at every event, and would have
to be remembered, while the check that follows drops the same runs.
"""

from __future__ import annotations

from ensue.automata.liveness import allowed, longest_asked
from ensue.automata.memory import Since, Store
from ensue.automata.model import Automaton, Label, Transition
from ensue.automata.timing.clocks import clocks_of, fewest_clocks, with_window
from ensue.automata.timing.monotonic import monotonic
from ensue.language import ast

#: Larger automata are not looked at: a query should not wait for it.
MOST_TRANSITIONS = 300


def on_one_clock(automaton: Automaton, window: ast.Bound | None) -> Automaton | None:
    """An equal automaton that is deterministic, with one clock and upper bounds only; None if none is found.

    >>> from ensue.automata.build import build
    >>> from ensue.automata.liveness import pruned
    >>> from ensue.automata.printer import print_automaton
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
    asked = [a for t in found.transitions for a in t.actions if isinstance(a, Since)]
    if not asked or any(a.interval.high is None for a in asked):
        return None
    return _without_needless_checks(found)


def _without_needless_checks(automaton: Automaton) -> Automaton:
    """Without the checks after which every run makes one that is as strict or fails."""
    (clock,) = clocks_of(automaton)
    for t in automaton.transitions:
        own = next((a for a in t.actions if isinstance(a, Since)), None)
        if own is None or t.target in automaton.finals or any(isinstance(a, Store) for a in t.actions):
            continue
        without = _with(automaton, t, Transition(t.source, t.guard, Label(t.marks, t.actions - {own}), t.target))
        later = longest_asked(without, clock).get(t.target)
        if later is not None and allowed(later)[:2] <= allowed(own)[:2]:
            automaton = without
    return automaton


def _with(automaton: Automaton, old: Transition, new: Transition) -> Automaton:
    return Automaton(automaton.size, automaton.finals, tuple(new if t == old else t for t in automaton.transitions))
