"""A comparison of two events: where the first is marked its value is stored, where the second is, it is checked.

Which of the two comes first is not known in general, so both are done for both, and what no later check reads is left
out again (`automata/liveness.py`). A comparison of sets holds for every choice of an event from each: of values that
must all be less, the greatest is remembered; of values that must all be equal, the least and the greatest.
Alevizos et al., algorithm 1, places conditions in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ensue.automata.model import Automaton, Builder, Label
from ensue.automata.predicates import Test, conjunction
from ensue.automata.registers import Action, Check, Clear, Keep, Register, Store, fresh
from ensue.logic.clauses import bare
from ensue.logic.comparisons import Comparison

_REMEMBERED = {"<": (Keep.GREATEST,), "<=": (Keep.GREATEST,), ">": (Keep.LEAST,), ">=": (Keep.LEAST,)}
_ALL_EQUAL = (Keep.LEAST, Keep.GREATEST)


def construct(c: Comparison, body: Automaton, singles: Collection[str]) -> Automaton:
    """`singles` are the variables that mark one event of the body at most."""
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
    """One side of a comparison: what is remembered of its events."""

    def __init__(self, c: Comparison, names: Iterator[Register], *, single: bool) -> None:
        self.variable = c.variables[0]
        self._own, self._other = bare(c.left), bare(c.right)
        self._operator = c.operator
        keeps = (Keep.NEW,) if single else _REMEMBERED.get(c.operator, _ALL_EQUAL)
        self._registers = {next(names): keep for keep in keeps}

    def stored(self) -> list[Action]:
        return [Store(r, self._own, keep) for r, keep in self._registers.items()]

    def cleared(self) -> list[Action]:
        """Where the pattern starts, what an earlier round has stored is gone."""
        return [Clear(r) for r in self._registers]

    def checked(self) -> list[Action]:
        """At an event of the other side."""
        return [Check(r, self._operator, self._other) for r in self._registers]
