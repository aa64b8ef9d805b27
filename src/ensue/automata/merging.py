"""Makes one state of those from which the same can come: runs in them are then in one list, and need no joining."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ensue.automata.model import Automaton, Transition


def merged(automaton: Automaton) -> Automaton:
    """The automaton with one state for each class of states whose transitions lead to the same classes alike.

    It has the same complex events; the first state stays the first.
    """
    block = [int(state in automaton.finals) for state in range(automaton.size)]
    while True:
        ways: dict[int, set[tuple[object, ...]]] = defaultdict(set)
        for t in automaton.transitions:
            ways[t.source].add((t.guard, t.label, block[t.target]))
        number: dict[object, int] = {}
        # State 0 is numbered first, and stays alone: nothing leads back to it.
        after = [
            number.setdefault((state == 0, block[state], frozenset(ways[state])), len(number))
            for state in range(automaton.size)
        ]
        if len(number) == len(set(block)):
            break
        block = after
    steps = (replace(t, source=after[t.source], target=after[t.target]) for t in automaton.transitions)
    finals = frozenset(after[state] for state in automaton.finals)
    transitions: tuple[Transition, ...] = tuple(dict.fromkeys(steps))
    return Automaton(len(number), finals, transitions)
