"""An `AGGREGATE` query over events that arrive in batches: rows of groups that nothing can change any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts
from ensue.data.events import EventStream, integers
from ensue.language import ast
from ensue.logic.classify import deadline_of
from ensue.logic.window import Window
from ensue.plan.choice import Choice
from ensue.plan.mode import Mode
from ensue.results.running_query import RunningQuery
from ensue.results.totals import Grouping

#: So many rows of ends are put together before they are folded with those of the groups.
_MANY_ROWS = 1 << 14


class RunningTotals(RunningQuery):
    """Keeps the groups that are not complete. `times` is the type of the events' times.

    A bucket of time is complete when time has passed its end, and the deadline of an absence more; each end of
    GROUP BY END by itself; other groups, and those of windows with UNTIL, when the stream ends, with `finish`.
    """

    def __init__(
        self,
        choice: Choice,
        tick: int | None,
        times: pa.DataType,
        *,
        given: int = 0,
        budget: Budget | None = None,
        closing: bool = False,
    ) -> None:
        super().__init__(choice.for_totals, tick, given=given, budget=budget, closing=closing, mode=Mode.TOTALS)
        self._choice = replace(self._choice, checked=self._look_back.checked)
        self._grouping = Grouping(self._look_back.checked, times, tick)
        self._aggregation = _aggregation_of(choice)
        deadline = deadline_of(choice.checked.query.pattern)
        self._wait = 0 if deadline is None else Window(time=deadline.high).ticks(tick)
        #: What closes a window may come at any time, and only then it counts.
        self._waits_for_events = any(True for _ in ast.find(choice.checked.query.pattern, ast.Until))
        self._folded: pa.Table | None = None  # the groups that are not complete
        self._new: list[pa.Table] = []
        self._rows_in_new = 0
        self._beyond = 0  # numbers that were told as NULL, and of which nobody was told yet

    def beyond(self) -> int:
        """How many numbers of the rows were NULL since this was last asked, as they have no 64 bits."""
        found, self._beyond = self._beyond, 0
        return found

    def tables(self, events: EventStream) -> Iterator[pa.Table]:
        for found in self._parts(events):
            self._take(found)
        passed = int(events.times[-1]) if len(events) and self._grouping.every is not None else None
        yield self._told(self._complete(passed))

    def add(self, events: EventStream) -> None:
        """Takes events in, and tells nothing yet."""
        for found in self._parts(events):
            self._take(found)

    def groups(self, *, closed: bool) -> pa.Table:
        """The parts of all groups; `closed` says that no event follows."""
        if closed:
            self._take(self._engine.finish())
        return self._all()

    def pass_time(self, time: int) -> pa.Table | None:
        self._take(self._engine.pass_time(time))
        complete = self._complete(time)
        return self._told(complete) if len(complete) else None

    def finish(self) -> Iterator[pa.Table]:
        """The rows of all groups that are left, since no event follows."""
        self._take(self._engine.finish())
        yield self.groups_left()

    def _told(self, complete: pa.Table) -> pa.Table:
        """The rows of groups that nothing changes any more."""
        self._beyond += sum(self._grouping.beyond(complete).values()) if len(complete) else 0
        return self._grouping.finished_or_none(complete)

    def groups_left(self) -> pa.Table:
        """The rows of the groups that are not complete, as they stand; they begin anew."""
        left = self._grouping.finished(self._all())
        self._folded = None
        return left

    @property
    def next_due(self) -> int | None:
        """The time from which on `pass_time` may return rows, or takes something that waits into a group."""
        dues = [] if self._engine.next_due is None else [self._engine.next_due]
        begins = self._grouping.begins(self._all()) if self._grouping.every is not None else np.zeros(0, np.int64)
        if len(begins) and self._wait is not None and not self._waits_for_events and self._grouping.every is not None:
            dues.append(int(begins.min()) + self._grouping.every + self._wait)
        return min(dues, default=None)

    def _take(self, found: ComplexEvents) -> None:
        """Adds what was found to the groups."""
        if not len(found):
            return
        events, reported = self._reported(found)
        rows = self._grouping.rows(reported, events, self._kept.places)
        self._new.append(rows)
        self._rows_in_new += len(rows)
        if self._rows_in_new > _MANY_ROWS + (0 if self._folded is None else len(self._folded)):
            self._all()

    def _all(self) -> pa.Table:
        """All groups that are not complete."""
        known = [] if self._folded is None else [self._folded]
        if self._new or self._folded is None:
            nothing = self._grouping.nothing()
            self._folded = self._grouping.folded(pa.concat_tables([nothing, *known, *self._new]))
            self._new, self._rows_in_new = [], 0
        return self._folded

    def _complete(self, passed: int | None) -> pa.Table:
        """Takes out the groups that are complete once this time has passed."""
        every = self._grouping.every
        if self._aggregation.per_end:
            complete = self._all()
            self._folded = None
            return complete
        if every is None or passed is None or self._wait is None or self._waits_for_events:
            return self._grouping.nothing()
        groups = self._all()
        over = self._grouping.begins(groups) <= passed - every - self._wait
        self._folded = groups.take(integers(np.flatnonzero(~over)))
        return groups.take(integers(np.flatnonzero(over)))

    # -- the state

    def parts(self) -> Parts:
        groups = self._all()
        names = {f"group_{i}": groups.column(name) for i, name in enumerate(groups.column_names)}
        return {**super().parts(), **({"groups": pa.table(names)} if len(groups) else {})}

    def restore(self, parts: Parts) -> None:
        super().restore(parts)
        self._new, self._rows_in_new, self._folded = [], 0, None
        if "groups" in parts:
            self._folded = parts["groups"].rename_columns(self._grouping.nothing().column_names)


def _aggregation_of(choice: Choice) -> ast.Aggregation:
    assert choice.checked.query.aggregation is not None
    return choice.checked.query.aggregation
