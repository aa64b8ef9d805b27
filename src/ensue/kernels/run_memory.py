"""The open runs of an automaton with a register, and their marks: room for them, and their state between batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ensue.data.budget import Holder, Large
from ensue.data.envelope import Parts
from ensue.kernels.jit import read_only
from ensue.kernels.runs import (
    BEFORE,
    FOUND,
    FREE,
    HASH,
    INITIAL,
    LENGTH,
    MARK,
    MATCH_COLUMNS,
    MATCH_END,
    MATCH_NODE,
    MATCH_START,
    NEXT,
    NODE,
    NODE_COLUMNS,
    NODES,
    NOTHING,
    POSITION,
    PROGRESS,
    RUN_COLUMNS,
    STAMP,
    START,
    STEP,
    WANTED,
    Memory,
    drop_expired,
    keep_nodes,
    open_rows,
    unroll,
)

Integers = npt.NDArray[np.int64]
_FIRST_ROOM = 1 << 8
#: Fewer nodes may stay, whether or not an open run has them.
_FEW_NODES = 1 << 12
#: What is saved of a run besides its marks and its register.
_SAVED = ("start", "rank", "time", "state")
_FIRST_SAVED = START


class Chains:
    """The marked events of some runs or matches: those of number `m` are from `offset[m]` to `offset[m + 1]`."""

    def __init__(self, nodes: Integers, node: Integers) -> None:
        lengths = np.zeros(len(nodes), dtype=np.int64)
        marked = nodes != NOTHING  # there may be no node at all
        lengths[marked] = node[nodes[marked], LENGTH]
        self.offset = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.position, self.mark = (np.empty(int(self.offset[-1]), dtype=np.int64) for _ in range(2))
        unroll(np.ascontiguousarray(nodes), node, self.offset, self.position, self.mark)


class RunMemory:
    """`first` is the register of a new run."""

    def __init__(self, first: Sequence[int], holder: Holder) -> None:
        self._first = np.array(first, dtype=np.int64)
        self._holder = holder
        self.progress = np.zeros(PROGRESS, dtype=np.int64)
        self._clear()

    def _clear(self) -> None:
        places = len(self._first)
        self.progress[:] = 0
        self.arrays = Memory(
            np.zeros((1, RUN_COLUMNS), dtype=np.int64),
            np.zeros((1, places), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros((0, NODE_COLUMNS), dtype=np.int64),
            np.zeros((0, MATCH_COLUMNS), dtype=np.int64),
            np.zeros((0, places), dtype=np.int64),
            np.zeros((0, 2), dtype=np.int64),
            np.zeros((0, 2), dtype=np.int64),
        )
        self.arrays.register[INITIAL] = self._first
        self.arrays.run[INITIAL, NODE] = NOTHING
        self._kept_nodes = 0
        self._make_rows(_FIRST_ROOM)

    # ---------------------------------------------------------------- room

    def begin(self, partitions: int) -> None:
        """For a batch with events of so many partitions."""
        self.progress[STEP] = 0
        memory = self.arrays
        if len(memory.head) < partitions:
            room = max(partitions, 2 * len(memory.head))
            self.arrays = memory._replace(
                head=_longer(memory.head, room, NOTHING),
                size=_longer(memory.size, room),
                count=_longer(memory.count, room),
            )

    def make_room(self) -> None:
        """For the next step, as much as it has asked for."""
        wanted, memory = int(self.progress[WANTED]), self.arrays
        if self.progress[FREE] < wanted:
            self._make_rows(2 * len(memory.run) + wanted)
        memory = self.arrays
        if len(memory.match) - self.progress[FOUND] < wanted:
            room = 2 * len(memory.match) + wanted + _FIRST_ROOM
            self.arrays = memory._replace(match=_longer(memory.match, room), held=_longer(memory.held, room))
        memory = self.arrays
        if len(memory.node) - self.progress[NODES] < wanted:
            self.arrays = memory._replace(node=_longer(memory.node, 2 * len(memory.node) + wanted + _FIRST_ROOM))
        memory = self.arrays
        if len(memory.seen) < 4 * wanted:
            slots = 1 << (4 * wanted + _FIRST_ROOM).bit_length()
            self.arrays = memory._replace(
                seen=np.zeros((slots, 2), dtype=np.int64), told=np.zeros((slots, 2), dtype=np.int64)
            )
        self._hold()

    def _make_rows(self, room: int) -> None:
        memory, old = self.arrays, len(self.arrays.run)
        more = np.arange(room - 1, old - 1, -1)
        free = np.concatenate([memory.free[: self.progress[FREE]], more])
        self.progress[FREE] = len(free)
        self.arrays = memory._replace(
            run=_longer(memory.run, room),
            register=_longer(memory.register, room),
            free=np.concatenate([free, np.zeros(room - len(free), dtype=np.int64)]),
        )

    def _hold(self) -> None:
        memory = self.arrays
        matches = memory.match.nbytes + memory.held.nbytes
        self._holder.hold(Large.MATCHES, matches, int(self.progress[FOUND]))
        size = sum(a.nbytes for a in memory) - matches
        self._holder.hold(Large.OPEN, size, len(memory.run) - int(self.progress[FREE]))

    # ---------------------------------------------------------------- what is open

    @property
    def open(self) -> int:
        """How many runs are open."""
        return len(self.arrays.run) - 1 - int(self.progress[FREE])

    def rows(self) -> tuple[Integers, Integers]:
        """The rows of the open runs, partition by partition, and the partition of each."""
        rows, partitions = (np.empty(self.open, dtype=np.int64) for _ in range(2))
        open_rows(self.arrays.head, self.arrays.run, rows, partitions)
        return rows, partitions

    def pass_time(self, before: int) -> None:
        """Drops the runs that began before this time."""
        drop_expired(self.arrays, self.progress, before)

    def tidy(self) -> None:
        """Forgets marks that no open run has."""
        count = int(self.progress[NODES])
        if count > max(_FEW_NODES, 2 * self._kept_nodes):
            rows, _ = self.rows()
            run, node = self.arrays.run, self.arrays.node
            number = np.full(count, NOTHING, dtype=np.int64)
            used = np.ascontiguousarray(run[rows, NODE])
            self._kept_nodes = keep_nodes(read_only(used), node, count, number)
            self.progress[NODES] = self._kept_nodes
            run[rows, NODE] = np.where(used == NOTHING, NOTHING, number[used])
            self._hold()

    def keep(self, partitions: Integers) -> None:
        """Keeps only these partitions, numbered anew in this order; the others have no open run."""
        memory = self.arrays
        self.arrays = memory._replace(
            head=memory.head[partitions], size=memory.size[partitions], count=memory.count[partitions]
        )

    def taken(self) -> tuple[Integers, Integers, Chains, Integers]:
        """The start and end of each match, its marks and its register, by their ends. They are gone from here."""
        count, memory = int(self.progress[FOUND]), self.arrays
        match, held = memory.match[:count], memory.held[:count]
        if count and (np.diff(match[:, MATCH_END]) < 0).any():
            order = np.argsort(match[:, MATCH_END], kind="stable")
            match, held = match[order], held[order]
        chains = Chains(match[:, MATCH_NODE], memory.node)
        self.progress[FOUND] = 0
        return match[:, MATCH_START].copy(), match[:, MATCH_END].copy(), chains, held.copy()

    # ---------------------------------------------------------------- the state

    def save(self) -> Parts:
        """The open runs, with the events that they mark."""
        rows, partitions = self.rows()
        memory = self.arrays
        chains = Chains(memory.run[rows, NODE], memory.node)
        saved = {name: memory.run[rows, _FIRST_SAVED + n] for n, name in enumerate(_SAVED)}
        return {
            **saved,
            "hash": memory.run[rows, HASH],
            "register": memory.register[rows],
            "partition": partitions,
            "count": memory.count.copy(),
            "offset": chains.offset,
            "position": chains.position,
            "mark": chains.mark,
        }

    def load(self, parts: Parts) -> None:
        """Goes on from what was saved."""
        stamp = self.progress[STAMP]
        self._clear()
        self.progress[STAMP] = stamp
        count = len(parts["start"])
        self.begin(len(parts["count"]))
        self.arrays.count[: len(parts["count"])] = parts["count"]
        self._make_rows(max(_FIRST_ROOM, 2 * count + 2))
        memory = self.arrays
        self.progress[FREE] -= count
        rows = memory.free[self.progress[FREE] : self.progress[FREE] + count][::-1].copy()
        for n, name in enumerate(_SAVED):
            memory.run[rows, _FIRST_SAVED + n] = parts[name]
        memory.run[rows, HASH] = parts["hash"]
        memory.register[rows] = parts["register"]
        self._link(rows, parts["partition"])
        self._load_marks(rows, parts)

    def _link(self, rows: Integers, partitions: Integers) -> None:
        """The lists of the partitions; the runs come partition by partition."""
        run, new = self.arrays.run, np.ones(len(rows) + 1, dtype=np.bool_)
        new[1:-1] = np.diff(partitions) != 0
        run[rows, NEXT] = np.where(new[1:], NOTHING, np.append(rows[1:], NOTHING))
        self.arrays.head[partitions[new[:-1]]] = rows[new[:-1]]
        self.arrays.size[:] = np.bincount(partitions, minlength=len(self.arrays.size))

    def _load_marks(self, rows: Integers, parts: Parts) -> None:
        """Each run gets nodes of its own: what runs shared is compared by its content."""
        position, offset = parts["position"], parts["offset"]
        count, lengths = len(position), np.diff(offset)
        node = np.zeros((count, NODE_COLUMNS), dtype=np.int64)
        node[:, POSITION], node[:, MARK] = position, parts["mark"]
        node[:, LENGTH] = np.arange(count) - np.repeat(offset[:-1], lengths) + 1
        node[:, BEFORE] = np.where(node[:, LENGTH] == 1, NOTHING, np.arange(count) - 1)
        self.arrays = self.arrays._replace(node=node)
        self.progress[NODES] = self._kept_nodes = count
        self.arrays.run[rows, NODE] = np.where(lengths == 0, NOTHING, offset[1:] - 1)


def _longer(array: npt.NDArray[Any], room: int, filled: int = 0) -> npt.NDArray[Any]:
    """The array with more rows."""
    longer = np.full((room, *array.shape[1:]), filled, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
