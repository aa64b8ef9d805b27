"""Evaluates a plan whose matches are folded over the nodes that they share at each end (`node_totals.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.kernels import stepping
from ensue.kernels.arena import EVENT, MARK_BITS, NOTHING, USED
from ensue.kernels.counting import Counts
from ensue.kernels.evaluator import Evaluator, Positions
from ensue.kernels.folded_ends import FoldedEnds
from ensue.kernels.jit import read_only
from ensue.kernels.lane_columns import lanes_for
from ensue.kernels.lane_values import Weights
from ensue.kernels.node_totals import SPARE_CELLS, Folds, begin_cells
from ensue.kernels.stepping import Batch, Reporting

_NOTHING = read_only(np.zeros(0, dtype=np.int64))


class WalkEvaluator(Evaluator):
    """Gives one row for each end, which has the parts of the aggregation; what is open is kept as for matches."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        assert self.plan.lanes is not None
        self._lanes = lanes_for(self.plan.lanes, self.plan.marks)
        self._ends = FoldedEnds(self.plan.lanes, self.progress)
        self._cells = self._ends.cells(0)
        self._of_node, self._row = (np.zeros(0, dtype=np.int64) for _ in range(2))
        #: The events that runs may have, in stream order: where they are, and what they weigh.
        self._position = _NOTHING
        self._weights = self._no_weights()
        self._first_row = 0

    def _no_weights(self) -> Weights:
        shape = (len(self._lanes.at_start), 0)
        bits, whole, exponent = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        return Weights(bits, whole, np.zeros(shape, dtype=np.float64), exponent)

    # -- steps

    def parts(self, batch: Batch, report_from: int = 0) -> Iterator[ComplexEvents]:
        """The ends in the batch, at the position `report_from` or later."""
        self.grow_partitions(len(self._reader.keys) if self.rules.keyed else 1)
        self.progress[[stepping.CURSOR, stepping.MATCHES]] = 0
        self._keep_weights()
        self._add_weights(batch)
        batch = batch._replace(report_from=report_from)
        while (status := self.advance(batch)) != stepping.DONE:
            if status != stepping.NEEDS_OUTPUT:
                self.provide(status, batch)
            elif self._ends.some:
                yield self._ends.taken(batch, self._base)
        if self._ends.some:
            yield self._ends.taken(batch, self._base)
        if len(batch.times):
            self.latest = int(batch.times[-1])

    @property
    def _base(self) -> int:
        return 0 if self._reader.weights is None else self._reader.weights.base or 0

    def _reporting(self, counts: Counts | None, batch: Batch) -> Reporting:
        if counts is not None:
            return super()._reporting(counts, batch)
        room = len(self.arena.node)
        if len(self._of_node) < room:
            self._cells = self._ends.cells(room + SPARE_CELLS)
            begin_cells(self._cells, self._lanes)
            self._of_node, self._row = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
            self._forget()
        what = (self._cells, self._of_node, self._row, self._lanes, self._weights, self._position, self._first_row)
        return Reporting(None, None, None, None, None, folds=Folds(*what, self._ends.arrays))

    def _forget(self) -> None:
        """Nothing is known of the nodes: they have other numbers, or cells were begun that are not made."""
        self._of_node[:] = NOTHING
        self._row[:] = NOTHING

    def _deepen(self) -> None:
        super()._deepen()
        self._forget()

    def collect(self, position: int) -> None:
        """Keeps only what the next event, at this position, could still be joined with."""
        super().collect(position)
        self._forget()

    def _bytes_beside(self) -> int:
        return super()._bytes_beside() + self._ends.bytes_a_cell + 16

    # -- what events weigh

    def _keep_weights(self) -> None:
        """Keeps what those events weigh that open runs have."""
        if not len(self._lanes.at_start):
            return
        nodes = self.arena.node[: int(self.arena.used[USED])]
        used = np.unique(nodes[nodes[:, EVENT] >= 0, EVENT] >> MARK_BITS)
        rows = np.searchsorted(self._position, used)
        self._position = used
        self._weights = Weights(*(np.ascontiguousarray(part[:, rows]) for part in self._weights))

    def _add_weights(self, batch: Batch) -> None:
        """Adds the events of a batch. A row is looked up anew: it is another one now."""
        self._row[:] = NOTHING
        self._first_row = len(self._position)
        if not len(self._lanes.at_start):
            self._weights = batch.folded
            return
        count = len(batch.classes)
        positions = batch.positions if len(batch.positions) else np.arange(batch.base, batch.base + count)
        self._position = read_only(np.concatenate([self._position, positions]))
        both = (np.concatenate([a, b], axis=1) for a, b in zip(self._weights, batch.folded, strict=True))
        self._weights = Weights(*map(read_only, both))

    # -- the state

    def begun(self) -> Positions:
        """No result speaks of the events of a match."""
        return _NOTHING

    def save(self) -> Parts:
        """What the events of open runs weigh."""
        self._keep_weights()
        bits, whole, size, exponent = self._weights
        parts: Parts = {"position": self._position, "bits": bits, "whole": whole, "exponent": exponent}
        parts |= {"size": np.ascontiguousarray(size).view(np.int64)}
        return {**parts, "base": None if self._reader.weights is None else self._reader.weights.base}

    def load(self, parts: Parts) -> None:
        """Goes on from them; the match structure is there."""
        self._position = parts["position"]
        size = parts["size"].view(np.float64)
        self._weights = Weights(parts["bits"], parts["whole"], size, parts["exponent"])
        if self._reader.weights is not None:
            self._reader.weights.base = parts["base"]
        self._forget()
