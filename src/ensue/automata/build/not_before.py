"""`NOT q WITHIN d ; p`: the first event of `p` has no `q` in the time `d` before it.

Of the matches of `q` that are over, only the one that has started last counts. So a column beside the query tells of
each event whether that one is recent, and a run of `p` starts only where it is not.
"""

from ensue.automata.model import Automaton, Builder
from ensue.automata.predicates import CameBefore, LatestStart, conjunction
from ensue.language.ast import Interval


def construct(p: Automaton, absent: Automaton, deadline: Interval, name: str) -> Automaton:
    """The runs of `p` without a match of `absent` before them; `absent` has no registers, and `name` identifies it."""
    moves = tuple((t.source, t.guard, t.target) for t in absent.transitions)
    came = CameBefore(LatestStart(name, deadline, absent.size, absent.finals, moves))
    made = Builder(0)
    for t in p.transitions:
        guard = conjunction(t.guard, frozenset({(came, False)})) if t.source == 0 else t.guard
        made.add(t.source, guard, t.label, t.target, final=t.target in p.finals)
    return made.build()
