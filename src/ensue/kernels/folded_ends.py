"""What ends, with a cell each, until it is handed on as rows with the columns of the parts."""

from __future__ import annotations

import numpy as np

from ensue.columns.match_totals import rows_of_ends
from ensue.data.complex_events import ComplexEvents
from ensue.kernels import stepping
from ensue.kernels.lane_columns import PartColumns
from ensue.kernels.lane_values import Cells
from ensue.kernels.stack_pools import Ends
from ensue.kernels.stepping import Batch
from ensue.plan.lanes import LanePlan

#: So many ends are handed on at a time.
_FEWEST_ENDS, _MOST_ENDS = 1 << 10, 1 << 17


class FoldedEnds:
    """The ends that one evaluator writes. `progress` is the evaluator's: it says how many there are."""

    def __init__(self, plan: LanePlan, progress: np.ndarray) -> None:
        self._columns = PartColumns(plan)
        self._progress = progress
        sums, best = len(plan.sums) + 1, len(plan.best)  # the number of runs is a lane of its own
        self._of_cell = (1 + 2 * sums + 3 * best, sums + best)
        self.arrays = self._new(_FEWEST_ENDS)

    def cells(self, count: int) -> Cells:
        """So many elements of no runs."""
        whole, size = self._of_cell
        return Cells(np.zeros((count, whole), dtype=np.int64), np.zeros((count, size), dtype=np.float64))

    @property
    def bytes_a_cell(self) -> int:
        return 8 * sum(self._of_cell)

    def _new(self, count: int) -> Ends:
        return Ends(np.zeros(count, dtype=np.int64), self.cells(count))

    @property
    def some(self) -> bool:
        """Whether anything has ended since it was last taken."""
        return bool(self._progress[stepping.MATCHES])

    def taken(self, batch: Batch, base: int) -> ComplexEvents:
        """What has ended so far in the batch; there is room for more afterwards. Times are counted from `base` on."""
        count = int(self._progress[stepping.MATCHES])
        positions = self.arrays.position[:count].copy()
        times = None
        if len(batch.times):
            rows = np.searchsorted(batch.positions, positions) if len(batch.positions) else positions - batch.base
            times = batch.times[rows]
        cells = Cells(*(part[:count].copy() for part in self.arrays.cells))
        columns = self._columns.of(cells, count, times, base)
        self._progress[stepping.MATCHES] = 0
        if count == len(self.arrays.position) < _MOST_ENDS:
            self.arrays = self._new(4 * count)
        return rows_of_ends(positions, columns)
