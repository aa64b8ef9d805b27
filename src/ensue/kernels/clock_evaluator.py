"""Evaluates queries with one clock and bounds on one side of it (`clock_advance.py`)."""

from __future__ import annotations

import numpy as np

from ensue.automata.liveness import longest_time_checked
from ensue.kernels import clock_advance, stepping, waiting_lists
from ensue.kernels.arena import NOTHING, USED, Arena, new_arena
from ensue.kernels.clock_enumeration import ClockStack
from ensue.kernels.clock_lists import NO_CHECK, STOPPED, collect
from ensue.kernels.clock_programs import ClockPrograms
from ensue.kernels.counting import Counts
from ensue.kernels.evaluator import FIRST_NODES, Evaluator
from ensue.kernels.register_columns import longest_ticks
from ensue.kernels.stepping import Batch, State


class ClockEvaluator(Evaluator):
    """Steps over batches in constant time an event, whatever the number of open partial matches."""

    def _prepare(self, tick: int | None) -> tuple[Arena, ClockPrograms]:
        self._clock = ClockPrograms(self.plan.automaton, self.plan.actions)
        (clock,) = self.plan.automaton.registers
        asked = longest_time_checked(self.plan.automaton, clock)
        #: How long after its reset a run in a state may still become a match.
        self._lasts = {state: longest_ticks(a.interval, tick) for state, a in asked.items() if a is not None}
        self._pending = ClockStack(*(np.empty(256, dtype=np.int64) for _ in ClockStack._fields))
        # The second stamp of a node, which only windows in events need, is what its kind of list needs.
        return new_arena(FIRST_NODES, second=True), self._clock

    def _advance(self, batch: Batch, counts: Counts | None) -> int:
        status: int = clock_advance.advance(
            self.programs.tables(),
            batch,
            self.rules,
            State(self.arena, self.partitions, self._scratch, self.progress, self._pending, self._output.arrays),
            self._clock.steps,
        )
        return status

    def _deepen(self) -> None:
        self._pending = ClockStack(*(np.concatenate([part, np.empty_like(part)]) for part in self._pending))

    def collect(self, position: int) -> None:
        """Keeps only what a run could still become a match with."""
        if self.rules.consume == stepping.CONSUME_ANY:
            self.partitions.slots[self.partitions.epoch != self.progress[stepping.EPOCH]] = NOTHING
        slots, arena = self.partitions.slots, self.arena
        place = np.full(arena.used[USED], NOTHING, dtype=np.int64)
        if self._clock.steps.queues:
            waiting_lists.collect(arena, slots, place)
            return
        asked = np.full(arena.used[USED], STOPPED, dtype=np.int64)
        collect(arena, slots, self._earliest()[self.partitions.configuration], asked, place)

    def _earliest(self) -> np.ndarray:
        """For each configuration and each of its slots: the earliest reset of a run that may still become a match."""
        found = np.full((len(self.programs.configurations), self.partitions.slots.shape[1]), NO_CHECK)
        for c, configuration in enumerate(self.programs.configurations):
            for slot, states in enumerate(configuration.subsets):
                lasts = [self._lasts.get(s) for s in states]
                if all(t is not None for t in lasts):
                    found[c, slot] = max(self.latest - max(t for t in lasts if t is not None), NO_CHECK)
        return found
