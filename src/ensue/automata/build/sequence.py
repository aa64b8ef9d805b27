"""`p ; q` and `p : q`: what ends `p` leads to a waiting state from which `q` starts; for `;` it may skip events.

A step that may be left out (`p? ; q`) shares the states: `q` may start at once, or the whole may end with `p`. So a
long row of optional steps does not multiply.
"""

from ensue.automata.model import NO_MARKS, Automaton, Builder
from ensue.automata.predicates import ALWAYS


def construct(
    p: Automaton, q: Automaton, *, contiguous: bool, left_optional: bool = False, right_optional: bool = False
) -> Automaton:
    made = Builder("start")
    add_left(made, p, "wait", ends=right_optional)
    if not contiguous:
        made.add("wait", ALWAYS, NO_MARKS, "wait")
    add_right(made, q, ["wait"], starts=left_optional)
    return made.build()


def add_left(made: Builder, p: Automaton, wait: object, *, ends: bool) -> None:
    """`p` from the start on; where it ends, the run waits, and with `ends` the whole may end."""
    for t in p.transitions:
        source = "start" if t.source == 0 else ("p", t.source)
        done = t.target in p.finals
        made.add(source, t.guard, t.marks, ("p", t.target), final=done and ends)
        if done:
            made.add(source, t.guard, t.marks, wait)


def add_right(made: Builder, q: Automaton, waiting: list[object], *, starts: bool) -> None:
    """`q` from each waiting state on, and with `starts` from the start too."""
    for t in q.transitions:
        sources = [*waiting, *(["start"] if starts else [])] if t.source == 0 else [("q", t.source)]
        for source in sources:
            made.add(source, t.guard, t.marks, ("q", t.target), final=t.target in q.finals)
