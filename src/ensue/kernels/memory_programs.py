"""How moves take runs with registers, in the flat arrays that `remember.py` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ensue.automata.determinize import START, Configuration, Move, Program, Subset
from ensue.automata.liveness import Registers, analysed
from ensue.automata.memory import Actions, Check, Condition, Keep, Register, Store, conditions_of, writes_of
from ensue.automata.model import Automaton
from ensue.kernels import remember
from ensue.kernels.growing import Growing
from ensue.kernels.remember import EACH, PASS, SIFT, UNION, Steps

_KEEP = {
    Keep.NEW: remember.KEEP_NEW,
    Keep.LEAST: remember.KEEP_LEAST,
    Keep.GREATEST: remember.KEEP_GREATEST,
}
_NO_REGISTERS: Registers = frozenset()


class MemoryPrograms:
    """Works out, for each move of a program, how it takes the runs of its source.

    Trees are ordered by the registers in the order of `registers`: those that are asked to be equal come first, so that
    the runs that pass lie next to each other.
    """

    def __init__(self, automaton: Automaton, actions: list[Actions]) -> None:
        self._actions = actions
        self._memory = analysed(automaton)
        conditions = [c for a in actions for c in conditions_of(a)]
        equal = {c.register for c in conditions if _is_equality(c)}
        self.registers: list[Register] = sorted(automaton.registers, key=lambda r: (r not in equal, len(r), r))
        self._number = {r: n for n, r in enumerate(self.registers)}
        #: The distinct checks and stores: a batch has a column for each.
        self.checks = list(dict.fromkeys(conditions))
        self.stores = list(dict.fromkeys(w for a in actions for w in writes_of(a) if isinstance(w, Store)))
        self.actions = self._numbered()
        self.reset()

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
            _append(self._reports, self._step(move, _source(move, before), None))
            self._places.append(place if move.source != START else START)
        self.most_reports = max(self.most_reports, len(program.reported))

    def _step(self, move: Move, source: Subset | None, target: Subset | None) -> tuple[int, int, int, int]:
        live = self._live(target)
        had = self._live(source)
        actions = self._actions[move.action]
        conditions = conditions_of(actions)
        replaced = {w.register for w in writes_of(actions) if not isinstance(w, Store) or w.keep is Keep.NEW}
        bound = self._bound(conditions, had, self._stored(source))
        decided = set(self.registers[:bound])
        if not move.mark and not actions and live == had and target is not None:
            kind = PASS
        elif live & had - replaced:
            kind = EACH
        else:
            kind = UNION if all(c.register in decided for c in conditions) else SIFT
        return move.action, kind, bound, sum(1 << self._number[r] for r in live)

    def _bound(self, conditions: list[Condition], had: Registers, stored: Registers) -> int:
        """By how many of the first registers the runs that pass lie next to each other."""
        for n, register in enumerate(self.registers):
            if register not in had:
                continue  # nothing is stored in it
            asked = [c for c in conditions if c.register == register]
            if not asked or register not in stored:
                return n
            if not any(map(_is_equality, asked)):
                return n + 1
        return len(self.registers)

    def _live(self, subset: Subset | None) -> Registers:
        return _NO_REGISTERS.union(*(self._memory.live.get(s, _NO_REGISTERS) for s in subset or ()))

    def _stored(self, subset: Subset | None) -> Registers:
        """What every run in the subset has stored: all of them have stored the same registers."""
        return _NO_REGISTERS.union(*(self._memory.stored.get(s, _NO_REGISTERS) for s in subset or ()))

    def _numbered(self) -> remember.Actions:
        check, store = {c: n for n, c in enumerate(self.checks)}, {s: n for n, s in enumerate(self.stores)}
        first_check, first_store = [0], [0]
        checks: list[tuple[int, int]] = []
        stores: list[tuple[int, int, int]] = []
        for actions in self._actions:
            checks += [(self._number[c.register], check[c]) for c in conditions_of(actions)]
            for w in writes_of(actions):
                keep = _KEEP[w.keep] if isinstance(w, Store) else remember.KEEP_NONE
                stores.append((self._number[w.register], keep, store[w] if isinstance(w, Store) else 0))
            first_check.append(len(checks))
            first_store.append(len(stores))
        check_register, check_column = _columns(checks, 2)
        store_register, store_keep, store_column = _columns(stores, 3)
        return remember.Actions(
            np.array(first_check, dtype=np.int32),
            check_register,
            check_column,
            np.array(first_store, dtype=np.int32),
            store_register,
            store_keep,
            store_column,
        )


def _is_equality(c: Condition) -> bool:
    return isinstance(c, Check) and c.operator == "="


def _source(move: Move, before: Configuration) -> Subset | None:
    return None if move.source == START else before[move.source]


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> Iterator[np.ndarray]:
    """The columns of rows of integers."""
    return iter(np.array(rows, dtype=np.int32).reshape(-1, width).T.copy())


def _append(columns: Iterable[Growing], row: tuple[int, ...]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _steps(columns: tuple[Growing, ...]) -> Steps:
    action, kind, bound, live = (c.view() for c in columns)
    return Steps(action, kind, bound, live.astype(np.int64))
