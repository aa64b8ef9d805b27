"""How a move takes runs with registers: which of them at a time, and what that costs.

Runs are kept in a tree that is ordered by what they have stored (`kernels/value_trees.py`). Registers that are asked to
be equal to something come first in that order, so that the runs that pass lie next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ensue.automata.liveness import Registers, allowed, analysed, longest_asked
from ensue.automata.model import Automaton
from ensue.automata.registers import (
    Actions,
    Check,
    Comparison,
    Keep,
    Register,
    Since,
    Store,
    comparisons_of,
    formulas_of,
    writes_of,
)

_NONE: Registers = frozenset()


class Kind(IntEnum):
    """What is done with the runs of a tree."""

    PASS = 0  # the tree goes on as it is
    UNION = 1  # those between two keys become one list: some subtrees
    SIFT = 2  # those between two keys that pass the checks become one list: each is looked at
    EACH = 3  # those that pass go on one by one, with what they have stored
    MERGE = 4  # all that pass go on at once, with what they have stored: they stay in order


@dataclass(frozen=True)
class RunsTaken:
    """How a move takes the runs of its source."""

    kind: Kind
    bound: int  # by how many of the first registers the checks bound them
    live: Registers  # what counts after it
    lost: Since | None  # runs of the target for which this check of their first clock fails are lost


class RegisterMoves:
    """Says of moves between sets of states how they take runs."""

    def __init__(self, automaton: Automaton, actions: Sequence[Actions]) -> None:
        self._memory = analysed(automaton)
        self._asked = {r: longest_asked(automaton, r) for r in sorted(automaton.registers)}
        equal = {c.register for a in actions for c in comparisons_of(a) if _is_equality(c)}
        #: In the order of the trees' keys.
        self.registers: list[Register] = sorted(automaton.registers, key=lambda r: (r not in equal, len(r), r))

    def taken(self, source: frozenset[int], target: frozenset[int], actions: Actions, *, marks: bool) -> RunsTaken:
        """An empty source is that of runs that start, an empty target that of runs that end."""
        had, live = self._live(source), self._live(target)
        comparisons = comparisons_of(actions)
        replaced = {w.register for w in writes_of(actions) if not isinstance(w, Store) or w.keep is Keep.NEW}
        bound = self._bound(comparisons, had, self._stored(source))
        if not marks and not actions and live == had and target:
            kind = Kind.PASS
        elif live & had - replaced:
            kind = Kind.MERGE if not bound and self._stay_in_order(live, had, replaced, actions) else Kind.EACH
        else:
            decided = set(self.registers[:bound])
            settled = all(c.register in decided for c in comparisons) and not formulas_of(actions)
            kind = Kind.UNION if settled else Kind.SIFT
        return RunsTaken(kind, bound, live, self._lost(target, live))

    def _lost(self, target: frozenset[int], live: Registers) -> Since | None:
        """What all runs of the target will ask of the first register in the order of their keys, if that is a clock."""
        first = next((r for r in self.registers if r in live), None)
        if first is None or first not in self._stored(target):
            return None
        asked = [self._asked[first].get(s) for s in target]
        return None if any(a is None for a in asked) else max((a for a in asked if a is not None), key=allowed)

    def _stay_in_order(self, live: Registers, had: Registers, replaced: set[Register], actions: Actions) -> bool:
        """Whether runs that differ in what they had stored are in the same order by what they have stored then.

        What is the same for all of them then must come after all that is carried on; of a least or greatest value,
        several may become the same, so that nothing may come after it.
        """
        compared = {w.register for w in writes_of(actions) if isinstance(w, Store) and w.keep is not Keep.NEW}
        last = False
        for register in self.registers:
            carried = register in live and register in had and register not in replaced
            if last and carried:
                return False
            last |= (register in had and not carried) or register in compared
        return True

    def _bound(self, comparisons: list[Comparison], had: Registers, stored: Registers) -> int:
        """By how many of the first registers the runs that pass lie next to each other."""
        for n, register in enumerate(self.registers):
            if register not in had:
                continue  # nothing is stored in it
            asked = [c for c in comparisons if c.register == register]
            if not asked or register not in stored:
                return n
            if not any(map(_is_equality, asked)):
                return n + 1
        return len(self.registers)

    def _live(self, states: frozenset[int]) -> Registers:
        return _NONE.union(*(self._memory.live.get(s, _NONE) for s in states))

    def _stored(self, states: frozenset[int]) -> Registers:
        """What every run in the states has stored: runs of one subset have all stored in the same registers."""
        return _NONE.union(*(self._memory.stored.get(s, _NONE) for s in states))


def _is_equality(c: Comparison) -> bool:
    return isinstance(c, Check) and c.operator == "="


def slow_moves(automaton: Automaton) -> list[str]:
    """The transitions that look at many runs one by one, as text: where the time of an event is not a logarithm."""
    taking = RegisterMoves(automaton, [t.actions for t in automaton.transitions])
    found: dict[str, None] = {}
    for t in automaton.transitions:
        ends = frozenset() if t.target in automaton.finals else frozenset({t.target})
        source = frozenset() if t.source == 0 else frozenset({t.source})
        taken = taking.taken(source, ends, t.actions, marks=bool(t.marks))
        carried = taken.kind in (Kind.EACH, Kind.MERGE) and not all(
            r in taking.registers[: taken.bound] for r in taken.live
        )
        if carried or taken.kind is Kind.SIFT:
            found[", ".join(sorted(t.marks)) or "an event between"] = None
    return list(found)
