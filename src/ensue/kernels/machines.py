"""Machines beside a query: what the events before each event have come to, as a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ensue.automata.predicates import Machine
from ensue.kernels.jit import kernel

Codes = npt.NDArray[np.int64]
States = npt.NDArray[np.uint16]


class RunningMachine:
    """A machine in the middle of a stream: `states` has the state that it is in, for each partition."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.states: Codes = np.zeros(1, dtype=np.int64)
        bit = {p: 1 << k for k, p in enumerate(machine.predicates)}
        self._steps = [
            [
                (sum(bit[p] for p, _ in guard), sum(bit[p] for p, positive in guard if positive), target)
                for guard, target in steps
            ]
            for steps in machine.steps
        ]
        self._table = np.zeros((len(machine.steps), 0), dtype=np.int64)  # the next state, by state and class
        self._begun = 0  # how many partitions have been given where the machine is before their first event

    def run(self, classes: Any, words: Sequence[int], keys: Codes | None, begins: Codes | None = None) -> States:
        """The state just before each event; afterwards the machine has read the batch. `words` are of the classes.

        `begins` says for each event in which state the machine is if it is the first one of its partition: in state 0,
        where nothing is said.
        """
        self._learn(words)
        if keys is not None and len(keys):
            missing = int(keys.max()) + 1 - len(self.states)
            self.states = np.concatenate([self.states, np.zeros(max(0, missing), dtype=np.int64)])
            if begins is not None:
                fresh = np.flatnonzero(keys >= self._begun)
                numbers, first = np.unique(keys[fresh], return_index=True)
                self.states[numbers] = begins[fresh[first]]
                self._begun = len(self.states)
        before = np.empty(len(classes), dtype=np.uint16)
        _run(self._table, classes, np.zeros(0, dtype=np.int64) if keys is None else keys, self.states, before)
        return before

    def run_from_each(self, classes: Any, words: Sequence[int], groups: Codes, count: int) -> Codes:
        """Where the machine is after the events of each group, by the state in which it was before: [group, state]."""
        self._learn(words)
        states: Codes = np.tile(np.arange(len(self._steps)), (count, 1))
        _run_from_each(self._table, classes, groups, states)
        return states

    def _learn(self, words: Sequence[int]) -> None:
        """The steps at events of these classes."""
        new = words[self._table.shape[1] :]
        if new:
            columns = [[self._next(state, word) for word in new] for state in range(len(self._steps))]
            self._table = np.hstack([self._table, np.array(columns, dtype=np.int64)])

    def keep(self, kept: Codes) -> None:
        """Keeps only the states of these partitions, numbered anew in this order."""
        self.states = self.states[kept]

    def _next(self, state: int, word: int) -> int:
        """The guards of a state exclude each other; what satisfies none of them does not occur."""
        return next((target for mask, value, target in self._steps[state] if word & mask == value), 0)


@kernel
def _run(table: Any, classes: Any, keys: Any, states: Any, before: Any) -> None:
    keyed = len(keys) > 0
    for i in range(len(classes)):
        k = keys[i] if keyed else 0
        before[i] = states[k]
        states[k] = table[states[k], classes[i]]


@kernel
def _run_from_each(table: Any, classes: Any, groups: Any, states: Any) -> None:
    for i in range(len(classes)):
        k = groups[i]
        for s in range(states.shape[1]):
            states[k, s] = table[states[k, s], classes[i]]
