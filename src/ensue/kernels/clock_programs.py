"""What moves do with the only clock of a query, in the flat arrays that `clock_advance.py` reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ensue.automata.determinize import Configuration, Program
from ensue.automata.liveness import register_liveness
from ensue.automata.model import Automaton
from ensue.automata.registers import Actions, conditions_of, writes_of
from ensue.automata.timing.one_clock import has_lower_bounds
from ensue.kernels.growing import Growing


class ClockSteps(NamedTuple):
    """Beside the arrays of `evaluate.Tables`: the column of the check that a move or a report makes, -1 for none."""

    move_check: Any  # int32[moves]
    move_resets: Any  # int32[moves]: whether the clock is reset
    move_waits: Any  # int32[moves]: whether the clock is asked for after it
    report_check: Any  # int32[reports]
    lower: bool  # whether what is asked for are lower bounds


class ClockPrograms:
    """Notes, for each move of a program, what it asks of the clock."""

    def __init__(self, automaton: Automaton, actions: Sequence[Actions]) -> None:
        live = register_liveness(automaton).live
        self._waiting = {state for state, registers in live.items() if registers}
        self._lower = has_lower_bounds(automaton)
        checks = list(dict.fromkeys(c for a in actions for c in conditions_of(a)))
        self._check = [next((checks.index(c) for c in conditions_of(a)), -1) for a in actions]
        self._resets = [bool(writes_of(a)) for a in actions]
        self.reset()

    def reset(self) -> None:
        self._moves, self._moves_reset, self._moves_wait, self._reports = (Growing() for _ in range(4))

    @property
    def steps(self) -> ClockSteps:
        moves = (self._moves.view(), self._moves_reset.view(), self._moves_wait.view())
        return ClockSteps(*moves, self._reports.view(), self._lower)

    def add(self, program: Program, before: Configuration) -> None:
        """Adds what a program asks; whatever it was made for."""
        for slot, moves in program.slots:
            waits = not self._waiting.isdisjoint(program.after[slot])
            for move in moves:
                self._moves_wait.append(waits)
                self._moves.append(self._check[move.action])
                self._moves_reset.append(self._resets[move.action])
        for move in program.reported:
            self._reports.append(self._check[move.action])
