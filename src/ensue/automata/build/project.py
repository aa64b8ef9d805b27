"""`PROJECT x, y (p)`: other marks are dropped; determinisation then removes what became the same."""

from dataclasses import replace

from ensue.automata.model import Automaton, Marks


def construct(p: Automaton, kept: Marks) -> Automaton:
    return Automaton(p.size, p.finals, tuple(replace(t, marks=t.marks & kept) for t in p.transitions))
