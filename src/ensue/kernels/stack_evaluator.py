"""Evaluates a plan whose matches are folded and not written out (`two_stacks.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ensue.data.budget import Large
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.kernels import stepping, two_stacks
from ensue.kernels.evaluator import Evaluator, Positions
from ensue.kernels.folded_ends import FoldedEnds
from ensue.kernels.lane_columns import lanes_for
from ensue.kernels.lane_values import Cells, Weights
from ensue.kernels.stack_pools import (
    AGAIN,
    FRONT,
    LAST,
    LAST_SECOND,
    MID,
    NOTHING,
    NOW,
    OWN,
    PRODUCT,
    STARTS,
    USED,
    Stacks,
    scratch_vectors,
)
from ensue.kernels.stepping import Batch

_FIRST_VECTORS, _FIRST_EVENTS, _FIRST_WIDTH = 64, 64, 4


class StackEvaluator(Evaluator):
    """Gives one row for each end, which has the parts of the aggregation. The slots of a partition are its stacks."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        assert self.plan.lanes is not None
        self._lanes = lanes_for(self.plan.lanes, self.plan.marks)
        self._width = _FIRST_WIDTH
        self._ends = FoldedEnds(self.plan.lanes, self.progress)
        self._empty()

    def _empty(self) -> None:
        """Nothing is open: all pools begin anew."""
        scratch = scratch_vectors(self._width)
        vectors = max(_FIRST_VECTORS, 2 * scratch)
        self._cells = self._ends.cells(vectors * self._width)
        self._link = np.zeros(vectors, dtype=np.int64)
        self._stamp = np.zeros((vectors, 2), dtype=np.int64)
        self._vectors = np.array([NOTHING, scratch, 0])
        self._own = np.arange(scratch)
        self._event = np.zeros((_FIRST_EVENTS, 5), dtype=np.int64)
        self._kept = self._new_weights(_FIRST_EVENTS)
        self._events = np.array([NOTHING, 0, 0])
        rows = np.zeros((0, PRODUCT + self._width), dtype=np.int64)
        none = np.zeros(0, dtype=np.int64)
        self.partitions = stepping.Partitions(none.astype(np.int32), rows, none, none)
        two_stacks.begin_unit(self._stacks, self._lanes)

    def _new_weights(self, count: int) -> Weights:
        shape = (len(self._lanes.at_start), count)
        bits, whole, exponent = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        return Weights(bits, whole, np.zeros(shape, dtype=np.float64), exponent)

    @property
    def _stacks(self) -> Stacks:
        p = self.partitions
        pools = (self._cells, self._width, self._link, self._stamp, self._vectors, self._own)
        return Stacks(p.configuration, p.count, p.epoch, p.slots, *pools, self._event, self._kept, self._events)

    # -- steps

    def parts(self, batch: Batch, report_from: int = 0) -> Iterator[ComplexEvents]:
        """The ends in the batch, at the position `report_from` or later."""
        self.grow_partitions(len(self._reader.keys) if self.rules.keyed else 1)
        weights = batch.folded
        given = batch._replace(columns=None, folded=None, reach=None, report_from=report_from)
        self.progress[[stepping.CURSOR, stepping.MATCHES]] = 0
        status = NOTHING
        while status != stepping.DONE:
            tables, stacks = self.programs.tables(), self._stacks
            ends = self._ends.arrays
            status = two_stacks.fold(tables, given, self.rules, stacks, self._lanes, weights, self.progress, ends)
            if status == stepping.NEEDS_PROGRAM:
                self._learn(batch)
            elif status == stepping.NEEDS_NODES:
                self._make_more_room(int(self.progress[stepping.NEEDED]))
            elif self._ends.some:
                base = 0 if self._reader.weights is None else self._reader.weights.base or 0
                yield self._ends.taken(batch, base)
        if len(batch.times):
            self.latest = int(batch.times[-1])

    def _learn(self, batch: Batch) -> None:
        if self.programs.full:
            self._put_on_front()  # the events that are kept speak of programs
        super()._learn(batch)

    def _put_on_front(self) -> None:
        first, tables = 0, self.programs.tables()
        while first < len(self.partitions.configuration):
            first = int(two_stacks.put_all_on_front(self._stacks, tables, self._lanes, first))
            if first < len(self.partitions.configuration):
                self._make_more_room(int(self.partitions.slots[first, STARTS]) + self._width + 1)

    def _make_more_room(self, needed: int) -> None:
        """Room for so many vectors more, and for events."""
        free = len(self._link) - int(self._vectors[USED]) + int(self._vectors[AGAIN])
        if free < needed:
            vectors = 2 * len(self._link) + needed
            self._cells = Cells(*(_longer(part, vectors * self._width) for part in self._cells))
            self._link, self._stamp = _longer(self._link, vectors), _longer(self._stamp, vectors)
        if len(self._event) == int(self._events[USED]) and not int(self._events[AGAIN]):
            events = 2 * len(self._event)
            self._event = _longer(self._event, events)
            self._kept = Weights(*(_longer(part.T, events).T.copy() for part in self._kept))
        parts = (*self._cells, self._link, self._stamp, self._event, *self._kept)
        self._holder.check(Large.OPEN, sum(p.nbytes for p in parts), len(self._link))
        self._holder.hold(Large.OPEN, sum(p.nbytes for p in parts), len(self._link))

    # -- partitions

    def grow_partitions(self, count: int) -> None:
        """Room for so many partitions, and for as many slots as a configuration has."""
        if self.programs.width > self._width:
            self._widen(max(2 * self._width, self.programs.width))
        old = self.partitions
        rows = len(old.slots)
        if count <= rows:
            return
        more = max(count, 2 * rows) - rows
        slots = np.concatenate([old.slots, np.tile(self._no_run(), (more, 1))])
        zeros = np.zeros(more, dtype=np.int64)
        self.partitions = stepping.Partitions(
            np.concatenate([old.configuration, zeros.astype(np.int32)]),
            slots,
            np.concatenate([old.count, zeros]),
            np.concatenate([old.epoch, zeros]),
        )
        self._hold_partitions()

    def _no_run(self) -> Positions:
        row = np.full(PRODUCT + self._width, NOTHING, dtype=np.int64)
        row[[STARTS, MID, NOW, LAST, LAST_SECOND]] = 0
        return row

    def _widen(self, width: int) -> None:
        """Gives vectors so many cells."""
        old, self._width = self._width, width
        vectors = len(self._link)
        for part in (0, 1):
            cells = self._cells[part]
            wider = np.zeros((vectors, width, cells.shape[1]), dtype=cells.dtype)
            wider[:, :old] = cells.reshape(vectors, old, cells.shape[1])
            self._cells = self._cells._replace(**{Cells._fields[part]: wider.reshape(-1, cells.shape[1])})
        slots = self.partitions.slots
        more = np.full((len(slots), width - old), NOTHING, dtype=np.int64)
        with_product = np.flatnonzero(slots[:, MID] > 0)
        wanted = (len(with_product) + 2) * (width - old)
        self._make_more_room(wanted + int(self._vectors[AGAIN]))
        fresh = np.arange(wanted) + int(self._vectors[USED])
        self._vectors[USED] += wanted
        self._own = np.concatenate([self._own, fresh[: 2 * (width - old)]])
        more[with_product] = fresh[2 * (width - old) :].reshape(len(with_product), width - old)
        self.partitions = self.partitions._replace(slots=np.concatenate([slots, more], axis=1))

    def collect(self, position: int) -> None:
        """Drops what no later event can be joined with."""
        if self.rules.consume == stepping.CONSUME_ANY:
            two_stacks.drop_other_epochs(self._stacks, int(self.progress[stepping.EPOCH]))
        two_stacks.drop_dead(self._stacks, *self._lows(position))

    def busy(self, position: int) -> Positions:
        self.collect(position)
        found: Positions = np.flatnonzero(self.partitions.configuration != 0)
        return found

    @property
    def nodes(self) -> int:
        """How many vectors there are."""
        return int(self._vectors[USED] - self._vectors[AGAIN]) - scratch_vectors(self._width)

    def begun(self) -> Positions:
        """No result speaks of the events of a match."""
        return np.zeros(0, dtype=np.int64)

    started = begun

    # -- the state

    def save(self, count: int) -> Parts:
        """The stacks of so many partitions as arrays: all events are on the front."""
        self._put_on_front()
        slots = self.partitions.slots[:count]
        vectors = [(k, v) for k in range(len(slots)) for v in self._list_of(int(slots[k, FRONT]))]
        of, front = (np.array([pair[i] for pair in vectors], dtype=np.int64) for i in (0, 1))
        own = slots[:, OWN][slots[:, OWN] != NOTHING]
        both = np.concatenate([front, own]).astype(np.int64)
        width = int(slots[:, NOW].max(initial=0))
        cells = [part.reshape(len(self._link), self._width, -1)[both, :width] for part in self._cells]
        return {
            "front_of": of,
            "own_of": np.flatnonzero(slots[:, OWN] != NOTHING),
            "stamp": self._stamp[front],
            "now": slots[:, NOW].copy(),
            "last": slots[:, [LAST, LAST_SECOND]].copy(),
            "whole": cells[0].copy(),
            "size": np.ascontiguousarray(cells[1]).view(np.int64),
            "base": None if self._reader.weights is None else self._reader.weights.base,
        }

    def _list_of(self, vector: int) -> list[int]:
        found = []
        while vector != NOTHING:
            found.append(vector)
            vector = int(self._link[vector])
        return found

    def load(self, parts: Parts) -> None:
        """Goes on from saved stacks; the partitions are there, with their configurations."""
        known = self.partitions
        self._empty()
        self.partitions = known._replace(slots=np.tile(self._no_run(), (len(known.configuration), 1)))
        width = parts["whole"].shape[1]
        if max(width, self.programs.width) > self._width:
            self._widen(max(width, self.programs.width))
        slots, of = self.partitions.slots, parts["front_of"]
        slots[:, NOW], slots[:, [LAST, LAST_SECOND]] = parts["now"], parts["last"]
        with_front = np.unique(of)
        count = len(of) + len(parts["own_of"])
        self._make_more_room(count + len(with_front) * self._width + 1)
        first = int(self._vectors[USED])
        slots = self.partitions.slots
        for part, stored in zip(self._cells, (parts["whole"], parts["size"].view(np.float64)), strict=True):
            part.reshape(len(self._link), self._width, -1)[first : first + count, :width] = stored
        vectors = np.arange(first, first + len(of))
        self._stamp[vectors] = parts["stamp"]
        same = np.append(of[1:] == of[:-1], False) if len(of) else np.zeros(0, dtype=np.bool_)
        self._link[vectors] = np.where(same, vectors + 1, NOTHING)
        slots[with_front, FRONT] = vectors[np.searchsorted(of, with_front)]
        slots[parts["own_of"], OWN] = np.arange(first + len(of), first + count)
        self._vectors[USED] += count
        for k in with_front.tolist():
            self._identity(slots, k)
        if self._reader.weights is not None:
            self._reader.weights.base = parts["base"]

    def _identity(self, slots: Positions, k: int) -> None:
        """Nothing is between the front of a partition and now."""
        slots[k, MID] = slots[k, NOW]
        for s in range(self._width):
            vector = int(self._vectors[USED])
            self._vectors[USED] += 1
            slots[k, PRODUCT + s] = vector
            if s < slots[k, NOW]:
                unit = int(self._own[0]) * self._width
                for part in self._cells:
                    part[vector * self._width + s] = part[unit]


def _longer(part: Any, length: int) -> Any:
    longer = np.zeros((length, *part.shape[1:]), dtype=part.dtype)
    longer[: len(part)] = part
    return longer
