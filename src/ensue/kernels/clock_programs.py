"""What moves do with the only clock of a query, in the flat arrays that `clock_advance.py` reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ensue.automata.determinize import Program, Subset
from ensue.automata.liveness import register_liveness
from ensue.automata.model import Automaton
from ensue.automata.registers import Actions, conditions_of, writes_of
from ensue.automata.timing.in_line import wait_in_line
from ensue.automata.timing.one_clock import has_lower_bounds
from ensue.kernels.growing import GrowingTable

# The columns of the tables of moves and of reports: the column of the batch that a move or a report is checked by, -1
# for none; whether a move resets the clock, and whether the clock is asked for after it.
CHECK, RESETS, WAITS = range(3)


class ClockSteps(NamedTuple):
    """What programs do with the clock, beside `stepping.Tables`."""

    moves: Any  # int32[moves, 3]
    reports: Any  # int32[reports, 1]
    queues: bool  # whether lower bounds are asked for, and runs wait in line for them
    trees: bool  # whether lower bounds are asked for, and runs do not wait in line


class ClockPrograms:
    """Notes, for each move of a program, what it asks of the clock."""

    def __init__(self, automaton: Automaton, actions: Sequence[Actions]) -> None:
        live = register_liveness(automaton).live
        self._waiting = {state for state, registers in live.items() if registers}
        lower = has_lower_bounds(automaton)
        self._queues = lower and wait_in_line(automaton)
        self._trees = lower and not self._queues
        checks = list(dict.fromkeys(c for a in actions for c in conditions_of(a)))
        self._check = [next((checks.index(c) for c in conditions_of(a)), -1) for a in actions]
        self._resets = [bool(writes_of(a)) for a in actions]
        self.reset()

    def reset(self) -> None:
        self._moves, self._reports = GrowingTable(3), GrowingTable(1)

    @property
    def steps(self) -> ClockSteps:
        return ClockSteps(self._moves.view(), self._reports.view(), self._queues, self._trees)

    def add(self, program: Program, before: tuple[Subset, ...]) -> None:
        """Adds what a program asks of the clock."""
        for slot, moves in program.slots:
            waits = not self._waiting.isdisjoint(program.after.subsets[slot])
            for move in moves:
                self._moves.append(self._check[move.action], self._resets[move.action], waits)
        for move in program.reported:
            self._reports.append(self._check[move.action])
