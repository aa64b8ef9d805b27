"""`p ; q` and `p : q`: where `p` ends, a run enters a waiting state, from which `q` starts; for `;` it may skip events.

A sequence with an optional step (`p? ; q`) uses the same states: `q` may start at once, or the whole may end with `p`.
So a long row of optional steps does not multiply the states. A gap `;[I]` is a clock, reset where `p` ends and checked
where `q` starts (Garcia and Riveros, proposition 4.3).
"""

from ensue.automata.model import UNMARKED, Automaton, Builder
from ensue.automata.predicates import ALWAYS
from ensue.automata.registers import NO_ACTIONS, Actions, Since, Store, fresh
from ensue.language.ast import Interval


def construct(
    p: Automaton,
    q: Automaton,
    *,
    contiguous: bool,
    gap: Interval | None = None,
    left_optional: bool = False,
    right_optional: bool = False,
) -> Automaton:
    made = Builder("start")
    reset, check = gap_actions(gap, p, q)
    add_left(made, p, "wait", ends=right_optional, reset=reset)
    if not contiguous:
        made.add("wait", ALWAYS, UNMARKED, "wait")
    add_right(made, q, ["wait"], starts=left_optional, check=check)
    return made.build()


def gap_actions(gap: Interval | None, *parts: Automaton) -> tuple[Actions, Actions]:
    """The actions of a gap where one part ends, and where the next one starts."""
    if gap is None:
        return NO_ACTIONS, NO_ACTIONS
    clock = next(fresh(*(p.registers for p in parts)))
    return frozenset({Store(clock)}), frozenset({Since(clock, gap)})


def add_left(made: Builder, p: Automaton, wait: object, *, ends: bool, reset: Actions = NO_ACTIONS) -> None:
    """Adds `p`, from the start; where it ends, the run waits and, with `ends`, the whole pattern may end."""
    for t in p.transitions:
        source = "start" if t.source == 0 else ("p", t.source)
        done = t.target in p.finals
        made.add(source, t.guard, t.label, ("p", t.target), final=done and ends)
        if done:
            made.add(source, t.guard, t.also(*reset), wait)


def add_right(made: Builder, q: Automaton, waiting: list[object], *, starts: bool, check: Actions = NO_ACTIONS) -> None:
    """Adds `q`, from each waiting state and, with `starts`, also from the start."""
    for t in q.transitions:
        final = t.target in q.finals
        if t.source != 0:
            made.add(("q", t.source), t.guard, t.label, ("q", t.target), final=final)
            continue
        for source in waiting:
            made.add(source, t.guard, t.also(*check), ("q", t.target), final=final)
        if starts:
            made.add("start", t.guard, t.label, ("q", t.target), final=final)
