"""`p WITHIN n EVENTS` inside a pattern: runs `p` together with a count of its events."""

from ensue.automata.model import Automaton, Builder


def construct(p: Automaton, count: int) -> Automaton:
    made = Builder((0, 0))
    level = {0}
    for events in range(count):
        for state in level:
            for t in p.outgoing.get(state, ()):
                made.add((state, events), t.guard, t.label, (t.target, events + 1), final=t.target in p.finals)
        level = {t.target for state in level for t in p.outgoing.get(state, ())}
    return made.build()
