"""Some of the matches that end at some of the events, by their ranks: the others are not written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ensue.data.budget import Budget, Holder, Large
from ensue.data.complex_events import ComplexEvents, Piece
from ensue.data.events import EventStream
from ensue.kernels import stepping
from ensue.kernels.arena import MARK_BITS, MARK_MASK, NOTHING, STAMP, Arena
from ensue.kernels.batch_reader import Reader
from ensue.kernels.counting import TOTALS, Counts
from ensue.kernels.delivery import Delivery
from ensue.kernels.evaluator import Evaluator
from ensue.kernels.path_counts import LIMB_BITS, count_paths, find_path, find_reached
from ensue.kernels.stepping import CONSUME_NONE, CURSOR, Batch
from ensue.plan import Plan

Numbers = npt.NDArray[np.int64]
_NO_MORE = np.iinfo(np.int64).max


def ranked_matches(
    plan: Plan, stream: EventStream, asked: Mapping[int, Sequence[int]], step: int, budget: Budget
) -> ComplexEvents:
    """Of the matches that end at each position, those of these ranks; ranks beyond their number are passed over.

    The stream is read up to the last position, `step` events at a time.
    """
    reader = Reader(plan, stream.tick)
    evaluator = Evaluator(plan, stream.tick, reader, delivery=Delivery(budget=budget))
    found, holder = _Found(), budget.holder()
    positions = np.array(sorted(asked), dtype=np.int64)
    last = int(positions[-1]) + 1 if len(positions) else 0
    for start in range(0, last, step):
        batch = reader.read(stream.slice(start, min(step, last - start)), start)
        evaluator.grow_partitions(len(reader.keys) if evaluator.rules.keyed else 1)
        for position in _stops(evaluator, batch, positions):
            ends = _Ends(evaluator, batch, position, holder)
            for rank in asked[position]:
                path = ends.path(rank)
                if path is not None:
                    found.add(path, position)
    return ComplexEvents((found.piece(),), plan.marks)


def _stops(evaluator: Evaluator, batch: Batch, wanted: Numbers) -> Iterator[int]:
    """Steps over the batch; stops where matches end at a wanted position, before the event changes what is open."""
    # To count them is how an evaluator looks at what ends without writing it; it stops, since it may visit no nodes.
    counts = Counts(np.zeros((0, 2)), np.zeros(TOTALS), -1.0, 0)
    evaluator.progress[CURSOR] = 0
    everywhere = evaluator.rules.consume != CONSUME_NONE  # every end takes something away
    here = batch._replace(report_from=0 if everywhere else _next(wanted, batch.base))
    while (status := evaluator.advance(here, counts)) != stepping.DONE:
        if status != stepping.NEEDS_OUTPUT:
            evaluator.provide(status, here)
            continue
        position = _position(batch, int(evaluator.progress[CURSOR]))
        if _next(wanted, position) == position:
            yield position
        # What ends here is done with: it is before what is looked at from now on.
        here = batch._replace(report_from=position + 1 if everywhere else _next(wanted, position + 1))
    if len(batch.times):
        evaluator.latest = int(batch.times[-1])


def _position(batch: Batch, row: int) -> int:
    return int(batch.positions[row]) if len(batch.positions) else batch.base + row


def _next(wanted: Numbers, position: int) -> int:
    """The first of the positions from this one on."""
    place = int(np.searchsorted(wanted, position))
    return int(wanted[place]) if place < len(wanted) else _NO_MORE


class _Ends:
    """The matches that end at the event at which an evaluator has stopped, by their ranks."""

    def __init__(self, evaluator: Evaluator, batch: Batch, position: int, holder: Holder) -> None:
        self._arena = arena = evaluator.arena
        self._event = position << MARK_BITS
        end = evaluator.present_end(batch, position)
        low, low_second = evaluator.present_lows(batch, position)
        sources = end.reports[end.first : end.last].tolist()
        roots = [(NOTHING if source < 0 else int(end.slots[end.row, source]), mark) for source, mark in sources]
        #: Where the matches are, and how they mark this event; NOTHING stands for the match of this event alone.
        self._roots = [
            (node, mark)
            for (source, _), (node, mark) in zip(sources, roots, strict=True)
            if source < 0 or (node != NOTHING and _is_alive(arena, node, low, low_second))
        ]
        self._place = np.full(len(arena.node), NOTHING, dtype=np.int64)
        self._place[[node for node, _ in self._roots if node != NOTHING]] = 0
        rows = int(find_reached(arena, low, low_second, self._place))
        self._path = np.zeros(rows + 1, dtype=np.int64)
        self._count = np.zeros((rows + 1, 1), dtype=np.int64)
        while not count_paths(arena, self._place, self._count):
            limbs = 2 * self._count.shape[1]
            holder.hold(Large.OPEN, 8 * limbs * (rows + 1), rows)
            self._count = np.zeros((rows + 1, limbs), dtype=np.int64)

    def path(self, rank: int) -> Numbers | None:
        """The events of the match of this rank with their marks, the last first; None where there are fewer."""
        for node, mark in self._roots:
            count = 1 if node == NOTHING else _number(self._count[self._place[node]])
            if rank < count:
                depth = 0 if node == NOTHING else self._written(node, rank)
                return np.concatenate([[self._event | mark], self._path[:depth]])
            rank -= count
        return None

    def _written(self, node: int, rank: int) -> int:
        limbs = _limbs(rank, self._count.shape[1])
        return int(find_path(self._arena, self._place, self._count, node, limbs, self._path))


def _is_alive(arena: Arena, node: int, low: int, low_second: int) -> bool:
    second = len(arena.second) == 1 or int(arena.second[node]) >= low_second
    return int(arena.node[node, STAMP]) >= low and second


def _number(limbs: Numbers) -> int:
    """The number in limbs, of which the lowest is the first."""
    return sum(limb << (LIMB_BITS * k) for k, limb in enumerate(limbs.tolist()))


def _limbs(number: int, count: int) -> Numbers:
    mask = (1 << LIMB_BITS) - 1
    return np.array([(number >> (LIMB_BITS * k)) & mask for k in range(count)], dtype=np.int64)


class _Found:
    """Matches that are found one by one."""

    def __init__(self) -> None:
        self._paths: list[Numbers] = []
        self._ends: list[int] = []

    def add(self, path: Numbers, end: int) -> None:
        self._paths.append(path[::-1])
        self._ends.append(end)

    def piece(self) -> Piece:
        events = np.concatenate([np.zeros(0, dtype=np.int64), *self._paths])
        lengths = np.array([len(p) for p in self._paths], dtype=np.int64)
        marked = events & MARK_MASK != 0
        before = np.concatenate([[0], np.cumsum(marked)])
        offset = before[np.concatenate([[0], np.cumsum(lengths)])]
        start = np.array([p[0] for p in self._paths], dtype=np.int64) >> MARK_BITS
        end = np.array(self._ends, dtype=np.int64)
        return Piece(start, end, offset, events[marked] >> MARK_BITS, (events[marked] & MARK_MASK).astype(np.uint16))
