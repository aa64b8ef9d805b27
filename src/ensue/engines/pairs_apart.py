"""Pairs of the clause WINDOW that other events close: an engine for each UNTIL, and each window told once.

All engines find a window in the events in which it ends. One of them may tell it sooner than the others, which then
let it wait no longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ensue.data.complex_events import ComplexEvents, Variables, concatenated
from ensue.data.envelope import Parts, prefixed, unprefixed
from ensue.data.events import EventStream
from ensue.engines.closings import ClosingEngine
from ensue.engines.protocol import Engine, Positions


class PairsApart:
    """The engines of pairs, as one."""

    def __init__(self, engines: Sequence[Engine], sets: Sequence[Variables]) -> None:
        self._engines, self._sets = engines, sets

    @property
    def open(self) -> int:
        return sum(e.open for e in self._engines)

    @property
    def begun(self) -> int:
        return sum(e.begun for e in self._engines)

    @property
    def next_due(self) -> None:
        """Windows are closed by events: none waits for a time."""

    def push(self, events: EventStream) -> ComplexEvents:
        return self._told([e.push(events) for e in self._engines])

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        yield self.push(events)

    def pass_time(self, time: int) -> ComplexEvents:
        return self._told([e.pass_time(time) for e in self._engines])

    def finish(self) -> ComplexEvents:
        return self._told([e.finish() for e in self._engines])

    def _told(self, each: list[ComplexEvents]) -> ComplexEvents:
        """Each window once, in the order of their ends."""
        found = concatenated([f.numbered(self._sets) for f in each if len(f)], self._sets)
        if not len(found):
            return found
        order = np.lexsort((found.start, found.end))
        starts, ends = found.start[order], found.end[order]
        new = np.append(True, (np.diff(starts) != 0) | (np.diff(ends) != 0))
        told = found.in_order(order[new])
        for engine in self._engines:
            if isinstance(engine, ClosingEngine):
                engine.forget(told)
        return told

    def referenced(self) -> Positions:
        return np.unique(np.concatenate([e.referenced() for e in self._engines]))

    def save(self) -> Parts:
        parts: Parts = {}
        for number, engine in enumerate(self._engines):
            parts |= prefixed(str(number), engine.save())
        return parts

    def load(self, parts: Parts) -> None:
        for number, engine in enumerate(self._engines):
            engine.load(unprefixed(str(number), parts))
