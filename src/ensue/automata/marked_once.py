"""Which variables mark exactly one event in every run."""

from __future__ import annotations

from ensue.automata.model import Automaton


def marked_once(p: Automaton, variable: str) -> bool:
    """Whether every run that is accepted marks one event with the variable, no less and no more."""
    start = (0, 0)
    seen, stack = {start}, [start]
    while stack:
        state, marked = stack.pop()
        for t in p.outgoing.get(state, ()):
            count = min(marked + (variable in t.marks), 2)
            if t.target in p.finals and count != 1:
                return False
            if (t.target, count) not in seen:
                seen.add((t.target, count))
                stack.append((t.target, count))
    return True
