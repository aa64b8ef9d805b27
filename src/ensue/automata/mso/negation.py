"""`NOT f`: the automaton is deterministic and complete, so its other states are final."""

from ensue.automata.mso.tracked import Tracked


def construct(f: Tracked) -> Tracked:
    return Tracked(frozenset(range(f.size)) - f.finals, f.steps)
