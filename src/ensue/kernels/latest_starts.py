"""What came before an event: when the latest match of an absent pattern that is over has started, as a column.

For each state of the pattern's automaton only the run that has started last counts: its match starts no earlier than
that of any other run in the state. So an event takes as many steps as there are transitions for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ensue.automata.predicates import LatestStart
from ensue.kernels.jit import kernel
from ensue.logic.window import Window

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Stands for the start of a run where there is no run.
_NEVER = np.iinfo(np.int64).min
#: The largest difference of two times, for a deadline that is longer.
_EVER = np.iinfo(np.uint64).max


class _Moves(NamedTuple):
    """The transitions that each class of events takes: those of class `c` are from `first[c]` to `first[c + 1]`."""

    first: Codes
    source: Codes
    target: Codes
    final: Codes  # 1 where the match is over


class RunningLatestStart:
    """The starts of the latest runs, in the middle of a stream.

    `states` has a row for each partition: the start of the latest run in each state of the automaton, then that of the
    latest match that is over.
    """

    def __init__(self, machine: LatestStart, tick: int | None) -> None:
        self.machine = machine
        self.states: Codes = np.full((1, machine.size + 1), _NEVER, dtype=np.int64)
        self._ticks = Window(time=machine.deadline.high).ticks(tick)
        bit = {p: 1 << k for k, p in enumerate(machine.predicates)}
        self._guards = [
            (sum(bit[p] for p, _ in guard), sum(bit[p] for p, positive in guard if positive))
            for _, guard, _ in machine.moves
        ]
        self._classes = 0  # how many classes the moves are for
        self._moves = self._moves_of([])

    def run(self, classes: Any, words: Sequence[int], keys: Codes | None, times: Codes) -> Mask:
        """At which events a match has come before, recently; `words` are those of the classes."""
        if len(words) > self._classes:
            self._moves, self._classes = self._moves_of(words), len(words)
        if keys is not None and len(keys):
            missing = max(0, int(keys.max()) + 1 - len(self.states))
            new = np.full((missing, self.states.shape[1]), _NEVER, dtype=np.int64)
            self.states = np.concatenate([self.states, new])
        came = np.empty(len(classes), dtype=np.bool_)
        own = np.zeros(0, dtype=np.int64) if keys is None else keys
        after = np.empty(self.machine.size, dtype=np.int64)
        longest = np.uint64(_EVER if self._ticks is None else self._ticks)
        _run(self._moves, classes, own, times, longest, self.states, after, came)
        return came

    def recent(self, now: int) -> Codes:
        """The partitions with a start that is recent for an event of this time or later."""
        latest = self.states.max(axis=1)
        started = latest != _NEVER
        if self._ticks is not None:
            since = np.int64(now).view(np.uint64) - latest.view(np.uint64)
            started &= (latest > now) | (since <= np.uint64(self._ticks))
        found: Codes = np.flatnonzero(started)
        return found

    def keep(self, kept: Codes) -> None:
        """Keeps only the rows of these partitions, numbered anew in this order."""
        rows = np.full((len(kept), self.states.shape[1]), _NEVER, dtype=np.int64)
        known = kept < len(self.states)
        rows[known] = self.states[kept[known]]
        self.states = rows

    def _moves_of(self, words: Sequence[int]) -> _Moves:
        taken = [
            [
                (source, target, int(target in self.machine.finals))
                for (mask, value), (source, _, target) in zip(self._guards, self.machine.moves, strict=True)
                if word & mask == value
            ]
            for word in words
        ]
        first = np.cumsum([0, *map(len, taken)], dtype=np.int64)
        rows = np.array([move for moves in taken for move in moves], dtype=np.int64).reshape(-1, 3)
        return _Moves(first, *(np.ascontiguousarray(column) for column in rows.T))


@kernel
def _run(moves: Any, classes: Any, keys: Any, times: Any, longest: Any, states: Any, after: Any, came: Any) -> None:
    keyed = len(keys) > 0
    size = len(after)
    for i in range(len(classes)):
        row = keys[i] if keyed else 0
        now = times[i]
        over = states[row, size]
        came[i] = over != _NEVER and np.uint64(now) - np.uint64(over) <= longest
        for s in range(size):
            after[s] = _NEVER
        for m in range(moves.first[classes[i]], moves.first[classes[i] + 1]):
            source, target = moves.source[m], moves.target[m]
            start = now if source == 0 else states[row, source]
            if start != _NEVER:
                after[target] = max(after[target], start)
                if moves.final[m]:
                    over = max(over, start)
        for s in range(size):
            states[row, s] = after[s]
        states[row, size] = over
