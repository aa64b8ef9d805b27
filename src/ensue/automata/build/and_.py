"""`p AND q`: both run over the same events and must have the same marks."""

from ensue.automata.model import Automaton, Builder
from ensue.automata.predicates import conjunction


def construct(p: Automaton, q: Automaton) -> Automaton:
    made = Builder((0, 0))
    seen = {(0, 0)}
    stack = [(0, 0)]
    while stack:
        a, b = stack.pop()
        for t in p.outgoing.get(a, ()):
            for u in q.outgoing.get(b, ()):
                guard = conjunction(t.guard, u.guard) if t.marks == u.marks else None
                if guard is None:
                    continue
                target = (t.target, u.target)
                made.add(
                    (a, b), guard, t.label.joined(u.label), target, final=t.target in p.finals and u.target in q.finals
                )
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
    return made.build()
