"""`p ALL q`: each side first waits, then runs, and then is done, independently of the other.

The complex event ends where the later side ends. A variable in `shared` must mark the same event on both sides, so
whenever one side marks it the other must as well.
"""

from collections.abc import Iterator

from ensue.automata.model import UNMARKED, Automaton, Builder, Label, Marks
from ensue.automata.predicates import ALWAYS, Guard, conjunction

_WAITING, _DONE = -1, -2
_Move = tuple[Guard, Label, int]


def construct(p: Automaton, q: Automaton, shared: Marks) -> Automaton:
    start = (_WAITING, _WAITING)
    made = Builder("start")
    seen = {start}
    stack = [start]
    while stack:
        pair = stack.pop()
        for g1, one, a in _moves(p, pair[0]):
            for g2, other, b in _moves(q, pair[1]):
                guard = conjunction(g1, g2) if one.marks & shared == other.marks & shared else None
                if guard is None or (a, b) == start:
                    continue
                final = (a in p.finals and (b in q.finals or b == _DONE)) or (a == _DONE and b in q.finals)
                made.add("start" if pair == start else pair, guard, one.joined(other), (a, b), final=final)
                if (a, b) not in seen:
                    seen.add((a, b))
                    stack.append((a, b))
    return made.build()


def _moves(side: Automaton, state: int) -> Iterator[_Move]:
    if state in (_WAITING, _DONE):
        yield ALWAYS, UNMARKED, state
    if state in side.finals:
        yield ALWAYS, UNMARKED, _DONE
    if state != _DONE:
        for t in side.outgoing.get(0 if state == _WAITING else state, ()):
            yield t.guard, t.label, t.target
