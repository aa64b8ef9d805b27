"""`T` and `ANY`: one event (Garcia and Riveros, appendix A, base case)."""

from ensue.automata.model import UNMARKED, Automaton, Label, Transition
from ensue.automata.predicates import ALWAYS, TypeIs


def of_type(name: str) -> Automaton:
    guard = frozenset({(TypeIs(name), True)})
    return Automaton(2, frozenset({1}), (Transition(0, guard, Label(frozenset({name})), 1),))


def of_any() -> Automaton:
    return Automaton(2, frozenset({1}), (Transition(0, ALWAYS, UNMARKED, 1),))
