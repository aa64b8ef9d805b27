"""How moves take runs with registers, in the flat arrays that `register_steps.py` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ensue.automata.determinize import START, Move, Program, Subset
from ensue.automata.register_moves import MoveKind, RegisterMoves
from ensue.automata.registers import (
    Check,
    Holds,
    Keep,
    Narrowed,
    Since,
    Store,
    comparisons_of,
    formulas_of,
    writes_of,
)
from ensue.data.schema import Kind
from ensue.kernels import formulas, register_data, running_totals
from ensue.kernels.growing import GrowingTable
from ensue.kernels.running_totals import Places, Totals
from ensue.logic.formula import Op
from ensue.logic.stored_values import Register
from ensue.plan import Plan

_KEEP = {
    Keep.NEW: register_data.KEEP_NEW,
    Keep.LEAST: register_data.KEEP_LEAST,
    Keep.GREATEST: register_data.KEEP_GREATEST,
    Keep.FIRST: running_totals.KEEP_FIRST,
    Keep.LEAST_KNOWN: running_totals.KEEP_LEAST_KNOWN,
    Keep.GREATEST_KNOWN: running_totals.KEEP_GREATEST_KNOWN,
    Keep.COUNT: running_totals.KEEP_COUNT,
    Keep.TOTAL: running_totals.KEEP_TOTAL,
}
_NOWHERE: Subset = frozenset()


class RegisterPrograms:
    """Notes, for each move of a program, how it takes the runs of its source."""

    def __init__(self, plan: Plan) -> None:
        self._automaton = plan.automaton
        self._actions = actions = plan.actions
        #: The distinct checks and stores: a batch has a column for each.
        self._narrowings = plan.narrowings
        followed = (n for a in actions for f in formulas_of(a) for n in self._narrowings[f])
        self.checks = list(dict.fromkeys([*(c for a in actions for c in comparisons_of(a)), *followed]))
        self.stores = list(dict.fromkeys(w for a in actions for w in writes_of(a) if isinstance(w, Store)))
        #: What registers that formulas compute with hold, and what they take of the event, each with its kind.
        self.computed, self.terms = plan.computed, plan.terms
        self.computed_unit = plan.computed_unit
        self.instructions = plan.formulas
        self._adds_up = any(i.op >= Op.HELD for f in self.instructions.values() for i in f.code)
        #: The registers with a sum, and whether it is one of floats.
        self.sums = {s.register: self.computed[s.register] is Kind.FLOAT for s in self.stores if s.keep is Keep.TOTAL}
        self.reset()

    # Whoever needs the columns alone, as every reader does, does not wait for the rest.

    @cached_property
    def _taking(self) -> RegisterMoves:
        return RegisterMoves(self._automaton, self._actions, self._narrowings)

    @cached_property
    def _number(self) -> dict[Register, int]:
        return {r: n for n, r in enumerate(self._taking.registers)}

    @cached_property
    def merges(self) -> bool:
        """Whether runs of one tree move into another at once, which few queries need."""
        return self._taking.merges(self._automaton)

    @cached_property
    def formulas(self) -> formulas.Formulas | None:
        if not self.instructions:
            return None
        return formulas.table(list(self.instructions.values()), list(self.terms), self.places.of, self.totals)

    @cached_property
    def places(self) -> Places:
        """Where a run's key has what is in each register."""
        return Places(self._taking.registers, self.sums)

    @cached_property
    def key(self) -> Any:
        """Room for what a run has stored after a move."""
        return np.empty(self.places.count, dtype=np.int64)

    @cached_property
    def totals(self) -> Totals | None:
        """What is needed for registers that add up, or are asked for as those are; None where there are none."""
        if not (self._adds_up or any(s.keep.adds_up for s in self.stores)):
            return None
        room = np.empty((1, self.places.count), dtype=np.int64)
        return Totals(self.places.width, self.places.first, self.key.reshape(1, -1), room)

    def moved(self, reach: Any, keys: Any) -> Any:
        """Makes room for sums of such floats; gives keys of runs, each with its weight, in the new places."""
        found = self.places.moved(reach, keys)
        for made in ("key", "totals", "actions", "formulas"):
            self.__dict__.pop(made, None)
        return found

    @cached_property
    def actions(self) -> register_data.Actions:
        return self._numbered()

    def place(self, register: Register) -> int:
        """Where in its key a run has stored what is in the register."""
        return self.places.of[register]

    def reset(self) -> None:
        self._moves, self._reports, self._ends = GrowingTable(6), GrowingTable(6), GrowingTable(2)
        self.most_reports = 1

    @property
    def moves(self) -> Any:
        return self._moves.view()

    @property
    def reports(self) -> Any:
        return self._reports.view()

    @property
    def ends(self) -> Any:
        return self._ends.view()

    def add(self, program: Program, before: tuple[Subset, ...]) -> None:
        """Adds what concerns registers of a program that is made for these subsets."""
        for slot, moves in program.slots:
            for move in moves:
                self._moves.append(*self._step(move, _source(move, before), program.after.subsets[slot]))
        for place, move in enumerate(program.reported):
            self._reports.append(*self._step(move, _source(move, before), _NOWHERE))
            self._ends.append(place if move.source != START else START, move.mark)
        self.most_reports = max(self.most_reports, len(program.reported))

    def _step(self, move: Move, source: Subset, target: Subset) -> tuple[int, int, int, int, int, int]:
        taken = self._taking.handling_of(source, target, self._actions[move.action], marks=bool(move.mark))
        self.merges |= taken.kind is MoveKind.MERGE
        live = sum(1 << self._number[r] for r in taken.live)
        lost = (-1, -1) if taken.lost is None else (self.place(taken.lost.register), self.checks.index(taken.lost))
        return move.action, taken.kind, taken.bound, live, *lost

    def _numbered(self) -> register_data.Actions:
        check, store = {c: n for n, c in enumerate(self.checks)}, {s: n for n, s in enumerate(self.stores)}
        formula = {f: n for n, f in enumerate(self.instructions)}
        first = [(0, 0, 0)]
        checks: list[tuple[int, int]] = []
        stores: list[tuple[int, int, int]] = []
        asked: list[tuple[int, int, int, int]] = []
        for actions in self._actions:
            checks += [(self.place(c.register), check[c]) for c in self._taking.comparisons_of(actions)]
            asked += [(formula[f], int(f.absent), *self._ended(f, check)) for f in formulas_of(actions)]
            for w in writes_of(actions):
                keep = self._keep(w) if isinstance(w, Store) else register_data.KEEP_NONE
                stores.append((self.place(w.register), store[w] if isinstance(w, Store) else 0, keep))
            first.append((len(checks), len(stores), len(asked)))
        return register_data.Actions(_table(first, 3), _table(checks, 2), _table(stores, 3), _table(asked, 4))

    def _ended(self, f: Holds, column: Mapping[Check | Since | Narrowed, int]) -> tuple[int, int]:
        """By which register the runs are looked up that something absent ends, and the column that says where."""
        found = [n for n in self._narrowings[f] if f.absent]
        first = min(found, key=lambda n: self._number[n.register], default=None)
        return (-1, -1) if first is None else (self._number[first.register], column[first])

    def _keep(self, store: Store) -> int:
        of_floats = self.sums.get(store.register, False)
        return running_totals.KEEP_TOTAL_OF_FLOATS if of_floats else _KEEP[store.keep]


def _source(move: Move, before: tuple[Subset, ...]) -> Subset:
    return _NOWHERE if move.source == START else before[move.source]


def _table(rows: Sequence[tuple[int, ...]], width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, width)
