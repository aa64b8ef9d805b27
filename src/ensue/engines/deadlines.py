"""Absence with a deadline: a match waits until it is known that nothing has followed it in time.

    A AS a ; NOT B WITHIN 10 min

Whether something followed depends on where a match ends, and on nothing else of it. So the matches of `A` are found as
always, with what chooses among those of one end; and of each it is asked when the next `B` came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Piece, Variables, concatenated
from ensue.data.envelope import Parts, prefixed, unprefixed
from ensue.data.events import EventStream, integers, one_chunk
from ensue.data.partitions import Codes
from ensue.engines.collected import Collected
from ensue.engines.keys_of_events import codes_of, keys_of
from ensue.engines.protocol import Engine, Positions
from ensue.language import ast
from ensue.logic.window import Window
from ensue.plan import Absence, Plan

if TYPE_CHECKING:
    from ensue.kernels.classes import Classifier

Mask = npt.NDArray[np.bool_]
_NEVER = np.iinfo(np.int64).max


class _Deadline:
    """In how many ticks something must not follow; None where it may come at any time. One event can be looked for."""

    def __init__(self, deadline: ast.Interval, tick: int | None, absence: Absence | None) -> None:
        self._absence = absence
        self.wait = Window(time=deadline.high).ticks(tick)

    @property
    def looks(self) -> bool:
        return self._absence is not None

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

        assert self._absence is not None
        return Classifier(self._absence.predicates)

    def _absent(self, events: EventStream) -> Mask:
        """The events that must not follow."""
        assert self._absence is not None
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

    def with_more(self, new: _Waiting) -> _Waiting:
        """These and those that have ended since."""
        return _Waiting(
            concatenated([self.found, new.found], new.found.sets),
            np.concatenate([self.times, new.times]),
            pa.concat_tables([self.keys, new.keys]),
        )

    def some(self, mask: Mask) -> _Waiting:
        chosen = np.flatnonzero(mask)
        return _Waiting(self.found.in_order(chosen), self.times[chosen], self.keys.take(integers(chosen)))

    @property
    def positions(self) -> Positions:
        return np.concatenate([self.found.start, self.found.end, self.found.position])

    @property
    def nbytes(self) -> int:
        return int(self.found.nbytes + self.times.nbytes + self.keys.nbytes)


#: What waits is copied where some of it is taken or put together with more.
_COPIES = 3


class Deadlines:
    """The matches that wait for their deadlines: `take` gives those whose deadline has passed with nothing absent."""

    def __init__(
        self,
        deadline: ast.Interval,
        sets: Sequence[Variables],
        keys: tuple[str, ...],
        tick: int | None,
        budget: Budget,
        *,
        absence: Absence | None = None,
        closing: bool = False,
    ) -> None:
        self._closing = closing  # whether the stream will end: then a deadline beyond all time is worth waiting for
        self._budget, self._holder = budget, budget.holder()
        self._sets = sets
        self._keys = keys
        self._deadline = _Deadline(deadline, tick, absence)
        self._waiting: _Waiting | None = None
        self._position = 0

    @classmethod
    def of(cls, plan: Plan, tick: int | None, budget: Budget, *, closing: bool = False) -> Deadlines:
        """Those of a plan that looks for one absent event behind its matches."""
        absence = plan.absence
        assert absence is not None
        return cls(absence.deadline, plan.marks, plan.keys, tick, budget, absence=absence, closing=closing)

    def __len__(self) -> int:
        """How many matches wait."""
        return 0 if self._waiting is None else len(self._waiting.found)

    @property
    def positions(self) -> Positions:
        """The events that they speak of."""
        return np.zeros(0, dtype=np.int64) if self._waiting is None else self._waiting.positions

    @property
    def next_due(self) -> int | None:
        """The time by which the next deadline has passed; None where nothing waits for one."""
        if self._waiting is None or not len(self) or self._deadline.wait is None:
            return None
        return int(self._waiting.times[0]) + self._deadline.wait + 1

    def take_parts(self, parts: Iterable[ComplexEvents], events: EventStream) -> ComplexEvents:
        """As `take`, of matches that come in parts."""
        found = Collected(self._budget, Large.WAITING).add_all(parts)
        due = self.take(found.concatenated(self._sets), events)
        found.release()
        return due

    def take(
        self, found: ComplexEvents, events: EventStream, left_out: Callable[[ComplexEvents], Mask] | None = None
    ) -> ComplexEvents:
        """Of these matches, which end in these events, and of those that wait: what is due by the last event.

        Some are `left_out` because of what has come with these events, as their caller knows.
        """
        base, self._position = self._position, self._position + len(events)
        self._sets = found.sets
        if not len(events) or (self._deadline.wait is None and not self._closing):
            return ComplexEvents((), self._sets)  # a deadline beyond all time never passes
        ends, keys = found.end - base, keys_of(events, self._keys)
        new = _Waiting(found, events.times[ends], keys.take(integers(ends)))
        if not len(self):
            (codes,) = codes_of([keys])
            both, own = new, codes[ends]
        else:
            assert self._waiting is not None
            size, count = self._waiting.nbytes + new.nbytes, len(self) + len(found)
            self._holder.check(Large.WAITING, _COPIES * size, count)
            both, ends = self._waiting.with_more(new), np.concatenate([np.full(len(self), -1), ends])
            own, codes = codes_of([both.keys, keys])
        followed = np.zeros(len(both.found), dtype=np.bool_) if left_out is None else left_out(both.found)
        if self._deadline.looks:
            followed |= self._deadline.followed(own, ends, both.times, codes, events)
        self._waiting = both.some(~followed)
        due = self.due(int(events.times[-1]))
        self._holder.hold(Large.WAITING, self._waiting.nbytes, len(self))
        return due

    def due(self, time: int) -> ComplexEvents:
        """The matches whose deadline has passed by this time; they wait no longer."""
        if self._waiting is None:
            return ComplexEvents((), self._sets)
        due = self._deadline.passed(self._waiting.times, time)
        found = self._waiting.some(due).found
        self._waiting = self._waiting.some(~due)
        return found

    def rest(self) -> ComplexEvents:
        """The matches that wait, once it is known that nothing follows."""
        rest = ComplexEvents((), self._sets) if self._waiting is None else self._waiting.found
        self._waiting = None
        return rest

    def save(self) -> Parts:
        parts: Parts = {"position": self._position}
        if self._waiting is not None:
            found = self._waiting.found
            arrays = (found.start, found.end, found.offset, found.position, found.mark, self._waiting.times)
            parts |= {name: np.array(array) for name, array in zip(_ARRAYS, arrays, strict=True)}
            parts["keys"] = self._waiting.keys.combine_chunks()
            if found.computed:  # in a fixed order; their names are those of parts of the query
                columns = {f"column_{n}": found.computed[name] for n, name in enumerate(sorted(found.computed))}
                parts |= {"computed": pa.table(columns), "names": sorted(found.computed)}
        return parts

    def load(self, parts: Parts) -> None:
        self._position, self._waiting = parts["position"], None
        if "keys" in parts:
            start, end, offset, position, mark, times = (parts[name] for name in _ARRAYS)
            names = parts.get("names", [])
            columns = {name: one_chunk(parts["computed"].column(n)) for n, name in enumerate(names)}
            found = ComplexEvents((Piece(start, end, offset, position, mark, columns),), self._sets)
            self._waiting = _Waiting(found, times, parts["keys"])


_ARRAYS = ("start", "end", "offset", "marked", "mark", "time")


class DeadlineEngine:
    """Finds the matches by another engine, and gives each when time has passed its deadline."""

    def __init__(
        self, engine: Engine, plan: Plan, tick: int | None, budget: Budget | None = None, *, closing: bool = False
    ) -> None:
        self._engine = engine
        self._deadlines = Deadlines.of(plan, tick, budget or Budget(), closing=closing)

    @property
    def open(self) -> int:
        return self._engine.open + len(self._deadlines)

    @property
    def begun(self) -> int:
        return self._engine.begun

    @property
    def next_due(self) -> int | None:
        return self._deadlines.next_due

    def push(self, events: EventStream) -> ComplexEvents:
        return self._deadlines.take_parts(self._engine.parts(events), events)

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        yield self.push(events)

    def pass_time(self, time: int) -> ComplexEvents:
        self._engine.pass_time(time)
        return self._deadlines.due(time)

    def finish(self) -> ComplexEvents:
        return self._deadlines.rest()

    def referenced(self) -> Positions:
        return np.unique(np.concatenate([self._engine.referenced(), self._deadlines.positions]))

    def save(self) -> Parts:
        return {**prefixed("engine", self._engine.save()), **prefixed("deadlines", self._deadlines.save())}

    def load(self, parts: Parts) -> None:
        self._engine.load(unprefixed("engine", parts))
        self._deadlines.load(unprefixed("deadlines", parts))
