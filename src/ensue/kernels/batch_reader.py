"""What evaluators step over: events as classes, numbers of partitions and times, without those that change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ensue.automata.determinize import Determinizer
from ensue.data.events import EventStream, integers, one_chunk
from ensue.kernels.classes import Classes, Classifier, Codes, take_busy
from ensue.kernels.jit import read_only
from ensue.kernels.keys import KeyNumbers
from ensue.kernels.match_weights import weights_of
from ensue.kernels.register_columns import RegisterColumns
from ensue.kernels.register_programs import RegisterPrograms
from ensue.kernels.segment_lanes import FoldedColumns
from ensue.kernels.segments import FoldedEvents
from ensue.kernels.stepping import Batch
from ensue.kernels.window_segments import AllEvents
from ensue.plan import Plan

if TYPE_CHECKING:
    from ensue.kernels.lane_columns import WeightColumns

Positions = npt.NDArray[np.int64]
_NOTHING = np.zeros(0, dtype=np.int64)


class Reader:
    """Turns events into what evaluators step over: classes, partition numbers, times.

    Events that change nothing, whatever runs are open, are left out, unless a window counts them in their partition.
    """

    def __init__(self, plan: Plan, tick: int | None, given: int = 0) -> None:
        self.keys = KeyNumbers(plan.keys)
        self.classifier = Classifier(plan.predicates, given, tick, plan.guards)
        self._determinizer = Determinizer(plan.automaton, plan.predicates, plan.marks, plan.actions)
        self.columns = RegisterColumns(RegisterPrograms(plan), tick)
        self._remembers = bool(plan.automaton.registers)
        self._plan, self._tick, self._given = plan, tick, given
        self._latest: tuple[EventStream, int] | None = None  # what was read last, and its first position
        self._timed = plan.on_one_clock or plan.window.ticks(tick) is not None or self.classifier.needs_times
        self._counted = counts_by_key(plan)
        self._idle = np.zeros(0, dtype=np.bool_)  # of each class
        self._begins = np.zeros(0, dtype=np.bool_)  # of each class: whether a run may start
        self.folded = None if plan.spans is None else FoldedColumns(plan.spans.folded)
        self.weights = _weights_of(plan)
        self._timed |= plan.lanes is not None and plan.lanes.of_times

    def read(self, events: EventStream, base: int) -> Batch:
        """The events as a batch whose first one has the position `base`."""
        self._latest = (events, base)
        keys = self._encode(events, None) if self.keys.attributes and self.classifier.needs_keys else None
        times = events.times if self._timed else _NOTHING
        types = one_chunk(events.types)
        codes, class_of = self.classifier.classify(events.table, types, keys, events.predicate_bits, times)
        if self.folded is not None and self.keys.attributes and keys is None:
            keys = self._encode(events, None)
        folded: Any = None if self.folded is None else self._folded(events, class_of[codes], keys)
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
        columns = self.columns.of(events, kept) if self._remembers else None
        reach = self.columns.reach if self._remembers else None
        if self.weights is not None:
            folded = self.weights.of(events, kept)
        parts = (read_only(classes), read_only(keys), read_only(times), read_only(positions), base, columns, folded)
        weights = None
        if self._plan.bounds:
            table = events.table if kept is None else events.table.take(integers(kept))
            weights = weights_of(self._plan.bounds, self._plan.marks, table)
        return Batch(*parts, reach=reach, weights=weights)

    def _folded(self, events: EventStream, classes: Classes, keys: Positions | None) -> AllEvents:
        """All events, as far as they are folded over windows."""
        assert self.folded is not None
        new = self.classifier.words[len(self._begins) :]
        self._begins = np.append(self._begins, [self._determinizer.moves(0, word) for word in new]).astype(np.bool_)
        numbers, known = self.folded.of(events)
        partitions = _NOTHING if keys is None else keys
        begins = self._begins[classes]
        folded = FoldedEvents(read_only(numbers), read_only(known), read_only(partitions), begins)
        return AllEvents(folded, self.folded.own(events))

    def read_again(self, most: int) -> tuple[Reader, Batch] | None:
        """The first of the events that were read last, by a reader of the plan with registers; None if it cannot."""
        if self._latest is None or self._given:
            return None
        events, base = self._latest
        if base and self.classifier.needs_keys:
            return None  # a new reader does not know what came before
        reader = Reader(self._plan.with_registers, self._tick)
        return reader, reader.read(events.slice(0, most), base)

    def _encode(self, events: EventStream, kept: Positions | None) -> Positions:
        return self.keys.encode([one_chunk(events.table.column(a)) for a in self.keys.attributes], kept)

    def _busy(
        self, codes: Codes, class_of: Classes, times: Positions, base: int
    ) -> tuple[Classes, Positions, Positions] | None:
        """The class, position and time of the events that may change something; None if these are nearly all."""
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


def _weights_of(plan: Plan) -> WeightColumns | None:
    """What reads the weights of events, where matches are folded."""
    if plan.lanes is None:
        return None
    from ensue.kernels.lane_columns import WeightColumns

    return WeightColumns(plan.lanes)


def counts_by_key(plan: Plan) -> bool:
    """Whether each partition counts its own events."""
    return bool(plan.keys) and plan.window.events is not None and not plan.counts_all
