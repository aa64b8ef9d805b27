"""`p AS x`: whatever `p` marks is marked with `x` too."""

from ensue.automata.model import Automaton


def construct(p: Automaton, variable: str, *, marks_all: bool) -> Automaton:
    """`marks_all` is for one-event patterns, where ANY's event is meant although it marks nothing of its own."""
    named = frozenset({variable})
    transitions = tuple(t.marked(t.marks | named) if t.marks or marks_all else t for t in p.transitions)
    return Automaton(p.size, p.finals, transitions)
