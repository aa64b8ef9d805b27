"""Follows the single run of a deterministic automaton whose steps become known on the way.

A step is found by its state and by the answers to what the state asks, as bits of words, in a table with open
addressing. Where it is not known, the kernel stops, Python says where it leads, and the kernel goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ensue.kernels.jit import inlined, kernel

#: So many answers are in a word: its sign stays out of use.
BITS = 62
_FOLDED = (1 << 44) - 1


class Table(NamedTuple):
    """The steps as the kernels read them."""

    masks: npt.NDArray[np.int64]  # of each state: the bits that it asks for
    keys: npt.NDArray[np.int64]  # of each step: its state, and the answers
    targets: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]


class KnownSteps:
    """The steps that are known so far."""

    def __init__(self) -> None:
        self.width = 1  # words of answers
        self._masks = np.zeros((16, 1), dtype=np.int64)
        self._keys = np.zeros((16, 2), dtype=np.int64)
        self._targets = np.zeros(16, dtype=np.int64)
        self._slots = np.full(64, -1, dtype=np.int64)
        self._states = self._steps = 0

    def add_state(self, asked: Iterable[int]) -> None:
        """The next state, and the numbers of what it asks."""
        words = [0] * self.width
        for number in asked:
            words += [0] * (number // BITS + 1 - len(words))
            words[number // BITS] |= 1 << number % BITS
        self._widen(len(words))
        self._masks = _longer(self._masks, self._states)
        self._masks[self._states] = words
        self._states += 1

    def learn(self, state: int, answers: npt.NDArray[np.int64], target: int) -> None:
        """Where the state's step leads that is taken with these answers."""
        self._keys, self._targets = _longer(self._keys, self._steps), _longer(self._targets, self._steps)
        self._keys[self._steps, 0] = state
        self._keys[self._steps, 1:] = answers & self._masks[state]
        self._targets[self._steps] = target
        self._steps += 1
        if 2 * self._steps > len(self._slots):
            self._slots = np.full(4 * len(self._slots), -1, dtype=np.int64)
            put(self._keys, 0, self._steps, self._slots)
        else:
            put(self._keys, self._steps - 1, self._steps, self._slots)

    def follow(self, answers: Any, order: Any, first: Any, begin: int, states: Any) -> int:
        """Takes the steps from an event on, in this order; returns the first event for which none is known.

        `first` says which events begin a run; `states` gets the state after each event.
        """
        table = Table(self._masks, self._keys, self._targets, self._slots)
        return int(follow(answers, order, first, begin, states, table))

    def _widen(self, width: int) -> None:
        if width > self.width:
            more = width - self.width
            self._masks = np.hstack([self._masks, np.zeros((len(self._masks), more), dtype=np.int64)])
            self._keys = np.hstack([self._keys, np.zeros((len(self._keys), more), dtype=np.int64)])
            self.width = width
            self._slots[:] = -1
            put(self._keys, 0, self._steps, self._slots)


def _longer(rows: npt.NDArray[np.int64], used: int) -> npt.NDArray[np.int64]:
    """The array with room for one more row."""
    return rows if used < len(rows) else np.concatenate([rows, np.zeros_like(rows)])


@inlined
def _mixed(found: int, word: int) -> int:
    """Stays far below 2^63, so nothing overflows."""
    return (found * 31 + (word ^ (word >> 29))) & _FOLDED


@kernel
def put(keys: Any, begin: int, end: int, slots: Any) -> None:
    """Puts these steps into the table."""
    for n in range(begin, end):
        found = keys[n, 0]
        for w in range(1, keys.shape[1]):
            found = _mixed(found, keys[n, w])
        slot = (found ^ (found >> 17)) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = n


@kernel
def follow(answers: Any, order: Any, first: Any, begin: int, states: Any, table: Table) -> int:
    masks, keys, targets, slots = table
    state = states[begin - 1] if begin > 0 else 0
    for i in range(begin, len(order)):
        if first[i]:
            state = 0
        k = order[i]
        found = state
        for w in range(masks.shape[1]):
            found = _mixed(found, answers[k, w] & masks[state, w])
        slot = (found ^ (found >> 17)) & (len(slots) - 1)
        while slots[slot] >= 0:
            n = slots[slot]
            same = keys[n, 0] == state
            for w in range(masks.shape[1]):
                same = same and keys[n, w + 1] == answers[k, w] & masks[state, w]
            if same:
                break
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            return i
        state = targets[slots[slot]]
        states[i] = state
    return len(order)
