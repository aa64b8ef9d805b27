"""`p+`, `p:+`, `p{n,m}`, `p:{n,m}`: a copy of `p` for each round that must be counted; the last copy may loop.

A gap `+[I]` is a clock, reset where a round ends and checked where the next one starts.
"""

from ensue.automata.build.sequence import gap_actions
from ensue.automata.build.tracking import Watcher
from ensue.automata.model import NO_MARKS, UNMARKED, Automaton, Builder, Label
from ensue.automata.predicates import ALWAYS
from ensue.language.ast import Interval


def construct(
    p: Automaton,
    low: int,
    high: int | None,
    *,
    contiguous: bool,
    gap: Interval | None = None,
    watcher: Watcher | None = None,
) -> Automaton:
    """`watcher` watches for one event that must not occur between two rounds."""
    rounds = low if high is None else high
    reset, check = gap_actions(gap, p)
    skipping = [(ALWAYS, UNMARKED)]
    if watcher is not None:
        skipping = [(cell, Label(NO_MARKS, actions)) for cell, actions, _ in watcher.steps(frozenset())]
    made = Builder((1, 0))

    def following(k: int) -> int | None:
        return k + 1 if k < rounds else (k if high is None else None)

    for k in range(1, rounds + 1):
        after = following(k)
        for t in p.transitions:
            ends = t.target in p.finals
            made.add((k, t.source), t.guard, t.label, (k, t.target), final=ends and k >= low)
            if ends and after is not None:
                made.add((k, t.source), t.guard, t.also(*reset), ("wait", after))
        if after is None:
            continue
        for guard, label in [] if contiguous else skipping:
            made.add(("wait", after), guard, label, ("wait", after))
        for t in p.outgoing.get(0, ()):
            ends = t.target in p.finals
            made.add(("wait", after), t.guard, t.also(*check), (after, t.target), final=ends and after >= low)
            next_round = following(after)
            if ends and next_round is not None:
                made.add(("wait", after), t.guard, t.also(*check, *reset), ("wait", next_round))
    return made.build()
