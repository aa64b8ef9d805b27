"""`p AS x`: `x` marks every event that `p` marks."""

from ensue.automata.model import Automaton


def construct(p: Automaton, variable: str, *, marks_all: bool) -> Automaton:
    """`marks_all` is for patterns of one event: then `x` marks that event even for ANY, which itself marks nothing."""
    named = frozenset({variable})
    transitions = tuple(t.marked(t.marks | named) if t.marks or marks_all else t for t in p.transitions)
    return Automaton(p.size, p.finals, transitions)
