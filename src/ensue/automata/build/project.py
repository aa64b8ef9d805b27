"""`PROJECT x, y (p)`: other marks are dropped; determinisation then removes what became the same."""

from ensue.automata.model import Automaton, Marks

#: Marks an event that is in the support but whose variables are dropped. No variable of a query has this name.
HIDDEN = "\0hidden"


def construct(p: Automaton, kept: Marks) -> Automaton:
    return Automaton(p.size, p.finals, tuple(t.marked(t.marks & kept) for t in p.transitions))


def construct_with_support(p: Automaton, kept: Marks) -> Automaton:
    """The same, but an event that was marked stays so: supports can be compared after it."""
    hidden = frozenset({HIDDEN})
    marks = {t.marks: t.marks & kept or (hidden if t.marks else t.marks) for t in p.transitions}
    return Automaton(p.size, p.finals, tuple(t.marked(marks[t.marks]) for t in p.transitions))
