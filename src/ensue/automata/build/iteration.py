"""`p+`, `p:+`, `p{n,m}`, `p:{n,m}`: a copy of `p` for each round that must be told apart; the last one may loop."""

from ensue.automata.model import NO_MARKS, Automaton, Builder
from ensue.automata.predicates import ALWAYS


def construct(p: Automaton, low: int, high: int | None, *, contiguous: bool) -> Automaton:
    rounds = low if high is None else high
    made = Builder((1, 0))
    for k in range(1, rounds + 1):
        after = k + 1 if k < rounds else (k if high is None else None)  # the round that may follow
        for t in p.transitions:
            ends = t.target in p.finals
            made.add((k, t.source), t.guard, t.marks, (k, t.target), final=ends and k >= low)
            if ends and after is not None:
                made.add((k, t.source), t.guard, t.marks, ("wait", after))
        if after is None:
            continue
        if not contiguous:
            made.add(("wait", after), ALWAYS, NO_MARKS, ("wait", after))
        for t in p.outgoing.get(0, ()):
            ends = t.target in p.finals
            made.add(("wait", after), t.guard, t.marks, (after, t.target), final=ends and after >= low)
            following = after + 1 if after < rounds else (after if high is None else None)
            if ends and following is not None:
                made.add(("wait", after), t.guard, t.marks, ("wait", following))
    return made.build()
