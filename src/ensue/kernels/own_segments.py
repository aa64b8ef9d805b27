"""Aggregates of the user's own over windows: segments as in `kernels/segments.py`, with Python's values in them.

Nothing is known of what is combined but that it is associative. So the sums of that file have no place here, and an
event or a window costs what a few calls of the user's functions do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ensue.data.envelope import Parts
from ensue.kernels.segments import NONE
from ensue.logic.own_aggregates import OwnAggregate

State = list[Any]  # one of each aggregate


class OwnEvents:
    """The events of a batch: the values of each aggregate, their partitions, and where a window may start."""

    def __init__(self, values: Sequence[list[Any]], partitions: Any, begins: Any) -> None:
        self.values = list(zip(*values, strict=True)) if values else []
        self.partitions = partitions.tolist()
        self.begins = begins.tolist()


class OwnSegments:
    """Segments in the order of their begins; each is read on with `after`, NONE behind the last one of a partition."""

    def __init__(self, aggregates: Sequence[OwnAggregate], share: int, mask: int) -> None:
        self._aggregates = aggregates
        self._share, self._mask = share, mask
        self._begin: list[int] = []
        self._after: list[int] = []
        self._partition: list[int] = []
        self._states: list[State] = []
        self._last: dict[int, int] = {}

    def begin(self, events: OwnEvents, base: int) -> None:
        self._events, self._base, self._row = events, base, 0
        self._place = {position: s for s, position in enumerate(self._begin)}

    def over(self, spans: tuple[Any, Any]) -> list[pa.Array]:
        """What each aggregate comes to in windows, which end in this order."""
        states = []
        for begin, end in zip(spans[0].tolist(), spans[1].tolist(), strict=True):
            self.take(end - self._base + 1)
            segment = self._place[begin]
            self._compress(segment)
            after = self._after[segment]
            states.append(self._states[segment] if after == NONE else self._joined(segment, after))
        return [a.results([s[n] for s in states]) for n, a in enumerate(self._aggregates)]

    def take(self, stop: int) -> None:
        """Folds the events up to `stop`, which is a row of the batch."""
        events = self._events
        for row in range(self._row, stop):
            k = events.partitions[row] if events.partitions else 0
            if k & self._mask != self._share:
                continue
            last = self._last.get(k, NONE)
            if events.begins[row]:
                new = len(self._begin)
                self._begin.append(self._base + row)
                self._after.append(NONE)
                self._partition.append(k)
                self._states.append([None] * len(self._aggregates))
                self._place[self._base + row] = new
                if last != NONE:
                    self._after[last] = new
                self._last[k] = last = new
            if last != NONE:
                states = self._states[last]
                both = zip(self._aggregates, states, events.values[row], strict=True)
                self._states[last] = [a.combined(state, a.lifted(value)) for a, state, value in both]
        self._row = max(self._row, stop)

    def _joined(self, segment: int, behind: int) -> State:
        both = zip(self._aggregates, self._states[segment], self._states[behind], strict=True)
        return [a.combined(x, y) for a, x, y in both]

    def _compress(self, segment: int) -> None:
        """Lets a segment, and all on its way, reach up to the last one of its partition."""
        way = []
        while self._after[segment] != NONE and self._after[self._after[segment]] != NONE:
            way.append(segment)
            segment = self._after[segment]
        for before in reversed(way):
            self._states[before] = self._joined(before, segment)
            self._after[before] = self._after[segment]
            segment = before

    def keep_begun(self, alive: set[int]) -> None:
        """Keeps the segments that begin at these positions, joined with those behind that go, and the last ones."""
        live = [begin in alive for begin in self._begin]
        for s in reversed(range(len(live))):
            after = self._after[s]
            if after != NONE and not live[after] and self._after[after] != NONE:
                self._states[s] = self._joined(s, after)
                self._after[s] = self._after[after]
        used = {k for k, there in zip(self._partition, live, strict=True) if there}
        self._last = {k: s for k, s in self._last.items() if k in used}
        kept = sorted({s for s, there in enumerate(live) if there} | set(self._last.values()))
        number = {s: n for n, s in enumerate(kept)} | {NONE: NONE}
        self._after = [number[self._after[s]] for s in kept]
        self._begin, self._partition = [self._begin[s] for s in kept], [self._partition[s] for s in kept]
        self._states = [self._states[s] for s in kept]
        self._last = {k: number[s] for k, s in self._last.items()}

    def keep_partitions(self, number: dict[int, int]) -> None:
        """Numbers the partitions anew."""
        self._partition = [number[k] for k in self._partition]
        self._last = {number[k]: s for k, s in self._last.items()}

    def save(self) -> Parts:
        plain = {"begin": self._begin, "after": self._after, "partition": self._partition}
        columns = {f"state {n}": a.stored([s[n] for s in self._states]) for n, a in enumerate(self._aggregates)}
        return {"own": pa.table({**{n: pa.array(v, pa.int64()) for n, v in plain.items()}, **columns})}

    def load(self, parts: Parts) -> None:
        table = parts["own"]
        self._begin, self._after, self._partition = (
            table.column(name).to_pylist() for name in ("begin", "after", "partition")
        )
        columns = (table.column(f"state {n}").to_pylist() for n in range(len(self._aggregates)))
        self._states = [list(states) for states in zip(*columns, strict=True)]
        self._last = {k: s for s, k in enumerate(self._partition) if self._after[s] == NONE}
