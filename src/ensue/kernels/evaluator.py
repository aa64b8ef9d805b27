"""Steps over batches, and keeps the partial matches in the match structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ensue.automata.build.project import HIDDEN
from ensue.automata.determinize import MOST_STATES, Determinizer, TooManyStates
from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Piece, concatenated
from ensue.kernels import evaluate, stepping
from ensue.kernels.arena import (
    CHILD,
    EVENT,
    MARK_BITS,
    NOTHING,
    TREE,
    USED,
    Arena,
    bytes_a_node,
    collect,
    grown,
    new_arena,
)
from ensue.kernels.batch_reader import Reader, counts_by_key
from ensue.kernels.counting import Counts
from ensue.kernels.delivery import Delivery
from ensue.kernels.earliest import WIDTH as LADDER
from ensue.kernels.enumeration import MOST_CANDIDATES
from ensue.kernels.forecast import Forecast
from ensue.kernels.match_weights import MatchWeights
from ensue.kernels.output_buffer import OutputBuffer
from ensue.kernels.programs import MoveNotes, Programs
from ensue.kernels.register_data import RegisterData, Spine
from ensue.kernels.register_programs import RegisterPrograms
from ensue.kernels.select import CHOOSE, Choice
from ensue.kernels.stepping import Batch, End, Partitions, Reporting, Rules, Stack, State
from ensue.kernels.value_trees import DEEPEST, LEAST
from ensue.kernels.window_segments import WindowSegments
from ensue.language import ast
from ensue.plan import Plan

Positions = npt.NDArray[np.int64]

_CONSUME = {
    ast.Consume.NONE: stepping.CONSUME_NONE,
    ast.Consume.PARTITION: stepping.CONSUME_PARTITION,
    ast.Consume.ANY: stepping.CONSUME_ANY,
}
_HIDDEN = frozenset({HIDDEN})
_NOTHING = np.zeros(0, dtype=np.int64)
_NO_LADDER = np.zeros((0, LADDER), dtype=np.int64)
FIRST_NODES = 1 << 14
#: Fewer bytes of partitions or of programs are not counted.
_FEW_BYTES = 1 << 20


class Evaluator:
    """Steps over batches and keeps the partial matches. Several can share one reader, each with its own part.

    `share` and `shares`: of a query with partitions, only those whose number leaves this remainder are evaluated;
    `shares` is a power of two.
    """

    def __init__(
        self,
        plan: Plan,
        tick: int | None,
        reader: Reader,
        *,
        share: int = 0,
        shares: int = 1,
        configurations: int = 4096,
        delivery: Delivery | None = None,
    ) -> None:
        self.plan = plan
        self._reader = reader
        delivery = delivery or Delivery(together=plan.judged)
        self._holder = delivery.budget.holder()
        self._determinizer = Determinizer(plan.automaton, plan.predicates, plan.marks, plan.actions)
        ticks = plan.window.ticks(tick)
        self.arena, noted = self._prepare(tick)
        self.programs = Programs(self._determinizer, reader.classifier.words, configurations, noted)
        self.rules = Rules(
            keyed=bool(plan.keys),
            counted=counts_by_key(plan),
            share=share,
            share_mask=shares - 1,
            events=stepping.NO_BOUND if plan.window.events is None else plan.window.events,
            ticks=stepping.NO_BOUND if ticks is None else ticks,
            limit=0 if plan.judged else plan.limit or 0,
            consume=_CONSUME[plan.consume],
            union=delivery.union,
        )
        self._choice = _choice_of(plan)
        self._ladder = _NO_LADDER if plan.chooses_earliest and not delivery.union else None
        self._seen = _NOTHING if delivery.union else None
        self._scratch = np.empty(0, dtype=np.int64)
        self.partitions = Partitions(_NOTHING.astype(np.int32), np.zeros((0, 1), dtype=np.int64), _NOTHING, _NOTHING)
        self.progress = np.zeros(stepping.PROGRESS, dtype=np.int64)
        self.progress[stepping.NODE] = NOTHING
        self.latest = int(stepping.NO_BOUND)  # the time of the last event seen
        self.began_empty = True  # whether nothing was open when the batch began
        together = delivery.together or plan.chooses is not None
        self._output = OutputBuffer(self.progress, self._holder, together=together)
        self._forecast = Forecast(delivery, self._holder)
        self.windows: WindowSegments | None = None
        if plan.spans is not None and reader.folded is not None:
            holder = delivery.budget.holder()
            self.windows = WindowSegments(plan.spans, reader.folded, share, self.rules.share_mask, holder)
        self._paths = np.zeros((0, 2))  # where matches are counted
        weighed = plan.bounds and not delivery.union
        #: What the nodes weigh, where matches that cannot pass are left out.
        self.weights = MatchWeights(plan.bounds, plan.marks) if weighed else None
        self._made_for = (tick, share, shares)

    def counting_twin(self, reader: Reader | None = None) -> Evaluator:
        """An evaluator of the same query, which counts; what it may take is bounded by what it is asked."""
        tick, share, shares = self._made_for
        plan, unbounded = self.plan.with_registers, Delivery(budget=Budget(1 << 62))
        reader = reader or self._reader
        return Evaluator(plan, tick, reader, share=share, shares=shares, delivery=unbounded)

    def read_again(self, most: int) -> tuple[Reader, Batch] | None:
        """The events of this batch for the plan with registers, if nothing was open before; None if they cannot be."""
        return self._reader.read_again(most) if self.began_empty and not self.rules.share_mask else None

    def _prepare(self, tick: int | None) -> tuple[Arena, MoveNotes | None]:
        """Makes the match structure and what belongs to it, and what is noted of moves beside their sources."""
        self._memory = RegisterPrograms(self.plan) if self.plan.automaton.registers else None
        places = 0 if self._memory is None else self._memory.places.count
        self._make_keys(places)
        self._way, self._walk = (np.empty(DEEPEST, dtype=np.int64) for _ in range(2))
        self._selected = np.empty((1, 0), dtype=np.int64)
        pending, depth, path = (np.empty(256, dtype=np.int64) for _ in range(3))
        self._stack = Stack(pending, depth, path)
        second = self.plan.window.events is not None and self.plan.window.ticks(tick) is not None
        return new_arena(FIRST_NODES, second=second, registers=places), self._memory

    def _make_keys(self, places: int) -> None:
        """Room for the keys of runs."""
        self._first, self._last = (np.empty(places, dtype=np.int64) for _ in range(2))
        self._spine = Spine(
            np.empty((DEEPEST, places + 1), dtype=np.int64),
            np.empty(DEEPEST, dtype=np.int64),
            np.empty(DEEPEST, dtype=np.int64),
        )

    @property
    def reach(self) -> Positions | None:
        """How far the floats reach that registers can add up; None where the query has no registers."""
        return None if self._memory is None else self._memory.places.reach

    def make_places(self, reach: Positions) -> None:
        """Makes room in the registers for sums of floats that reach so far."""
        assert self._memory is not None
        if (reach == self._memory.places.reach).all():
            return
        used = int(self.arena.used[USED])
        keys = self._memory.moved(reach, self.arena.values[:used])
        room = len(self.arena.node)
        values = np.empty((room, keys.shape[1]), dtype=np.int64)
        values[:used] = keys
        self.arena = self.arena._replace(values=values)
        self._make_keys(self._memory.places.count)

    def step(self, batch: Batch, report_from: int = 0) -> ComplexEvents:
        """The matches that end in the batch, at the position `report_from` or later."""
        return concatenated(self.parts(batch, report_from), self.plan.marks)

    def parts(self, batch: Batch, report_from: int = 0) -> Iterator[ComplexEvents]:
        """The same in parts, as many matches at a time as one buffer holds; all of them must be asked for."""
        self.grow_partitions(len(self._reader.keys) if self.rules.keyed else 1)
        self.progress[stepping.CURSOR] = 0
        self.began_empty = not self.arena.used[USED]
        self._forecast.begin()
        batch = batch._replace(report_from=report_from)
        if self.windows is not None:
            self.windows.begin(batch.folded, batch.base, len(self.partitions.configuration))
        given = 0
        while True:
            status = self.advance(batch)
            if status == stepping.DONE:
                break
            if status != stepping.NEEDS_OUTPUT:
                self.provide(status, batch)
                continue
            expected = self._forecast.look(self, batch, given + self._output.written)
            piece = self._output.renewed(expected)
            if piece is not None:
                given += piece.nbytes
                yield self._events_of(piece)
        if len(batch.times):
            self.latest = int(batch.times[-1])
        last = self._output.taken()
        if len(last.start):
            yield self._events_of(last)
        if self.windows is not None and self.windows.finish():
            self.collect(batch.base + len(batch.folded.numbers.begins))
            self.windows.keep_begun(self.begun())

    def _events_of(self, piece: Piece) -> ComplexEvents:
        if self.windows is None or self.plan.spans is None:
            return ComplexEvents((piece,), self.plan.marks)
        computed = replace(piece, computed=self.windows.over(piece))
        return ComplexEvents((computed,), self.plan.marks, self.plan.spans.variable)

    def present_end(self, batch: Batch, position: int) -> End:
        """Where the matches are that end at the event at which the evaluator has stopped to report them."""
        row, tables = int(self.progress[stepping.CURSOR]), self.programs.tables()
        k = int(batch.partitions[row]) if self.rules.keyed else 0
        program = tables.programs[tables.program[self.partitions.configuration[k], batch.classes[row]]]
        first, last = int(program[stepping.FIRST_REPORT]), int(program[stepping.LAST_REPORT])
        if self._memory is None:
            return End(tables.reports, first, last, self.partitions.slots, k, position)
        return End(self._memory.ends, first, last, self._selected, 0, position)

    def present_lows(self, batch: Batch, position: int) -> tuple[int, int]:
        """The earliest stamps of a run that the window still holds at that event."""
        rules, row = self.rules, int(self.progress[stepping.CURSOR])
        k = int(batch.partitions[row]) if rules.keyed else 0
        rank = int(self.partitions.count[k]) if rules.counted else position
        by_events = stepping.NO_BOUND if rules.events == stepping.NO_BOUND else rank - rules.events + 1
        if rules.ticks == stepping.NO_BOUND:
            return by_events, stepping.NO_BOUND
        return max(int(batch.times[row]) - rules.ticks, stepping.NO_BOUND), by_events

    def begun(self) -> Positions:
        """The positions of the events in the match structure, in stream order; of windows, where they begin."""
        nodes = self.arena.node[: int(self.arena.used[USED])]
        return np.unique(nodes[nodes[:, EVENT] >= 0, EVENT] >> MARK_BITS)

    def started(self) -> Positions:
        """The positions of the events with which open runs began."""
        nodes = self.arena.node[: int(self.arena.used[USED])]
        return np.unique(nodes[(nodes[:, CHILD] == NOTHING) & (nodes[:, EVENT] >= 0), EVENT] >> MARK_BITS)

    @property
    def nodes(self) -> int:
        """How many nodes the match structure holds now."""
        return int(self.arena.used[USED])

    def advance(self, batch: Batch, counts: Counts | None = None) -> int:
        """Goes on until the batch is done, or something is missing that `provide` makes."""
        if len(self._scratch) < self.partitions.slots.shape[1]:
            self._scratch = np.empty(self.partitions.slots.shape[1], dtype=np.int64)
        return self._advance(batch, counts)

    def _advance(self, batch: Batch, counts: Counts | None) -> int:
        if self._memory is not None:
            self.make_places(batch.reach)
        room = len(self.arena.node)
        if self._seen is not None and len(self._seen) < room:
            self._seen = np.zeros(room, dtype=np.int64)
        if self._ladder is not None and len(self._ladder) < room:
            self._ladder = np.empty((room, LADDER), dtype=np.int64)
            self.progress[stepping.RUNGS] = 0
        if counts is not None:
            if len(self._paths) < room:
                self._paths = np.empty((room, 2))
                self.progress[stepping.COUNTED] = 0
            counts = counts._replace(paths=self._paths)
        status: int = evaluate.advance(
            self.programs.tables(),
            # They are part of what is remembered, or not for this kernel.
            batch._replace(columns=None, folded=None, reach=None, weights=None),
            self.rules,
            State(self.arena, self.partitions, self._scratch, self.progress, self._stack, self._output.arrays),
            True if self._memory is None else None,
            self._what_is_remembered(batch),
            self._reporting(counts, batch),
        )
        return status

    def _reporting(self, counts: Counts | None, batch: Batch) -> Reporting:
        if counts is not None:
            return Reporting(None, None, None, None, counts)
        if self._seen is not None:
            return Reporting(None, None, None, self._seen, None)
        if self.weights is not None:
            bounds = self.weights.bounds(batch.weights, len(self.arena.node), len(self._stack.path))
            return Reporting(None, None, None, None, None, bounds)
        every = self.rules.limit if self._choice is None else None
        return Reporting(every, self._choice, self._ladder, None, None)

    def _what_is_remembered(self, batch: Batch) -> RegisterData | None:
        """What runs with registers need; None where the query has none."""
        if self._memory is None:
            return None
        if self._selected.shape[1] < self._memory.most_reports:
            self._selected = np.empty((1, self._memory.most_reports), dtype=np.int64)
        return RegisterData(
            self._memory.moves,
            self._memory.reports,
            self._memory.ends,
            self._memory.actions,
            self._memory.formulas,
            batch.columns,
            self._selected,
            self._memory.key,
            self._first,
            self._last,
            self._way,
            self._walk,
            self._spine if self._memory.merges else None,
            self._memory.places.owner,
            self._memory.totals,
        )

    def provide(self, status: int, batch: Batch) -> None:
        """Makes what the evaluator stopped for, other than room for its output."""
        match status:
            case stepping.NEEDS_PROGRAM:
                self._learn(batch)
            case stepping.NEEDS_NODES:
                self._make_room(batch)
            case stepping.NEEDS_STACK:
                self._deepen()
            case stepping.TOO_MANY:
                raise self._holder.budget.refused(Large.JUDGED, MOST_CANDIDATES)

    def _deepen(self) -> None:
        self._stack = Stack(*(np.concatenate([part, np.empty_like(part)]) for part in self._stack))
        if self.weights is not None:
            self.weights.forget()

    def _learn(self, batch: Batch) -> None:
        cursor = self.progress[stepping.CURSOR]
        k = batch.partitions[cursor] if self.rules.keyed else 0
        if self.programs.full:
            self.partitions.configuration[:] = self.programs.forget(self.partitions.configuration)
        try:
            self.programs.learn(int(self.partitions.configuration[k]), int(batch.classes[cursor]))
        except TooManyStates:
            raise self._holder.budget.refused(Large.PROGRAMS, MOST_STATES) from None
        if self.programs.nbytes > _FEW_BYTES:
            self._holder.hold(Large.PROGRAMS, self.programs.nbytes, len(self.programs.configurations))
        self.grow_partitions(len(self.partitions.configuration))

    def _make_room(self, batch: Batch) -> None:
        """Drops the nodes that no window holds any more; where that is not enough, makes the structure larger."""
        cursor = int(self.progress[stepping.CURSOR])
        if len(batch.times):
            self.latest = int(batch.times[cursor])
        self.collect(int(batch.positions[cursor]) if len(batch.positions) else batch.base + cursor)
        used, room = int(self.arena.used[USED]), len(self.arena.node)
        # Half of the room stays free, and as much as the partitions that each collection looks at, so that it pays.
        needed = max(2 * used, used + int(self.progress[stepping.NEEDED]), 2 * len(self.partitions.configuration))
        if needed > room:
            self.arena = grown(self.arena, self._affordable(needed, 2 * room, used))

    def _affordable(self, needed: int, wanted: int, used: int) -> int:
        """For how many nodes there may be room: as many as are wanted, or at least as many as are needed."""
        each = bytes_a_node(self.arena) + self._bytes_beside()
        old = len(self.arena.node)  # is still there while its nodes are copied
        most = self._holder.room(Large.OPEN) // each - old
        least = used + max(int(self.progress[stepping.NEEDED]), used // 4)
        capacity = next((c for c in (max(needed, wanted), needed) if c <= most), least)
        self._holder.check(Large.OPEN, each * (capacity + old), used)
        self._holder.hold(Large.OPEN, each * capacity, used)
        return capacity

    def _bytes_beside(self) -> int:
        """What is kept of each node beside it, in bytes."""
        weights = 0 if self.weights is None else self.weights.bytes_a_node
        return 8 * self.rules.union + 8 * LADDER * (self._ladder is not None) + weights

    def busy(self, position: int) -> Positions:
        """The partitions with an open run that the next event, at this position, could still extend.

        The others need not be known: whatever was counted in them concerned only runs that are gone.
        """
        self.collect(position)
        found: Positions = np.flatnonzero((self.partitions.slots != NOTHING).any(axis=1))
        return found

    def keep(self, kept: Positions) -> None:
        """Keeps only these partitions, numbered anew in this order; nothing was pushed since `busy` was asked."""
        if self.windows is not None:
            self.windows.keep_begun(self.begun())
            self.windows.keep_partitions(kept)
        self.partitions = Partitions(*(part[kept] for part in self.partitions))
        self._hold_partitions()

    def collect(self, position: int) -> None:
        """Keeps only what the next event, at this position, could still be joined with."""
        if self.rules.consume == stepping.CONSUME_ANY:
            self.partitions.slots[self.partitions.epoch != self.progress[stepping.EPOCH]] = NOTHING
        arena = self.arena
        place = np.full(arena.used[USED], NOTHING, dtype=np.int64)
        collect(arena, self.partitions.slots, *self._lows(position), place)
        if self.weights is not None:
            self.weights.moved(arena, place)
        self.progress[[stepping.RUNGS, stepping.COUNTED]] = 0  # the nodes have other numbers now

    def drop_texts(self) -> None:
        """Forgets the texts that no run has stored; those that stay keep their order, so that the trees do."""
        columns = self._reader.columns
        if not columns.textual:
            return
        assert self._memory is not None
        used = int(self.arena.used[USED])
        values = self.arena.values[:used]
        rows = np.flatnonzero(self.arena.node[:used, EVENT] <= TREE)  # other nodes have no values
        places = np.ix_(rows, np.array([self._memory.place(r) for r in sorted(columns.textual)]))
        stored = values[places]
        in_use = np.unique(stored[stored >= LEAST])
        values[places] = np.where(stored >= LEAST, np.searchsorted(in_use, stored), stored)
        columns.texts.keep(in_use)

    def _lows(self, position: int) -> tuple[Positions, Positions]:
        """For each partition the earliest start that its next event could still be reported with."""
        rules, count = self.rules, len(self.partitions.configuration)
        none = np.full(count, stepping.NO_BOUND, dtype=np.int64)
        ranks = self.partitions.count if rules.counted else np.full(count, position, dtype=np.int64)
        by_events = none if rules.events == stepping.NO_BOUND else ranks - rules.events + 1
        if rules.ticks == stepping.NO_BOUND:
            return by_events, none
        earliest = max(self.latest - rules.ticks, stepping.NO_BOUND)
        return np.full(count, earliest, dtype=np.int64), by_events

    def grow_partitions(self, count: int) -> None:
        """Room for so many partitions, and for as many slots as a configuration has."""
        old = self.partitions
        rows, width = old.slots.shape
        if count <= rows and self.programs.width <= width:
            return
        more = max(count, 2 * rows) - rows if count > rows else 0
        slots = np.full((rows + more, max(width, self.programs.width)), NOTHING, dtype=np.int64)
        slots[:rows, :width] = old.slots
        self.partitions = Partitions(
            np.concatenate([old.configuration, np.zeros(more, dtype=np.int32)]),
            slots,
            np.concatenate([old.count, np.zeros(more, dtype=np.int64)]),
            np.concatenate([old.epoch, np.zeros(more, dtype=np.int64)]),
        )
        self._hold_partitions()

    def _hold_partitions(self) -> None:
        size = sum(part.nbytes for part in self.partitions)
        # What the keys are is the reader's, which several evaluators may share.
        keys = self._reader.keys.nbytes if self.rules.share == 0 else 0
        if size + keys > _FEW_BYTES:
            self._holder.hold(Large.KEYS, 2 * size + keys, len(self.partitions.configuration))


def _choice_of(plan: Plan) -> Choice | None:
    """The choice that the selector leaves for the end of a match."""
    if plan.chooses is None:
        return None
    hidden = plan.marks.index(_HIDDEN) if _HIDDEN in plan.marks else 0
    largest = True if plan.chooses is ast.Selector.MAX else None
    return Choice(CHOOSE[plan.chooses], largest, hidden, 0 if plan.judged else plan.limit or 0)
