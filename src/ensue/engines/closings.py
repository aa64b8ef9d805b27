"""UNTIL: a window waits for what closes it, which starts at the next event of its partition.

    WINDOW w AS (IS trade[price > PREV(price)]:+ UNTIL trade[price <= PREV(price)])

Whether a window is closed depends on where it ends, and on nothing else of it. So windows are found as always, and what
can close them is found beside them, by a plan of its own. Mostly it is one event. Then the events at hand tell, of each
but the last of its partition, whether a window that ends there is closed; the others are not even looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, Piece, concatenated
from ensue.data.envelope import Parts, prefixed, unprefixed
from ensue.data.events import EventStream, integers
from ensue.data.partitions import Codes
from ensue.engines.collected import Collected
from ensue.engines.consumption import Consumption
from ensue.engines.keys_of_events import codes_of, keys_of
from ensue.engines.protocol import Engine, Positions
from ensue.plan import Plan
from ensue.plan.closing import MAY_CLOSE, Closing

_NONE = -1
_NOTHING: Positions = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class _Waiting:
    """Windows that are not closed: the next event of their partition, or _NONE before it comes, and their keys."""

    found: ComplexEvents
    following: Positions
    keys: pa.Table

    def with_more(self, new: _Waiting) -> _Waiting:
        return _Waiting(
            concatenated([self.found, new.found], new.found.sets),
            np.concatenate([self.following, new.following]),
            pa.concat_tables([self.keys, new.keys]),
        )

    def some(self, chosen: Positions) -> _Waiting:
        return _Waiting(self.found.in_order(chosen), self.following[chosen], self.keys.take(integers(chosen)))

    @property
    def nbytes(self) -> int:
        return int(self.found.nbytes + self.following.nbytes + self.keys.nbytes)


class _Batch(NamedTuple):
    """What is known of the events that came last."""

    base: int
    keys: pa.Table
    following: Positions  # of each event the next one of its partition, or _NONE
    first: Positions  # of each partition of a window that waits, the first event, or _NONE
    starts: Positions  # where what closes windows starts, each once, in order
    closed: Positions  # and where the shortest of it has ended


#: What waits is copied where some of it is taken or put together with more.
_COPIES = 3


class Closings:
    """The windows that wait: `read` looks at events for what closes them, `take` gives those that are closed."""

    def __init__(self, plan: Plan, followers: Engine | None, budget: Budget) -> None:
        assert plan.closing is not None
        self._closing: Closing = plan.closing
        self._keys = plan.keys
        self._sets = plan.marks
        self._followers = followers  # finds what closes windows; None where only the end of all does
        self._budget, self._holder = budget, budget.holder()
        self._waiting: _Waiting | None = None
        self._told = _Told(plan.closing)
        self._position = 0
        self._batch: _Batch | None = None

    def __len__(self) -> int:
        """How many windows wait."""
        return 0 if self._waiting is None else len(self._waiting.found)

    @property
    def positions(self) -> Positions:
        """The events that they speak of."""
        if self._waiting is None:
            return _NOTHING
        found = self._waiting.found
        return np.concatenate([found.start, found.end, found.position])

    def read(self, events: EventStream, step: int | None = None) -> EventStream:
        """The events, which follow the earlier ones, with a column that says where windows may be closed.

        What closes them is looked for in so many events at a time.
        """
        base, self._position = self._position, self._position + len(events)
        starts, closed = self._closers(events, step or max(len(events), 1))
        keys = keys_of(events, self._keys)
        following, first = self._neighbours(keys)
        self._batch = _Batch(base, keys, following, first, starts, closed)
        may_close = following == _NONE
        if len(starts):
            there = np.zeros(len(events) + 1, dtype=np.bool_)
            there[starts[starts >= base] - base] = True
            may_close |= there[following]  # behind the last event there is nothing
        return replace(events, table=events.table.append_column(MAY_CLOSE, pa.array(may_close)))

    def _closers(self, events: EventStream, step: int) -> tuple[Positions, Positions]:
        """Where what closes windows starts, and ends, of what ends in these events."""
        if self._followers is None:
            return _NOTHING, _NOTHING
        found = [self._followers.push(events.slice(at, step)) for at in range(0, len(events), step)]
        starts = np.concatenate([_NOTHING, *(f.start for f in found)])
        ends = np.concatenate([_NOTHING, *(f.end for f in found)])
        order = np.lexsort((ends, starts))
        starts, ends = starts[order], ends[order]
        first = np.append(True, np.diff(starts) != 0)[: len(starts)]
        return starts[first], ends[first]

    def _neighbours(self, keys: pa.Table) -> tuple[Positions, Positions]:
        """The next event of the same key, of each event, and the first one, of each window that waits."""
        count, waiting = len(keys), len(self)
        if not self._keys:
            following = np.append(np.arange(1, count), _NONE)[:count]
            return following, np.full(waiting, 0 if count else _NONE)
        from ensue.kernels.following import next_of_key  # numba is loaded where it is used

        tables = [keys] if self._waiting is None else [self._waiting.keys, keys]
        *own, codes = codes_of(tables)
        first = np.full(int(max(map(_most, (*own, codes)))) + 1, _NONE, dtype=np.int64)
        following = np.empty(count, dtype=np.int64)
        next_of_key(codes, first, following)
        return following, first[own[0]] if own else _NOTHING

    def take_parts(self, parts: Iterable[ComplexEvents]) -> ComplexEvents:
        """As `take`, of windows that come in parts."""
        found = Collected(self._budget, Large.UNCLOSED).add_all(parts)
        known = self.take(found.concatenated(self._sets))
        found.release()
        return known

    def take(self, found: ComplexEvents) -> ComplexEvents:
        """Of these windows, which end in the events that were read last, and of those that wait: what is closed.

        They are in the order in which they become known, and then of their ends.
        """
        assert self._batch is not None, "events are read before windows are taken"
        batch, self._batch = self._batch, None
        ends = found.end - batch.base
        both = _Waiting(found, _moved(batch.following[ends], batch.base), batch.keys.take(integers(ends)))
        if self._waiting is not None:
            size = self._waiting.nbytes + both.nbytes
            self._holder.check(Large.UNCLOSED, _COPIES * size, len(self) + len(found))
            known = self._waiting.following
            came = np.where(known == _NONE, _moved(batch.first, batch.base), known)
            both = replace(self._waiting, following=came).with_more(both)
        closed = _closed_at(both.following, batch)
        waits = both.following == _NONE
        if not self._closing.one_event and self._followers is not None:
            waits |= (closed == _NONE) & np.isin(both.following, self._followers.referenced())
        self._waiting = both.some(np.flatnonzero(waits))
        self._holder.hold(Large.UNCLOSED, self._waiting.nbytes, len(self))
        known = np.flatnonzero(closed != _NONE)
        order = known[np.lexsort((both.found.end[known], closed[known]))]
        return self._told.of(both.some(order))

    def forget(self, told: ComplexEvents) -> None:
        """Lets these windows wait no longer: they have been told."""
        if self._waiting is not None and len(self._waiting.found) and len(told):
            other = ~np.isin(_both_ends(self._waiting.found), _both_ends(told))
            self._waiting = self._waiting.some(np.flatnonzero(other))

    def rest(self) -> ComplexEvents:
        """The windows that the end closes, once it is known that nothing follows."""
        waiting, self._waiting = self._waiting, None
        if waiting is None or not self._closing.or_end:
            return ComplexEvents((), self._sets)
        last = np.flatnonzero(waiting.following == _NONE)
        return self._told.of(waiting.some(last[np.argsort(waiting.found.end[last], kind="stable")]))

    # -- the state

    def save(self) -> Parts:
        parts: Parts = {"position": self._position, **prefixed("told", self._told.save())}
        if self._followers is not None:
            parts |= prefixed("followers", self._followers.save())
        if self._waiting is not None:
            found = self._waiting.found
            arrays = (found.start, found.end, found.offset, found.position, found.mark, self._waiting.following)
            parts |= {name: np.array(array) for name, array in zip(_ARRAYS, arrays, strict=True)}
            computed = {f"\0{text}": values for text, values in found.computed.items()}
            keys = {f"\1{name}": self._waiting.keys.column(name) for name in self._waiting.keys.column_names}
            parts |= {"waiting": pa.table({**keys, **computed}).combine_chunks(), "span": found.span}
        return parts

    def load(self, parts: Parts) -> None:
        self._position, self._waiting, self._batch = parts["position"], None, None
        self._told.load(unprefixed("told", parts))
        if self._followers is not None:
            self._followers.load(unprefixed("followers", parts))
        if "waiting" in parts:
            start, end, offset, position, mark, following = (parts[name] for name in _ARRAYS)
            table: pa.Table = parts["waiting"]
            names = table.column_names
            computed = {n[1:]: table.column(n).combine_chunks() for n in names if n.startswith("\0")}
            keys = pa.table({n[1:]: table.column(n) for n in names if n.startswith("\1")})
            piece = Piece(start, end, offset, position, mark, computed)
            self._waiting = _Waiting(ComplexEvents((piece,), self._sets, parts["span"]), following, keys)


_ARRAYS = ("start", "end", "offset", "marked", "mark", "following")


def _both_ends(found: ComplexEvents) -> Any:
    """The first and the last event of each window, as one value."""
    ends = np.ascontiguousarray(np.stack([found.start, found.end], axis=1))
    return ends.view([("start", "<i8"), ("end", "<i8")]).reshape(-1)


def _most(codes: Codes) -> int:
    return int(codes.max(initial=_NONE))


def _moved(places: Positions, base: int) -> Positions:
    """Places in a batch as positions in the stream."""
    return np.where(places == _NONE, _NONE, places + base)


def _closed_at(following: Positions, batch: _Batch) -> Positions:
    """For each window the position of the event with which it becomes known, or _NONE."""
    if not len(batch.starts):
        return np.full(len(following), _NONE)
    places = np.minimum(np.searchsorted(batch.starts, following), len(batch.starts) - 1)
    return np.where(batch.starts[places] == following, batch.closed[places], _NONE)


class _Told:
    """Which closed windows are told: all, or where those that are told take others away, those that are left."""

    def __init__(self, closing: Closing) -> None:
        self._closing = closing
        self._consumption = Consumption(longest_only=closing.chooses, limit=closing.limit)

    def of(self, closed: _Waiting) -> ComplexEvents:
        """Those of the windows, which are in the order of their ends in each partition."""
        found = closed.found
        if not self._closing.consumes or not len(found):
            return found
        order = np.lexsort((found.start, found.end))
        starts, ends, keys = found.start[order], found.end[order], closed.keys.take(integers(order))
        kept = self._consumption.reported(keys, starts, ends)
        kept[1:] &= (np.diff(starts) != 0) | (np.diff(ends) != 0)
        return found.in_order(order[kept])

    def save(self) -> Parts:
        return self._consumption.save()

    def load(self, parts: Parts) -> None:
        self._consumption.load(parts)


class ClosingEngine:
    """Finds the windows by another engine, and gives each when it is closed."""

    def __init__(self, engine: Engine, closings: Closings) -> None:
        self._engine, self._closings = engine, closings

    @property
    def open(self) -> int:
        return self._engine.open + len(self._closings)

    @property
    def begun(self) -> int:
        return self._engine.begun

    @property
    def next_due(self) -> None:
        """Windows are closed by events: none waits for a time."""

    def push(self, events: EventStream) -> ComplexEvents:
        return self._closings.take_parts(self._engine.parts(self._closings.read(events)))

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        yield self.push(events)

    def pass_time(self, time: int) -> ComplexEvents:
        return self._engine.pass_time(time)

    def finish(self) -> ComplexEvents:
        return self._closings.rest()

    def forget(self, told: ComplexEvents) -> None:
        self._closings.forget(told)

    def referenced(self) -> Positions:
        return np.unique(np.concatenate([self._engine.referenced(), self._closings.positions]))

    def save(self) -> Parts:
        return {**prefixed("engine", self._engine.save()), **prefixed("closings", self._closings.save())}

    def load(self, parts: Parts) -> None:
        self._engine.load(unprefixed("engine", parts))
        self._closings.load(unprefixed("closings", parts))
