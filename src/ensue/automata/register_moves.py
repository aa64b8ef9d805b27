"""Decides how a move handles runs with registers: all at once, in groups or one by one, which decides what it costs.

Runs are kept in a tree that is ordered by their register contents (`kernels/value_trees.py`). Registers that are
checked for equality come first in that order, so that the runs that pass are next to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ensue.automata.liveness import Registers, longest_allowed, longest_time_checked, register_liveness
from ensue.automata.model import Automaton, Transition
from ensue.automata.registers import (
    Actions,
    Check,
    Comparison,
    Holds,
    Keep,
    Narrowed,
    Since,
    Store,
    comparisons_of,
    formulas_of,
    writes_of,
)
from ensue.logic.stored_values import Register

_NONE: Registers = frozenset()
#: For each condition over registers those by whose order the runs that may pass are found.
Narrowings = Mapping[Holds, Sequence[Narrowed]]


class MoveKind(IntEnum):
    """What a move does with the runs of a tree."""

    PASS = 0  # keeps the tree unchanged
    UNION = 1  # joins all runs between two keys into one list, as whole subtrees
    SIFT = 2  # checks each run between two keys, and joins those that pass into one list
    EACH = 3  # moves the runs that pass one by one, with their register contents
    MERGE = 4  # moves all runs that pass at once, with their register contents, in the same order
    CUT = 5  # keeps the tree without the runs for which something absent has come, which are looked up


@dataclass(frozen=True)
class RunHandling:
    """How a move handles the runs of its source states."""

    kind: MoveKind
    bound: int  # the number of leading registers on which the checks bound the runs
    live: Registers  # the registers that are live after the move
    lost: Since | None  # a check of the first clock; runs of the target that fail it can never end


class RegisterMoves:
    """Decides for moves between sets of states how they handle runs."""

    def __init__(self, automaton: Automaton, actions: Sequence[Actions], narrowings: Narrowings | None = None) -> None:
        self._memory = register_liveness(automaton)
        self._asked = {r: longest_time_checked(automaton, r) for r in sorted(automaton.registers)}
        self._adding = {w.register for a in actions for w in adding_up(a)}
        self.narrowings = narrowings or {}
        #: All registers, in the order of the trees' keys.
        self.registers: list[Register] = registers_in_order(automaton, actions, self.narrowings)

    def handling_of(
        self, source: frozenset[int], target: frozenset[int], actions: Actions, *, marks: bool
    ) -> RunHandling:
        """How a move handles its runs. An empty source means runs that start, an empty target runs that end."""
        had, live = self._live(source), self._live(target)
        comparisons = self.comparisons_of(actions)
        replaced = {w.register for w in writes_of(actions) if not isinstance(w, Store) or w.keep is Keep.NEW}
        bound = self._bound(comparisons, had, self._stored(source))
        if not marks and not actions and live == had and target:
            kind = MoveKind.PASS
        elif not marks and live == had and target and all(isinstance(a, Holds) and a.absent for a in actions):
            kind, bound = MoveKind.CUT, self._bound_of_absent(formulas_of(actions), had, self._stored(source))
        elif live & had - replaced:
            kind = MoveKind.MERGE if not bound and self._stay_in_order(live, had, replaced, actions) else MoveKind.EACH
        else:
            decided = set(self.registers[:bound])
            settled = all(c.register in decided for c in comparisons) and not formulas_of(actions)
            kind = MoveKind.UNION if settled else MoveKind.SIFT
        return RunHandling(kind, bound, live, self._lost(target, live))

    def comparisons_of(self, actions: Actions) -> list[Comparison | Narrowed]:
        """The checks of one register each, with those that follow from conditions over several."""
        wanted = [f for f in formulas_of(actions) if not f.absent]
        return [*comparisons_of(actions), *(n for f in wanted for n in self.narrowings.get(f, ()))]

    def merges(self, automaton: Automaton) -> bool:
        """Whether a transition by itself, without others that move along, moves runs with their register contents."""
        return any(handling.kind is MoveKind.MERGE for _, handling in self.of_transitions(automaton))

    def of_transitions(self, automaton: Automaton) -> Iterator[tuple[Transition, RunHandling]]:
        """How each transition handles its runs where no other moves along."""
        for t in automaton.transitions:
            ends = frozenset() if t.target in automaton.finals else frozenset({t.target})
            source = frozenset() if t.source == 0 else frozenset({t.source})
            yield t, self.handling_of(source, ends, t.actions, marks=bool(t.marks))

    def _lost(self, target: frozenset[int], live: Registers) -> Since | None:
        """The check that all runs of the target will make on the first register of their keys, if it is a clock."""
        first = next((r for r in self.registers if r in live), None)
        if first is None or first not in self._stored(target):
            return None
        asked = [self._asked[first].get(s) for s in target]
        return None if any(a is None for a in asked) else max((a for a in asked if a is not None), key=longest_allowed)

    def _stay_in_order(self, live: Registers, had: Registers, replaced: set[Register], actions: Actions) -> bool:
        """Whether the runs stay in the order of their keys when their register contents change.

        Registers that are dropped or overwritten must come after all registers that are carried over. Least or greatest
        values of several runs may become equal, so no register that is carried over may come after one of those.
        Of what adds up, counts alone keep the order.
        """
        if any(w.keep is not Keep.COUNT for w in adding_up(actions)):
            return False
        compared = {w.register for w in writes_of(actions) if isinstance(w, Store) and w.keep is not Keep.NEW}
        last = False
        for register in self.registers:
            carried = register in live and register in had and register not in replaced
            if last and carried:
                return False
            last |= (register in had and not carried) or register in compared
        return True

    def _bound(self, comparisons: list[Comparison | Narrowed], had: Registers, stored: Registers) -> int:
        """The number of leading registers by which the runs that pass are next to each other."""
        for n, register in enumerate(self.registers):
            if register not in had:
                continue  # the register is empty
            asked = [c for c in comparisons if c.register == register]
            if not asked or register not in stored:
                return n
            if not any(map(_is_equality, asked)):
                return n + 1
        return len(self.registers)

    def _bound_of_absent(self, absent: list[Holds], had: Registers, stored: Registers) -> int:
        """The number of leading registers by which the runs are next to each other that all of these may end."""
        first = next((n for n, r in enumerate(self.registers) if r in had), 0)
        register = self.registers[first]
        followed = [{n.register for n in self.narrowings.get(f, ())} for f in absent]
        return first + 1 if register in stored and all(register in found for found in followed) else 0

    def _live(self, states: frozenset[int]) -> Registers:
        return _NONE.union(*(self._memory.live.get(s, _NONE) for s in states))

    def _stored(self, states: frozenset[int]) -> Registers:
        """The registers that every run in the states has stored in; runs of one subset all stored in the same ones."""
        return _NONE.union(*(self._memory.stored.get(s, _NONE) for s in states))


def registers_in_order(automaton: Automaton, actions: Sequence[Actions], narrowings: Narrowings) -> list[Register]:
    """All registers: first those that are compared for equality, then those in whose order runs are looked up.

    Those that add up come last: no check bounds them.
    """
    adding = {w.register for a in actions for w in adding_up(a)}
    equal = {c.register for a in actions for c in comparisons_of(a) if _is_equality(c)}
    near = {n.register for found in narrowings.values() for n in found if n.two_sided}
    ended = {n.register for f, found in narrowings.items() for n in found if f.absent}

    def place(r: Register) -> tuple[bool, bool, bool, bool, int, str]:
        return r in adding, r not in equal, r not in near, r not in ended, len(r), r

    return sorted(automaton.registers, key=place)


def adding_up(actions: Actions) -> list[Store]:
    """The stores that add a value to what is stored."""
    return [w for w in writes_of(actions) if isinstance(w, Store) and w.keep.adds_up]


def _is_equality(c: Comparison | Narrowed) -> bool:
    return isinstance(c, Check) and c.operator == "="


def slow_moves(automaton: Automaton, narrowings: Narrowings | None = None) -> list[str]:
    """The transitions that handle many runs one by one, as text: there the time for an event is not logarithmic."""
    moves = RegisterMoves(automaton, [t.actions for t in automaton.transitions], narrowings)
    found: dict[str, None] = {}
    for t, move in moves.of_transitions(automaton):
        first = moves.registers[: move.bound]
        asked = [c for c in moves.comparisons_of(t.actions) if c.register in first]
        near = any(isinstance(c, Narrowed) and c.two_sided for c in asked)
        if near or (move.kind is MoveKind.SIFT and any(map(_is_equality, asked))):
            continue  # what is looked at lies near the event's own value, or has the same
        carried = move.kind in (MoveKind.EACH, MoveKind.MERGE) and not all(r in first for r in move.live)
        cut = move.kind is MoveKind.CUT and not move.bound
        if carried or cut or move.kind is MoveKind.SIFT:
            found[", ".join(sorted(t.marks)) or "an event between"] = None
    return list(found)
