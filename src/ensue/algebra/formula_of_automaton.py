"""From an automaton back to a pattern, by Kleene's theorem: the states are taken out one by one.

    A ; B           is      (A OR A : PROJECT () (ANY):+) : B
    A :[<= 1 s] B   is      A : B WITHIN [<= 1 s]

The pattern has only `:`, OR and `:+` over single events and, for clocks, windows in time, AND and PROJECT: Proposition
4.4 of Garcia and Riveros. Where values are compared, it is one sequence for each path, with filters.
"""

from __future__ import annotations

from ensue.algebra.formula_of_paths import formula_of_paths, stores_values
from ensue.algebra.match_automaton import MatchAutomaton
from ensue.algebra.timed_formula import timed_formula
from ensue.algebra.ways import Ways, add, event_of, way_between
from ensue.automata.build import Unsupported, build
from ensue.automata.liveness import pruned
from ensue.automata.model import Automaton
from ensue.automata.registers import Keep, Since, Store
from ensue.errors import EngineError
from ensue.language.own import Draft
from ensue.language.parser import parse_pattern
from ensue.language.printer import print_pattern


def formula_of(automaton: Automaton | MatchAutomaton | Draft | str) -> str:
    """A pattern with the complex events of an automaton, or of another pattern.

    It may compare times; or it compares values, in no round and not together with times.

    >>> formula_of("A ; (B FILTER B.v > 1)")
    '(A OR A : PROJECT () (ANY):+) : B[v > 1]'
    >>> formula_of("A :[<= 1 s] B")
    'A : B WITHIN 1 s'
    """
    p = _built(automaton)
    if stores_values(p):
        found = formula_of_paths(p)
    elif any(not isinstance(a, Since) and not _resets(a) for t in p.transitions for a in t.actions):
        raise EngineError("there is no formula of single events: the automaton keeps the least of times")
    elif p.registers:
        found = timed_formula(p)
    else:
        ways: Ways = {}
        for t in p.transitions:
            add(ways, t.source, t.target, event_of(t))
        found = way_between(ways, 0, p.finals).pattern
    if found is None:
        raise EngineError("there is no formula: no run of the automaton ends")
    return print_pattern(found)


def _resets(action: object) -> bool:
    return isinstance(action, Store) and action.value is None and action.keep is Keep.NEW


def _built(given: Automaton | MatchAutomaton | Draft | str) -> Automaton:
    if isinstance(given, Automaton):
        return given
    if isinstance(given, MatchAutomaton):
        return given.automaton
    if isinstance(given, Draft):
        return MatchAutomaton.of(given).automaton
    try:
        return pruned(build(parse_pattern(given)))
    except Unsupported as e:
        raise EngineError(f"the pattern has no automaton, because of {e.what}") from None
