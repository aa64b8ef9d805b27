"""How moves take runs with registers, in the flat arrays that `register_steps.py` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ensue.automata.determinize import START, Configuration, Move, Program, Subset
from ensue.automata.register_moves import RegisterMoves
from ensue.automata.registers import Keep, Register, Store, comparisons_of, formulas_of, writes_of
from ensue.kernels import formulas, register_steps
from ensue.kernels.growing import Growing
from ensue.kernels.register_steps import Steps
from ensue.plan import Plan

_KEEP = {
    Keep.NEW: register_steps.KEEP_NEW,
    Keep.LEAST: register_steps.KEEP_LEAST,
    Keep.GREATEST: register_steps.KEEP_GREATEST,
}
_NOWHERE: Subset = frozenset()


class RegisterPrograms:
    """Notes, for each move of a program, how it takes the runs of its source."""

    def __init__(self, plan: Plan) -> None:
        self._actions = actions = plan.actions
        self._taking = RegisterMoves(plan.automaton, actions)
        self._number = {r: n for n, r in enumerate(self._taking.registers)}
        #: The distinct checks and stores: a batch has a column for each.
        self.checks = list(dict.fromkeys(c for a in actions for c in comparisons_of(a)))
        self.stores = list(dict.fromkeys(w for a in actions for w in writes_of(a) if isinstance(w, Store)))
        #: What registers that formulas compute with hold, and what they take of the event, each with its kind.
        self.computed, self.terms = plan.computed, plan.terms
        self._formulas = list(plan.formulas)
        self.formulas = formulas.table(list(plan.formulas.values()), list(self.terms), self._number)
        self.actions = self._numbered()
        self.reset()

    def place(self, register: Register) -> int:
        """Where in its key a run has stored what is in the register."""
        return self._number[register]

    def reset(self) -> None:
        self._moves, self._reports = (tuple(Growing() for _ in Steps._fields) for _ in range(2))
        self._places = Growing()
        self.most_reports = 1

    @property
    def moves(self) -> Steps:
        return _steps(self._moves)

    @property
    def reports(self) -> Steps:
        return _steps(self._reports)

    @property
    def places(self) -> np.ndarray:
        view: np.ndarray = self._places.view()
        return view

    def add(self, program: Program, before: Configuration) -> None:
        """Adds what concerns registers of a program that is made for this configuration."""
        for slot, moves in program.slots:
            for move in moves:
                _append(self._moves, self._step(move, _source(move, before), program.after[slot]))
        for place, move in enumerate(program.reported):
            _append(self._reports, self._step(move, _source(move, before), _NOWHERE))
            self._places.append(place if move.source != START else START)
        self.most_reports = max(self.most_reports, len(program.reported))

    def _step(self, move: Move, source: Subset, target: Subset) -> tuple[int, int, int, int, int, int]:
        taken = self._taking.handling_of(source, target, self._actions[move.action], marks=bool(move.mark))
        live = sum(1 << self._number[r] for r in taken.live)
        lost = (-1, -1) if taken.lost is None else (self._number[taken.lost.register], self.checks.index(taken.lost))
        return move.action, taken.kind, taken.bound, live, *lost

    def _numbered(self) -> register_steps.Actions:
        check, store = {c: n for n, c in enumerate(self.checks)}, {s: n for n, s in enumerate(self.stores)}
        formula = {f: n for n, f in enumerate(self._formulas)}
        first_check, first_store, first_formula = [0], [0], [0]
        checks: list[tuple[int, int]] = []
        stores: list[tuple[int, int, int]] = []
        asked: list[tuple[int, int]] = []
        for actions in self._actions:
            checks += [(self._number[c.register], check[c]) for c in comparisons_of(actions)]
            asked += [(formula[f], int(f.absent)) for f in formulas_of(actions)]
            for w in writes_of(actions):
                keep = _KEEP[w.keep] if isinstance(w, Store) else register_steps.KEEP_NONE
                stores.append((self._number[w.register], keep, store[w] if isinstance(w, Store) else 0))
            first_check.append(len(checks))
            first_store.append(len(stores))
            first_formula.append(len(asked))
        check_register, check_column = _columns(checks, 2)
        store_register, store_keep, store_column = _columns(stores, 3)
        number, absent = _columns(asked, 2)
        return register_steps.Actions(
            np.array(first_check, dtype=np.int32),
            check_register,
            check_column,
            np.array(first_store, dtype=np.int32),
            store_register,
            store_keep,
            store_column,
            np.array(first_formula, dtype=np.int32),
            number,
            absent != 0,
        )


def _source(move: Move, before: Configuration) -> Subset:
    return _NOWHERE if move.source == START else before[move.source]


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> Iterator[np.ndarray]:
    """The columns of rows of integers."""
    return iter(np.array(rows, dtype=np.int32).reshape(-1, width).T.copy())


def _append(columns: Iterable[Growing], row: tuple[int, ...]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _steps(columns: tuple[Growing, ...]) -> Steps:
    return Steps(*(c.view() for c in columns))
