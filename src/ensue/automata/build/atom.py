"""`T`, `ANY` and `T[g]`: one event (Garcia and Riveros, appendix A, base case)."""

from ensue.automata.model import UNMARKED, Automaton, Label, Transition
from ensue.automata.predicates import ALWAYS, Test, TypeIs
from ensue.language.ast import Expression


def of_type(name: str) -> Automaton:
    guard = frozenset({(TypeIs(name), True)})
    return Automaton(2, frozenset({1}), (Transition(0, guard, Label(frozenset({name})), 1),))


def of_any() -> Automaton:
    return Automaton(2, frozenset({1}), (Transition(0, ALWAYS, UNMARKED, 1),))


def satisfying(p: Automaton, condition: Expression) -> Automaton:
    """One event of `p` that satisfies a condition over bare names."""
    (t,) = p.transitions
    guard = t.guard | {(Test(condition), True)}
    return Automaton(2, frozenset({1}), (Transition(0, guard, t.label, 1),))
