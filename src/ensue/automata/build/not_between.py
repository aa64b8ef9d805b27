"""`p ; NOT q ; r`: the waiting state of a sequence, with a watcher of `q` that starts after `p` has ended.

A `q` may end at the event with which `r` starts: only a `q` that ends before that event is excluded.
"""

from ensue.automata.build.sequence import add_left, add_right, gap_actions
from ensue.automata.build.tracking import Watched, Watcher
from ensue.automata.model import NO_MARKS, Automaton, Builder, Label
from ensue.language import ast
from ensue.language.ast import Interval


def construct(
    part: ast.Node,
    p: Automaton,
    absent: Automaton,
    r: Automaton,
    *,
    gap: Interval | None = None,
    left_optional: bool = False,
    right_optional: bool = False,
) -> Automaton:
    watcher = Watcher(part, absent)
    reset, check = gap_actions(gap, p, r)
    made = Builder("start")
    waiting: Watched = frozenset()
    add_left(made, p, ("wait", waiting), ends=right_optional, reset=reset)
    seen = {waiting}
    stack = [waiting]
    while stack:
        watched = stack.pop()
        for cell, actions, after in watcher.steps(watched):
            made.add(("wait", watched), cell, Label(NO_MARKS, actions), ("wait", after))
            if after not in seen:
                seen.add(after)
                stack.append(after)
    # Sorted, so that the states are numbered the same in every process.
    add_right(made, r, [("wait", w) for w in sorted(seen, key=sorted)], starts=left_optional, check=check)
    return made.build()
