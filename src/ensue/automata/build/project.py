"""`PROJECT x, y (p)`: drops all other marks; determinisation then merges the complex events that became equal."""

from ensue.automata.model import Automaton, Marks

#: Marks an event of the support whose variables were all dropped. No variable of a query has this name.
HIDDEN = "\0hidden"


def construct(p: Automaton, kept: Marks) -> Automaton:
    return Automaton(p.size, p.finals, tuple(t.marked(t.marks & kept) for t in p.transitions))


def construct_with_support(p: Automaton, kept: Marks) -> Automaton:
    """The same, but every marked event stays marked, so that supports can still be compared."""
    hidden = frozenset({HIDDEN})
    marks = {t.marks: t.marks & kept or (hidden if t.marks else t.marks) for t in p.transitions}
    return Automaton(p.size, p.finals, tuple(t.marked(marks[t.marks]) for t in p.transitions))
