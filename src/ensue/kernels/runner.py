"""A running query: batches of events in, matches out, and its state in between.

Whatever the cuts between batches, the matches are the same, in the same order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ensue.automata.build.project import HIDDEN
from ensue.automata.determinize import Determinizer
from ensue.data.complex_events import ComplexEvents, Piece
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, one_chunk
from ensue.errors import EngineError
from ensue.kernels import evaluate
from ensue.kernels.arena import EVENT, MARK_BITS, NOTHING, TREE, USED, Arena, collect, grown, new_arena
from ensue.kernels.classes import Classes, Classifier, Codes, take_busy
from ensue.kernels.compiled import make_ready
from ensue.kernels.earliest import WIDTH as LADDER
from ensue.kernels.evaluate import Batch, Output, Partitions, Rules, Stack
from ensue.kernels.jit import read_only
from ensue.kernels.keys import KeyNumbers
from ensue.kernels.programs import MoveNotes, Programs
from ensue.kernels.register_columns import RegisterColumns
from ensue.kernels.register_programs import RegisterPrograms
from ensue.kernels.register_steps import Memory, Spine
from ensue.kernels.select import CHOOSE, CHOOSE_ALL
from ensue.kernels.value_trees import DEEPEST, LEAST
from ensue.language import ast
from ensue.plan import Plan

Positions = npt.NDArray[np.int64]

_CONSUME = {
    ast.Consume.NONE: evaluate.CONSUME_NONE,
    ast.Consume.PARTITION: evaluate.CONSUME_PARTITION,
    ast.Consume.ANY: evaluate.CONSUME_ANY,
}
_HIDDEN = frozenset({HIDDEN})
_NOTHING = np.zeros(0, dtype=np.int64)
#: How many marked events the matches of one batch may have: some ten gigabytes.
MOST_MARKED = 1 << 29
FIRST_NODES = 1 << 14
_FIRST_OUTPUT = 1 << 16
_MOST_OUTPUT = 1 << 22
#: Below so many keys, those that are idle may stay.
_FEW_KEYS = 1 << 12


class Reader:
    """Turns events into what evaluators step over: classes, partition numbers, times.

    Events that change nothing, whatever runs are open, are left out, unless a window counts them in their partition.
    """

    def __init__(self, plan: Plan, tick: int | None, given: int = 0) -> None:
        self.keys = KeyNumbers(plan.keys)
        self.classifier = Classifier(plan.predicates, given)
        self._determinizer = Determinizer(plan.automaton, plan.predicates, plan.marks, plan.actions)
        self.columns = RegisterColumns(RegisterPrograms(plan), tick)
        self._timed = plan.on_one_clock or plan.window.ticks(tick) is not None
        self._counted = _counted(plan)
        self._idle = np.zeros(0, dtype=np.bool_)  # of each class

    def read(self, events: EventStream, base: int) -> Batch:
        """The events as a batch whose first one has the position `base`."""
        keys = self._encode(events, None) if self.keys.attributes and self.classifier.needs_keys else None
        codes, class_of = self.classifier.classify(events.table, one_chunk(events.types), keys, events.words)
        times = events.times if self._timed else _NOTHING
        busy = None if self._counted else self._busy(codes, class_of, times, base)
        kept = None
        if busy is not None:
            classes, positions, times = busy
            kept = positions - base
            if self.keys.attributes:
                keys = self._encode(events, kept) if keys is None else keys[kept]
        else:
            classes, positions = class_of[codes], _NOTHING
            keys = self._encode(events, None) if self.keys.attributes and keys is None else keys
        keys = _NOTHING if keys is None else keys
        columns = self.columns.of(events, kept)
        return Batch(read_only(classes), read_only(keys), read_only(times), read_only(positions), base, columns)

    def _encode(self, events: EventStream, kept: Positions | None) -> Positions:
        return self.keys.encode([one_chunk(events.table.column(a)) for a in self.keys.attributes], kept)

    def _busy(
        self, codes: Codes, class_of: Classes, times: Positions, base: int
    ) -> tuple[Classes, Positions, Positions] | None:
        """The class, position and time of events that may change something; None where leaving others out pays not."""
        new = self.classifier.words[len(self._idle) :]
        if new:
            self._idle = np.append(self._idle, [self._determinizer.idle(word) for word in new])
        if not self._idle[class_of].any():
            return None
        classes = np.empty(len(codes), dtype=np.uint16)
        positions, at = np.empty(len(codes), dtype=np.int64), np.empty(len(times), dtype=np.int64)
        inputs = (read_only(codes), class_of, self._idle, read_only(times), base)
        count = take_busy(*inputs, classes, positions, at)
        # An empty list of positions says that none were left out, so one event stays.
        if not 0 < count < 0.8 * len(codes):
            return None
        return classes[:count], positions[:count], at[:count]


class Evaluator:
    """Steps over batches and keeps the partial matches. Several can share one reader, each with its own part.

    `share` and `shares`: of a query with partitions, only those whose number leaves this remainder are evaluated;
    `shares` is a power of two. With `union` the matches of an end are found as one, which has all their events.
    """

    kernel = "evaluate.advance"

    def __init__(
        self,
        plan: Plan,
        tick: int | None,
        reader: Reader,
        *,
        share: int = 0,
        shares: int = 1,
        configurations: int = 4096,
        union: bool = False,
    ) -> None:
        make_ready(self.kernel)
        self.plan = plan
        self._reader = reader
        self._determinizer = Determinizer(plan.automaton, plan.predicates, plan.marks, plan.actions)
        ticks = plan.window.ticks(tick)
        self.arena, noted = self._prepare(tick)
        self.programs = Programs(self._determinizer, reader.classifier.words, configurations, noted)
        self.rules = Rules(
            keyed=bool(plan.keys),
            counted=_counted(plan),
            share=share,
            share_mask=shares - 1,
            events=evaluate.NO_BOUND if plan.window.events is None else plan.window.events,
            ticks=evaluate.NO_BOUND if ticks is None else ticks,
            limit=0 if plan.judged else plan.limit or 0,
            consume=_CONSUME[plan.consume],
            choose=CHOOSE[plan.chooses],
            earliest=plan.chooses_earliest,
            hidden=plan.marks.index(_HIDDEN) if _HIDDEN in plan.marks else 0,
            union=union,
        )
        self._scratch = np.empty(0, dtype=np.int64)
        self.partitions = Partitions(_NOTHING.astype(np.int32), np.zeros((0, 1), dtype=np.int64), _NOTHING, _NOTHING)
        self.progress = np.zeros(evaluate.PROGRESS, dtype=np.int64)
        self.progress[evaluate.NODE] = NOTHING
        self.latest = int(evaluate.NO_BOUND)  # the time of the last event seen
        self._output = _new_output(_FIRST_OUTPUT)

    def _prepare(self, tick: int | None) -> tuple[Arena, MoveNotes | None]:
        """Makes the match structure and what belongs to it, and what is noted of moves beside their sources."""
        registers = len(self.plan.automaton.registers)
        self._memory = RegisterPrograms(self.plan) if registers else None
        self._key, self._first, self._last = (np.empty(registers, dtype=np.int64) for _ in range(3))
        self._way, self._walk = (np.empty(DEEPEST, dtype=np.int64) for _ in range(2))
        self._spine = Spine(
            np.empty((DEEPEST, registers + 1), dtype=np.int64),
            np.empty(DEEPEST, dtype=np.int64),
            np.empty(DEEPEST, dtype=np.int64),
        )
        self._selected = np.empty((1, 0), dtype=np.int64)
        pending, depth, path = (np.empty(256, dtype=np.int64) for _ in range(3))
        self._stack = Stack(pending, depth, path, seen=_NOTHING, ladder=np.zeros((0, LADDER), dtype=np.int64))
        second = self.plan.window.events is not None and self.plan.window.ticks(tick) is not None
        return new_arena(FIRST_NODES, second=second, registers=registers), self._memory

    def step(self, batch: Batch, report_from: int = 0) -> ComplexEvents:
        """The matches that end in the batch, at the position `report_from` or later."""
        self._grow_partitions(len(self._reader.keys) if self.rules.keyed else 1)
        self.progress[evaluate.CURSOR] = 0
        pieces: list[Piece] = []
        while True:
            if len(self._scratch) < self.partitions.slots.shape[1]:
                self._scratch = np.empty(self.partitions.slots.shape[1], dtype=np.int64)
            status = self._advance(batch, report_from)
            if status == evaluate.DONE:
                break
            self._provide(status, batch, pieces)
        if len(batch.times):
            self.latest = int(batch.times[-1])
        pieces.append(self._take_output())
        return ComplexEvents(tuple(pieces), self.plan.marks)

    def _advance(self, batch: Batch, report_from: int) -> int:
        if self.rules.union and len(self._stack.seen) < len(self.arena.node):
            self._stack = self._stack._replace(seen=np.zeros(len(self.arena.node), dtype=np.int64))
        if self.rules.earliest and len(self._stack.ladder) < len(self.arena.node):
            self._stack = self._stack._replace(ladder=np.empty((len(self.arena.node), LADDER), dtype=np.int64))
            self.progress[evaluate.RUNGS] = 0
        status: int = evaluate.advance(
            self.programs.tables(),
            self.arena,
            self.partitions,
            self._scratch,
            self._stack,
            self._output,
            self.progress,
            batch,
            self.rules,
            report_from,
            self._what_is_remembered(batch),
        )
        return status

    def _what_is_remembered(self, batch: Batch) -> Memory | None:
        """What runs with registers need; None where the query has none."""
        if self._memory is None:
            return None
        if self._selected.shape[1] < self._memory.most_reports:
            self._selected = np.empty((1, self._memory.most_reports), dtype=np.int64)
        return Memory(
            self._memory.moves,
            self._memory.reports,
            self._memory.places,
            self._memory.actions,
            self._memory.formulas,
            batch.columns,
            self._selected,
            self._key,
            self._first,
            self._last,
            self._way,
            self._walk,
            self._spine,
        )

    def _provide(self, status: int, batch: Batch, pieces: list[Piece]) -> None:
        """Makes what the evaluator stopped for."""
        match status:
            case evaluate.NEEDS_PROGRAM:
                self._learn(batch)
            case evaluate.NEEDS_NODES:
                self._make_room(batch)
            case evaluate.NEEDS_OUTPUT:
                self._check_output(pieces)
                self._renew_output(pieces)
            case evaluate.NEEDS_STACK:
                self._deepen()

    def _deepen(self) -> None:
        node, depth, path = (np.concatenate([part, np.empty_like(part)]) for part in self._stack[:3])
        self._stack = self._stack._replace(node=node, depth=depth, path=path)

    def _check_output(self, pieces: list[Piece]) -> None:
        """Refuses more than memory can be expected to hold, while there is still some left to say so."""
        written = int(self.progress[evaluate.POSITIONS])
        if written + sum(len(p.position) for p in pieces) > MOST_MARKED:
            if self.rules.union:
                raise EngineError(
                    f"more than {MOST_MARKED:,} events took part in the matches that end at those of one batch: bound "
                    "them with WITHIN"
                )
            matches = int(self.progress[evaluate.MATCHES]) + sum(len(p.start) for p in pieces)
            raise EngineError(
                f"one batch of events has more than {matches:,} matches: bound them with WITHIN, with LIMIT, or with a "
                "selector such as SELECT NEXT"
            )

    def _learn(self, batch: Batch) -> None:
        cursor = self.progress[evaluate.CURSOR]
        k = batch.partitions[cursor] if self.rules.keyed else 0
        if self.programs.full:
            self.partitions.configuration[:] = self.programs.forget(self.partitions.configuration)
        self.programs.learn(int(self.partitions.configuration[k]), int(batch.classes[cursor]))
        self._grow_partitions(len(self.partitions.configuration))

    def _make_room(self, batch: Batch) -> None:
        """Drops the nodes that no window holds any more; where that is not enough, makes the structure larger."""
        cursor = int(self.progress[evaluate.CURSOR])
        if len(batch.times):
            self.latest = int(batch.times[cursor])
        self.collect(int(batch.positions[cursor]) if len(batch.positions) else batch.base + cursor)
        used, room = int(self.arena.used[USED]), len(self.arena.node)
        # Half of the room stays free, and as much as the partitions that each collection looks at, so that it pays.
        needed = max(2 * used, used + int(self.progress[evaluate.NEEDED]), 2 * len(self.partitions.configuration))
        if needed > room:
            self.arena = grown(self.arena, max(needed, 2 * room))

    def busy(self, position: int) -> Positions:
        """The partitions with an open run that the next event, at this position, could still extend.

        The others need not be known: whatever was counted in them concerned only runs that are gone.
        """
        self.collect(position)
        found: Positions = np.flatnonzero((self.partitions.slots != NOTHING).any(axis=1))
        return found

    def keep(self, kept: Positions) -> None:
        """Keeps only these partitions, numbered anew in this order."""
        self.partitions = Partitions(*(part[kept] for part in self.partitions))

    def collect(self, position: int) -> None:
        """Keeps only what the next event, at this position, could still be joined with."""
        if self.rules.consume == evaluate.CONSUME_ANY:
            self.partitions.slots[self.partitions.epoch != self.progress[evaluate.EPOCH]] = NOTHING
        arena = self.arena
        collect(arena.node, arena.second, arena.used, arena.values, self.partitions.slots, *self._lows(position))
        self.progress[evaluate.RUNGS] = 0  # the nodes have other numbers now

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
        none = np.full(count, evaluate.NO_BOUND, dtype=np.int64)
        ranks = self.partitions.count if rules.counted else np.full(count, position, dtype=np.int64)
        by_events = none if rules.events == evaluate.NO_BOUND else ranks - rules.events + 1
        if rules.ticks == evaluate.NO_BOUND:
            return by_events, none
        earliest = max(self.latest - rules.ticks, evaluate.NO_BOUND)
        return np.full(count, earliest, dtype=np.int64), by_events

    def _grow_partitions(self, count: int) -> None:
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

    def _renew_output(self, pieces: list[Piece]) -> None:
        """Hands over what is written, or takes a larger buffer. The candidates of a choice to come stay together."""
        old, matches, events = self._output, *(int(self.progress[r]) for r in (evaluate.MATCHES, evaluate.POSITIONS))
        candidates = int(self.progress[evaluate.REPORTED]) if self.rules.choose != CHOOSE_ALL else 0
        done = matches - candidates
        first = int(old.offset[done])
        size = 2 * len(old.position)
        if done:
            self.progress[[evaluate.MATCHES, evaluate.POSITIONS]] = done, first
            pieces.append(self._take_output())
            size = max(min(size, _MOST_OUTPUT), 2 * (events - first), 4 * candidates)
        self._output = new = _new_output(size)
        new.start[:candidates] = old.start[done:matches]
        new.end[:candidates] = old.end[done:matches]
        new.offset[: candidates + 1] = old.offset[done : matches + 1] - first
        new.position[: events - first] = old.position[first:events]
        new.mark[: events - first] = old.mark[first:events]
        self.progress[[evaluate.MATCHES, evaluate.POSITIONS]] = candidates, events - first

    def _take_output(self) -> Piece:
        """What was written so far. Full buffers are handed over, small ones copied and used again."""
        matches, events = (int(self.progress[r]) for r in (evaluate.MATCHES, evaluate.POSITIONS))
        out = self._output
        self.progress[[evaluate.MATCHES, evaluate.POSITIONS]] = 0
        whole = Piece(out.start, out.end, out.offset, out.position, out.mark)
        if 2 * events > len(out.position):
            self._output = _new_output(len(out.position))
            return whole.first(matches)
        return whole.first(matches).copy()


def evaluator_of(
    plan: Plan,
    tick: int | None,
    reader: Reader,
    *,
    share: int = 0,
    shares: int = 1,
    configurations: int = 4096,
    union: bool = False,
) -> Evaluator:
    """The evaluator for a plan; see `Evaluator`."""
    from ensue.kernels.clock_evaluator import ClockEvaluator

    kind = ClockEvaluator if plan.on_one_clock else Evaluator
    return kind(plan, tick, reader, share=share, shares=shares, configurations=configurations, union=union)


class Runner:
    """One query over one stream that arrives in batches. `push` gives the matches that end in each.

    `given`: the bits of the predicates that come evaluated with the events, in `EventStream.words`. With `union` the
    matches of an end are found as one, which has all their events.
    """

    def __init__(
        self, plan: Plan, tick: int | None, *, given: int = 0, configurations: int = 4096, union: bool = False
    ) -> None:
        plan = plan.with_registers if union else plan
        self.plan = plan
        self.reader = Reader(plan, tick, given)
        self.evaluator = evaluator_of(plan, tick, self.reader, configurations=configurations, union=union)
        self.position = 0
        self._kept = (0, 0)  # how many keys and texts stayed when idle ones were last dropped

    def push(self, events: EventStream) -> ComplexEvents:
        """The matches that end in these events, which follow those of earlier calls."""
        found = self.evaluator.step(self.reader.read(events, self.position))
        self.position += len(events)
        known = (len(self.reader.keys), len(self.reader.columns.texts))
        if any(n > max(2 * kept, _FEW_KEYS) for n, kept in zip(known, self._kept, strict=True)):
            self.drop_idle()
        return found

    def pass_time(self, time: int) -> None:
        """No later event is before this time: what windows have left behind by then goes."""
        self.evaluator.latest = max(self.evaluator.latest, time)
        self.drop_idle()

    @property
    def next_due(self) -> None:
        """Every match is reported at its end: none waits for a time."""

    def drop_idle(self) -> None:
        """Forgets the keys that have no open run, unless what their next event is depends on earlier ones.

        It forgets the texts that no run has stored, too.
        """
        if self.evaluator.rules.keyed and not self.reader.classifier.needs_keys:
            busy = self.evaluator.busy(self.position)
            if len(busy) < len(self.reader.keys):
                self.reader.keys.keep(busy)
                self.evaluator.keep(busy)
        else:
            self.evaluator.collect(self.position)
        self.evaluator.drop_texts()
        self._kept = (len(self.reader.keys), len(self.reader.columns.texts))

    @property
    def nodes(self) -> int:
        """How many nodes the match structure holds now."""
        return int(self.evaluator.arena.used[USED])

    def referenced(self) -> Positions:
        """The positions of the events that matches of later batches can still speak of, in stream order."""
        self.evaluator.collect(self.position)
        used = int(self.evaluator.arena.used[USED])
        nodes = self.evaluator.arena.node[:used]
        events = nodes[nodes[:, EVENT] >= 0, EVENT]
        return np.unique(events >> MARK_BITS)

    def save(self) -> Parts:
        """The state between two batches; `load` goes on from it exactly."""
        from ensue.kernels.state import save

        return save(self)

    def load(self, parts: Parts) -> None:
        """Takes over a state that a runner of the same plan saved."""
        from ensue.kernels.state import load

        load(self, parts)
        self._kept = (len(self.reader.keys), len(self.reader.columns.texts))


def _counted(plan: Plan) -> bool:
    """Whether each partition counts its own events."""
    return bool(plan.keys) and plan.window.events is not None and not plan.counts_all


def _new_output(events: int) -> Output:
    matches = max(events // 2, 1)
    return Output(
        start=np.empty(matches, dtype=np.int64),
        end=np.empty(matches, dtype=np.int64),
        offset=np.zeros(matches + 1, dtype=np.int64),
        position=np.empty(events, dtype=np.int64),
        mark=np.empty(events, dtype=np.uint16),
    )
