"""`SPAN(p) AS w`: a window marks every event from the first to the last of a match, and drops the marks of `p`.

So the runs of `p` over the same events become one when the automaton is determinised: a window is found once.
"""

from ensue.automata.model import Automaton


def construct(p: Automaton, variable: str) -> Automaton:
    marks = frozenset({variable})
    return Automaton(p.size, p.finals, tuple(t.marked(marks) for t in p.transitions))
