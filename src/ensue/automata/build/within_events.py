"""`p WITHIN n EVENTS` inside a pattern: `p` beside a count of the events it has taken."""

from ensue.automata.model import Automaton, Builder


def construct(p: Automaton, count: int) -> Automaton:
    made = Builder((0, 0))
    level = {0}
    for taken in range(count):
        for state in level:
            for t in p.outgoing.get(state, ()):
                made.add((state, taken), t.guard, t.label, (t.target, taken + 1), final=t.target in p.finals)
        level = {t.target for state in level for t in p.outgoing.get(state, ())}
    return made.build()
