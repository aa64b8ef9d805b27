"""The programs of a query in flat arrays, worked out when the evaluator first asks for one.

The number of configurations is bounded: when the table is full, only those that partitions are in stay, and what
is needed again is worked out again. So a hostile query costs time, not memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ensue.automata.determinize import MOST_STATES, Configuration, Determinizer, Program, Subset
from ensue.kernels.growing import GrowingTable
from ensue.kernels.stepping import NO_CHANGE, UNKNOWN, Tables

#: The table has at most this many entries, before it has room to grow, and the programs this many moves.
_MOST_ENTRIES, _MOST_MOVES = 1 << 22, 1 << 19
#: What a move takes as an object and in all arrays, and a state of the automaton in a set of them (measured).
_BYTES_A_MOVE, _BYTES_A_STATE = 200, 80


class MoveNotes(Protocol):
    """Notes what moves do beside extending and joining: with registers, or with a clock."""

    def reset(self) -> None: ...

    def add(self, program: Program, before: tuple[Subset, ...]) -> None: ...


class Programs:
    """Grows the tables that `evaluate.advance` reads. The configuration before the first event is number 0."""

    def __init__(
        self, determinizer: Determinizer, words: Sequence[int], most: int, memory: MoveNotes | None = None
    ) -> None:
        self._determinizer = determinizer
        self._memory = memory  # of a query with registers: how moves take runs
        self._words = words  # of each class; it grows as classes occur
        self._most = most
        self.reset([determinizer.empty])

    def reset(self, configurations: list[Configuration]) -> None:
        """Starts anew with these configurations, the one before the first event in front."""
        self.configurations = list(configurations)
        self._number = {c: n for n, c in enumerate(self.configurations)}
        self._known: dict[tuple[Program, tuple[Subset, ...]], int] = {}
        self._program = np.full((16, max(16, len(self._words))), UNKNOWN, dtype=np.int32)
        # Program 0 is "no change"; the evaluator never looks inside it.
        self._programs, self._moves, self._reports = GrowingTable(6), GrowingTable(3), GrowingTable(2)
        self._programs.append(0, 0, 0, 0, 0, 0)
        if self._memory is not None:
            self._memory.reset()

    @property
    def width(self) -> int:
        """The most slots that a configuration has."""
        return max(len(c.subsets) for c in self.configurations)

    def tables(self) -> Tables:
        """The tables as they are now."""
        self._fit()
        return Tables(self._program, self._programs.view(), self._moves.view(), self._reports.view())

    def _fit(self) -> None:
        rows, columns = self._program.shape
        needed = (len(self.configurations), len(self._words))
        if needed[0] > rows or needed[1] > columns:
            larger = np.full((max(rows, 2 * needed[0]), max(columns, 2 * needed[1])), UNKNOWN, dtype=np.int32)
            larger[:rows, :columns] = self._program
            self._program = larger

    def number(self, configuration: Configuration) -> int:
        if configuration not in self._number:
            self._number[configuration] = len(self.configurations)
            self.configurations.append(configuration)
        return self._number[configuration]

    def learn(self, configuration: int, class_: int) -> None:
        """Works out the program of a configuration and a class."""
        program = self._determinizer.program(self.configurations[configuration], self._words[class_])
        number = self._add(program, configuration)
        self._fit()
        self._program[configuration, class_] = number

    def _add(self, program: Program, configuration: int) -> int:
        after = self.number(program.after)
        if after == configuration and not program.slots and not program.reported:
            return NO_CHANGE
        before = self.configurations[configuration].subsets
        key = (program, before if self._memory is not None else ())
        if key in self._known:
            return self._known[key]
        if self._memory is not None:
            self._memory.add(program, before)
        number = self._known[key] = len(self._programs)
        first_move, first_report = len(self._moves), len(self._reports)
        for slot, moves in program.slots:
            for move in moves:
                self._moves.append(move.source, move.mark, slot)
        for move in program.reported:
            self._reports.append(move.source, move.mark)
        rows = (first_move, len(self._moves), first_report, len(self._reports))
        self._programs.append(after, len(program.after.subsets), *rows)
        return number

    @property
    def full(self) -> bool:
        """Whether it is time to forget what is not in use."""
        return (
            len(self.configurations) > self._most
            or len(self.configurations) * len(self._words) > _MOST_ENTRIES
            or len(self._moves) > _MOST_MOVES
            or 2 * self._determinizer.states > MOST_STATES
        )

    @property
    def nbytes(self) -> int:
        """About how many bytes the programs take, with what they were made from."""
        return int(self._program.nbytes + _BYTES_A_MOVE * len(self._moves) + _BYTES_A_STATE * self._determinizer.states)

    def forget(self, in_use: Any) -> Any:
        """Drops all programs and every configuration but those in use; gives their new numbers."""
        kept, places = np.unique(in_use, return_inverse=True)
        configurations = [self.configurations[c] for c in kept]
        self._determinizer.forget()
        empty = self._determinizer.empty
        self.reset([empty, *(c for c in configurations if c != empty)])
        renumbered = np.array([self._number[c] for c in configurations], dtype=np.int32)
        return renumbered[places]
