"""What folds `A ; B+ ; C` with one vector for each start in the window, as GRETA does: linear in the window.

It adds the same elements as the engine does, which never overflow, so that only the algorithms differ. Written for this
one pattern, it needs no table of what an event does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ensue.kernels.jit import at, kernel
from ensue.kernels.lane_columns import lanes_for
from ensue.kernels.lane_values import Cells, Lanes, Step, Weights, add, add_extended, clear, copy, set_unit
from ensue.plan.plan import Plan

#: The cells of a start: its runs behind A, those behind B, and room for what these become.
_BEHIND_A, _BEHIND_B, _NEW, _EACH = 0, 1, 2, 3


@kernel
def _fold(types: Any, window: int, cells: Cells, starts: Any, lanes: Lanes, weights: Weights) -> None:
    """Leaves in the last cell what all matches come to; types are 0, 1 and 2, and others."""
    begin, end, room, total = 0, 0, len(starts), len(starts) * _EACH
    clear(cells, total)
    for i in range(len(types)):
        while begin < end and starts[at(begin % room)] <= i - window:
            begin += 1
        if types[at(i)] == 0:
            of = end % room
            starts[at(of)] = i
            set_unit(cells, of * _EACH + _BEHIND_A, lanes)
            clear(cells, of * _EACH + _BEHIND_B)
            end += 1
        elif types[at(i)] == 1:
            for s in range(begin, end):
                of = s % room * _EACH
                copy(cells, of + _NEW, of + _BEHIND_B)
                add_extended(cells, of + _NEW, of + _BEHIND_A, lanes, weights, Step(i, 0, False))
                add_extended(cells, of + _NEW, of + _BEHIND_B, lanes, weights, Step(i, 0, False))
                copy(cells, of + _BEHIND_B, of + _NEW)
        elif types[at(i)] == 2:
            for s in range(begin, end):
                add(cells, total, s % room * _EACH + _BEHIND_B, lanes)


class VectorAStart:
    """The number of matches within so many events; `plan` says what is folded."""

    def __init__(self, plan: Plan, types: npt.NDArray[Any], window: int) -> None:
        assert plan.lanes is not None
        self._types, self._window = types, window
        self._lanes = lanes_for(plan.lanes, plan.marks)
        sums, best = len(self._lanes.kinds), len(self._lanes.best)
        count = window * _EACH + 1
        self._cells = Cells(np.zeros((count, 1 + 2 * sums + 3 * best), np.int64), np.zeros((count, sums + best)))
        none = np.zeros((0, 0), np.int64)
        self._weights = Weights(none, none, np.zeros((0, 0)), none)
        self._starts = np.zeros(window, np.int64)

    def run(self) -> int:
        """The number modulo 2^64."""
        _fold(self._types, self._window, self._cells, self._starts, self._lanes, self._weights)
        return int(self._cells.whole[-1, 1])
