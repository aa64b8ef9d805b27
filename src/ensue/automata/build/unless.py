"""`p UNLESS q`: runs `p` together with a watcher of `q` that starts with it; where a `q` ends, the run is dropped."""

from ensue.automata.build.tracking import Watched, Watcher
from ensue.automata.model import Automaton, Builder
from ensue.automata.predicates import conjunction
from ensue.language import ast


def construct(part: ast.Node, p: Automaton, absent: Automaton) -> Automaton:
    watcher = Watcher(part, absent)
    start: tuple[int, Watched] = (0, frozenset())
    made = Builder(start)
    seen = {start}
    stack = [start]
    while stack:
        state, watched = stack.pop()
        for t in p.outgoing.get(state, ()):
            for cell, actions, after in watcher.steps(watched):
                guard = conjunction(t.guard, cell)
                target = (t.target, after)
                made.add((state, watched), guard, t.also(*actions), target, final=t.target in p.finals)
                if guard is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
    return made.build()
