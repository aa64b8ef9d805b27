"""The reference over events that arrive in batches: it keeps the events that it needs and evaluates them again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, joined
from ensue.data.stored_stream import restored, stored
from ensue.engines.reference.queries import Progress, evaluate
from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.classify import deadline_of
from ensue.logic.window import Window, peel_windows, reaches_back, time_before

Positions = npt.NDArray[np.int64]


class ReferenceEngine:
    """Exact and slow. With a window in time, the events that it has left behind are let go.

    A query that ends in an absence with a deadline reports a match when time has passed its deadline, be it by an
    event or by `pass_time`.
    """

    def __init__(
        self, checked: Checked, tick: int | None, progress: Progress | None = None, budget: Budget | None = None
    ) -> None:
        self._checked = checked
        self._progress = progress
        self._budget = budget or Budget()
        self._deadline = deadline_of(checked.query.pattern)
        self._waits = any(ast.find(checked.query.pattern, ast.Until))
        self._wait = 0 if self._deadline is None else Window(time=self._deadline.high).ticks(tick)
        window = peel_windows(checked.query.pattern)[1].ticks(tick)
        times = (time_before(checked.query.pattern, tick), window, self._wait)
        bounded = None not in times and not reaches_back(checked.query)
        self._ticks = sum(t or 0 for t in times) if bounded else None
        self._first = 0  # the position of the first event kept
        self._events: EventStream | None = None
        self._passed: int | None = None  # the time that has passed; asked where there is a deadline

    @property
    def open(self) -> int:
        return 0 if self._events is None else len(self._events)

    @property
    def begun(self) -> int:
        return 0

    @property
    def next_due(self) -> int | None:
        """The time by which the next deadline may have passed; None where nothing waits for one."""
        if self._deadline is None or self._wait is None or self._events is None or self._passed is None:
            return None
        waiting = int(np.searchsorted(self._events.times, self._passed - self._wait))
        return int(self._events.times[waiting]) + self._wait + 1 if waiting < self.open else None

    def push(self, events: EventStream) -> ComplexEvents:
        """The matches that end in these events, or whose deadline passes in them."""
        before = self.open
        self._events = events if self._events is None else joined(self._events, events)
        if self._deadline is None:
            found = evaluate(self._checked, self._events, self._progress, budget=self._budget, cut=False)
            new = self._new(found, before) if self._waits else found.end >= before
            found = found.in_order(np.flatnonzero(new)).shifted(self._first)
        else:
            found = self._due(int(events.times[-1]), self._deadline) if len(events) else ComplexEvents.of(())
        if len(events):
            self._let_go(int(events.times[-1]))
        return found

    def parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        yield self.push(events)

    def pass_time(self, time: int) -> ComplexEvents:
        """Lets go of what windows have left behind by then, and gives what has waited for a deadline."""
        found = ComplexEvents.of(()) if self._deadline is None else self._due(time, self._deadline)
        self._let_go(time)
        return found

    def finish(self) -> ComplexEvents:
        """What is known once nothing follows, and was not before."""
        if self._events is None or not len(self._events):
            return ComplexEvents.of(())
        found = evaluate(self._checked, self._events, closed=True, budget=self._budget, cut=False)
        return found.in_order(np.flatnonzero(self._new(found, self.open))).shifted(self._first)

    def _new(self, found: ComplexEvents, seen: int) -> npt.NDArray[np.bool_]:
        """Which of these were not known when so many of the kept events had come."""
        if not seen or self._events is None:
            return np.ones(len(found), dtype=np.bool_)
        then = evaluate(self._checked, self._events.slice(0, seen), passed=self._passed, budget=self._budget, cut=False)
        before = set(then.each())
        return np.array([c not in before for c in found.each()], dtype=np.bool_)

    def _due(self, time: int, deadline: ast.Interval) -> ComplexEvents:
        """The matches whose deadline has passed by this time and had not before."""
        before = self._passed
        self._passed = time if before is None else max(time, before)
        if self._events is None or not len(self._events):
            return ComplexEvents.of(())
        found = evaluate(
            self._checked, self._events, self._progress, passed=self._passed, budget=self._budget, cut=False
        )
        if before is not None:
            tick = self._events.tick or 1
            waited = [deadline.contains((before - int(t)) * tick) for t in self._events.times[found.end]]
            found = found.in_order(np.flatnonzero(np.array(waited, dtype=np.bool_)))
        return found.shifted(self._first)

    def _let_go(self, time: int) -> None:
        if self._ticks is not None and self._events is not None:
            left = int(np.searchsorted(self._events.times, time - self._ticks))
            self._events = self._events.slice(left, len(self._events))
            self._first += left

    def referenced(self) -> Positions:
        return np.arange(self._first, self._first + self.open)

    def save(self) -> Parts:
        parts: Parts = {"first": self._first, "passed": self._passed}
        if self._events is not None:
            parts |= stored(self._events)
        return parts

    def load(self, parts: Parts) -> None:
        self._first, self._passed, self._events = parts["first"], parts["passed"], restored(parts)
