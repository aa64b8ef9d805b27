"""Absence with a deadline: a match waits until it is known that nothing has followed it in time.

    A AS a ; NOT B WITHIN 10 min

Whether something followed depends on where a match ends, and on nothing else of it. So the matches of `A` are found as
always, with what chooses among those of one end; and of each it is asked when the next `B` came.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.complex_events import ComplexEvents, Piece, joined
from ensue.data.envelope import parcel, table_bytes, table_of, unparcel
from ensue.data.events import EventStream, integers, numbers, one_chunk
from ensue.data.partitions import Codes, key_codes, partition_codes
from ensue.logic.window import Window
from ensue.plan import Absence, Plan

if TYPE_CHECKING:
    from ensue.kernels.classes import Classifier
    from ensue.results.running_query import Engine

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_NEVER = np.iinfo(np.int64).max


def surviving(found: ComplexEvents, plan: Plan, stream: EventStream) -> ComplexEvents:
    """The matches of a whole stream that nothing followed in time, as far as time has passed their deadlines."""
    if plan.absence is None or not len(found):
        return found
    deadline = _Deadline(plan.absence, stream.tick)
    codes = partition_codes(stream, [k.attribute for k in plan.query.partition])
    times = stream.times[found.end]
    followed = deadline.followed(codes[found.end], found.end, times, codes, stream)
    return found.in_order(np.flatnonzero(~followed & deadline.passed(times, int(stream.times[-1]))))


class _Deadline:
    """What must not follow, and in how many ticks; None where it may come at any time."""

    def __init__(self, absence: Absence, tick: int | None) -> None:
        self._absence = absence
        self.wait = Window(time=absence.deadline.high).ticks(tick)

    def passed(self, times: Positions, now: int | Positions) -> Mask:
        """Whether the deadlines of what ended at these times have passed now."""
        if self.wait is None:
            return np.zeros(len(times), dtype=np.bool_)
        # Between times that are far apart lie more than 63 bits of ticks, and no more than 64.
        since = np.asarray(now, dtype=np.int64).view(np.uint64) - times.view(np.uint64)
        mask: Mask = (now >= times) & (since > np.uint64(self.wait))
        return mask

    def followed(self, keys: Codes, ends: Positions, times: Positions, codes: Codes, events: EventStream) -> Mask:
        """Whether one of the events, with these codes of their keys, is absent and comes in time after these ends.

        An end that lies before all of the events is -1.
        """
        absent = np.flatnonzero(self._absent(events))
        size = len(events) + 1
        places = np.sort(codes[absent] * size + absent + 1)
        after = np.append(places, _NEVER)[np.searchsorted(places, keys * size + ends + 1, side="right")]
        same = after // size == keys
        mask: Mask = same & ~self.passed(times, events.times[np.where(same, after % size - 1, 0)])
        return mask

    @cached_property
    def _classifier(self) -> Classifier:
        from ensue.kernels.classes import Classifier  # numba is loaded where it is used

        return Classifier(self._absence.predicates)

    def _absent(self, events: EventStream) -> Mask:
        """The events that must not follow."""
        codes, class_of = self._classifier.classify(events.table, one_chunk(events.types), None)
        held = np.array([self._absence.holds(word) for word in self._classifier.words], dtype=np.bool_)
        mask: Mask = held[class_of[codes]]
        return mask


@dataclass(frozen=True)
class _Waiting:
    """Matches whose deadlines have not passed, in the order of their ends: these times, and the keys' values."""

    found: ComplexEvents
    times: Positions
    keys: pa.Table

    def some(self, mask: Mask) -> _Waiting:
        chosen = np.flatnonzero(mask)
        return _Waiting(self.found.in_order(chosen), self.times[chosen], self.keys.take(integers(chosen)))

    @property
    def positions(self) -> Positions:
        return np.concatenate([self.found.start, self.found.end, self.found.position])


class DeadlineRunner:
    """Finds the matches by another engine, and reports each when time has passed its deadline."""

    def __init__(self, engine: Engine, plan: Plan, tick: int | None) -> None:
        assert plan.absence is not None
        self._engine = engine
        self._sets = plan.marks
        self._keys = [k.attribute for k in plan.query.partition]
        self._deadline = _Deadline(plan.absence, tick)
        self._waiting: _Waiting | None = None
        self._position = 0

    @property
    def nodes(self) -> int:
        return self._engine.nodes + (0 if self._waiting is None else len(self._waiting.found))

    @property
    def next_due(self) -> int | None:
        """The time by which the next deadline has passed; None where nothing waits for one."""
        if self._waiting is None or not len(self._waiting.found) or self._deadline.wait is None:
            return None
        return int(self._waiting.times[0]) + self._deadline.wait + 1

    def push(self, events: EventStream) -> ComplexEvents:
        """The matches whose deadline passes in these events."""
        found = self._engine.push(events)
        base, self._position = self._position, self._position + len(events)
        if self._deadline.wait is None or not len(events):
            return ComplexEvents((), self._sets)  # a deadline beyond all time never passes
        new = _Waiting(found, events.times[found.end - base], self._keys_of(events).take(integers(found.end - base)))
        old = new.some(np.zeros(len(found), np.bool_)) if self._waiting is None else self._waiting
        both = _Waiting(
            joined([old.found, new.found], self._sets),
            np.concatenate([old.times, new.times]),
            pa.concat_tables([old.keys, new.keys]),
        )
        ends = np.concatenate([np.full(len(old.found), -1), found.end - base])
        codes = _codes([both.keys, self._keys_of(events)])
        followed = self._deadline.followed(codes[0], ends, both.times, codes[1], events)
        self._waiting = both.some(~followed)
        return self._due(int(events.times[-1]))

    def pass_time(self, time: int) -> ComplexEvents | None:
        self._engine.pass_time(time)
        return self._due(time)

    def _due(self, time: int) -> ComplexEvents:
        if self._waiting is None:
            return ComplexEvents((), self._sets)
        due = self._deadline.passed(self._waiting.times, time)
        found = self._waiting.some(due).found
        self._waiting = self._waiting.some(~due)
        return found

    def _keys_of(self, events: EventStream) -> pa.Table:
        # A table of no columns has no rows: one that is always there keeps their number.
        rows = integers(np.zeros(len(events), dtype=np.int64))
        return pa.table({"\0": rows, **{k: _plain(events.table.column(k)) for k in self._keys}})

    def referenced(self) -> Positions:
        waiting = [] if self._waiting is None else [self._waiting.positions]
        return np.unique(np.concatenate([self._engine.referenced(), *waiting]))

    def save(self) -> bytes:
        parts = {"position": json.dumps(self._position).encode(), "engine": self._engine.save()}
        if self._waiting is not None:
            found = self._waiting.found
            arrays = {
                "matches": pa.table({"start": found.start, "end": found.end, "time": self._waiting.times}),
                "offset": pa.table({"offset": found.offset}),
                "marked": pa.table({"position": found.position, "mark": found.mark}),
                "keys": self._waiting.keys,
            }
            parts |= {name: table_bytes(table.combine_chunks()) for name, table in arrays.items()}
        return parcel(parts)

    def load(self, state: bytes) -> None:
        parts = unparcel(state)
        self._position, self._waiting = json.loads(parts["position"]), None
        self._engine.load(parts["engine"])
        if "keys" in parts:
            matches, offset, marked = (table_of(parts[n]) for n in ("matches", "offset", "marked"))
            column = {n: numbers(one_chunk(t.column(n))) for t in (matches, offset, marked) for n in t.column_names}
            times = column.pop("time")
            self._waiting = _Waiting(ComplexEvents((Piece(**column),), self._sets), times, table_of(parts["keys"]))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without a dictionary, which may be of another kind in the next batch."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _codes(tables: Sequence[pa.Table]) -> list[Codes]:
    """A number for each row of each table, equal where the values of all columns are."""
    joint = key_codes([one_chunk(c) for c in pa.concat_tables(tables).columns])
    return np.split(joint, np.cumsum([len(t) for t in tables[:-1]]))
