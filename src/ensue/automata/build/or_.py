"""`p OR q`: both automata, side by side, from one initial state."""

from ensue.automata.model import Automaton, Builder


def construct(p: Automaton, q: Automaton) -> Automaton:
    made = Builder("start")
    for side, automaton in (("p", p), ("q", q)):
        for t in automaton.transitions:
            source = "start" if t.source == 0 else (side, t.source)
            made.add(source, t.guard, t.label, (side, t.target), final=t.target in automaton.finals)
    return made.build()
