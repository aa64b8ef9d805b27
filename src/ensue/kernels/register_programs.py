"""How moves take runs with registers, in the flat arrays that `register_steps.py` reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ensue.automata.determinize import START, Move, Program, Subset
from ensue.automata.register_moves import MoveKind, RegisterMoves
from ensue.automata.registers import Keep, Register, Store, comparisons_of, formulas_of, writes_of
from ensue.kernels import formulas, register_data
from ensue.kernels.growing import GrowingTable
from ensue.plan import Plan

_KEEP = {
    Keep.NEW: register_data.KEEP_NEW,
    Keep.LEAST: register_data.KEEP_LEAST,
    Keep.GREATEST: register_data.KEEP_GREATEST,
}
_NOWHERE: Subset = frozenset()


class RegisterPrograms:
    """Notes, for each move of a program, how it takes the runs of its source."""

    def __init__(self, plan: Plan) -> None:
        self._automaton = plan.automaton
        self._actions = actions = plan.actions
        #: The distinct checks and stores: a batch has a column for each.
        self.checks = list(dict.fromkeys(c for a in actions for c in comparisons_of(a)))
        self.stores = list(dict.fromkeys(w for a in actions for w in writes_of(a) if isinstance(w, Store)))
        #: What registers that formulas compute with hold, and what they take of the event, each with its kind.
        self.computed, self.terms = plan.computed, plan.terms
        self._formulas = plan.formulas
        self.reset()

    # Whoever needs the columns alone, as every reader does, does not wait for the rest.

    @cached_property
    def _taking(self) -> RegisterMoves:
        return RegisterMoves(self._automaton, self._actions)

    @cached_property
    def _number(self) -> dict[Register, int]:
        return {r: n for n, r in enumerate(self._taking.registers)}

    @cached_property
    def merges(self) -> bool:
        """Whether runs of one tree move into another at once, which few queries need."""
        return self._taking.merges(self._automaton)

    @cached_property
    def formulas(self) -> formulas.Formulas | None:
        if not self._formulas:
            return None
        return formulas.table(list(self._formulas.values()), list(self.terms), self._number)

    @cached_property
    def actions(self) -> register_data.Actions:
        return self._numbered()

    def place(self, register: Register) -> int:
        """Where in its key a run has stored what is in the register."""
        return self._number[register]

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
        lost = (-1, -1) if taken.lost is None else (self._number[taken.lost.register], self.checks.index(taken.lost))
        return move.action, taken.kind, taken.bound, live, *lost

    def _numbered(self) -> register_data.Actions:
        check, store = {c: n for n, c in enumerate(self.checks)}, {s: n for n, s in enumerate(self.stores)}
        formula = {f: n for n, f in enumerate(self._formulas)}
        first = [(0, 0, 0)]
        checks: list[tuple[int, int]] = []
        stores: list[tuple[int, int, int]] = []
        asked: list[tuple[int, int]] = []
        for actions in self._actions:
            checks += [(self._number[c.register], check[c]) for c in comparisons_of(actions)]
            asked += [(formula[f], int(f.absent)) for f in formulas_of(actions)]
            for w in writes_of(actions):
                keep = _KEEP[w.keep] if isinstance(w, Store) else register_data.KEEP_NONE
                stores.append((self._number[w.register], store[w] if isinstance(w, Store) else 0, keep))
            first.append((len(checks), len(stores), len(asked)))
        return register_data.Actions(_table(first, 3), _table(checks, 2), _table(stores, 3), _table(asked, 2))


def _source(move: Move, before: tuple[Subset, ...]) -> Subset:
    return _NOWHERE if move.source == START else before[move.source]


def _table(rows: Sequence[tuple[int, ...]], width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, width)
