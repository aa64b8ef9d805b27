"""Compares two events: the first event's value is stored where it is marked, and checked where the second is marked.

In general it is not known which of the two comes first, so each of them both stores and checks. Stores that no later
check reads are removed afterwards (`automata/liveness.py`). A comparison of sets must hold for every choice of an event
from each. So of values that must all be less, the greatest is stored; of values that must all be equal, the least and
the greatest are stored. Alevizos et al., algorithm 1, places conditions in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.predicates import Test, conjunction
from ensue.automata.registers import Action, Check, Clear, Keep, Store, fresh
from ensue.logic.clauses import bare
from ensue.logic.comparisons import Comparison
from ensue.logic.stored_values import Register

_DECISIVE = {"<": (Keep.GREATEST,), "<=": (Keep.GREATEST,), ">": (Keep.LEAST,), ">=": (Keep.LEAST,)}
_ALL_EQUAL = (Keep.LEAST, Keep.GREATEST)


def construct(c: Comparison, body: Automaton, singles: Collection[str]) -> Automaton:
    """`singles` are the variables that mark at most one event of the body."""
    names = fresh(body.registers)
    sides = [_Side(side, names, single=side.variables[0] in singles) for side in (c, c.mirrored())]
    clear = [action for side in sides for action in side.cleared()]
    same_event = frozenset({(Test(bare(c.condition)), True)})
    made = Builder(0)
    for t in body.transitions:
        marked = [side for side in sides if side.variable in t.marks]
        actions: list[Action] = [a for side in marked for a in side.stored()]
        if t.source == 0:
            actions += clear
        else:
            actions += [a for side, other in (sides, sides[::-1]) if side in marked for a in other.checked()]
        guard = conjunction(t.guard, same_event) if len(marked) == 2 else t.guard
        made.add(t.source, guard, Label(t.marks, t.actions.union(actions)), t.target, final=t.target in body.finals)
    return made.build()


class _Side:
    """One side of a comparison, with the registers that store the values of its events."""

    def __init__(self, c: Comparison, names: Iterator[Register], *, single: bool) -> None:
        self.variable = c.variables[0]
        self._own, self._other = bare(c.left), bare(c.right)
        self._operator = c.operator
        keeps = (Keep.NEW,) if single else _DECISIVE.get(c.operator, _ALL_EQUAL)
        self._registers = {next(names): keep for keep in keeps}

    def stored(self) -> list[Action]:
        return [Store(r, self._own, keep) for r, keep in self._registers.items()]

    def cleared(self) -> list[Action]:
        """The clears where the pattern starts, because an earlier round may have stored values."""
        return [Clear(r) for r in self._registers]

    def checked(self) -> list[Action]:
        """The checks at an event of the other side."""
        return [Check(r, self._operator, self._other) for r in self._registers]
