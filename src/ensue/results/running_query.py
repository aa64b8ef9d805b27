"""A query over events that arrive in batches: rows of matches out, and a state that can be saved in between."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts, put_under, sealed, taken_from, unsealed
from ensue.data.events import EventStream
from ensue.engines.finishing import finished
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.kept_events import KeptEvents
from ensue.engines.opening import opened
from ensue.plan.choice import Choice
from ensue.results.matches import Matches

_KIND = "running query"


class RunningQuery:
    """One query over one stream: `push` gives the rows of the matches that become known with each batch.

    Of a query that ends in an absence with a deadline, these are the matches whose deadline has passed; `pass_time`
    gives such without new events. `given` are the predicates that come evaluated with the events (see
    `EventStream.words`). Who takes the rows as `tables` and is `passing` them on may get more than the `budget` holds.
    """

    def __init__(
        self,
        choice: Choice,
        tick: int | None,
        *,
        given: int = 0,
        budget: Budget | None = None,
        passing: bool = False,
    ) -> None:
        self._choice = choice
        self._budget = budget = budget or Budget()
        self._rows_held = budget.holder()
        self._engine = opened(choice, tick, given=given, budget=budget, passing=passing)
        self._look_back = ItemLookBack(choice.checked)
        self._kept = KeptEvents(self._look_back.kept(choice.attributes_kept), tick, budget)
        self._made_by = choice.made_by(tick)

    @property
    def open(self) -> int:
        """How much is open: nodes of the match structure."""
        return self._engine.open

    @property
    def next_due(self) -> int | None:
        """The time by which `pass_time` may give rows; None where it gives none without new events."""
        return self._engine.next_due

    def push(self, events: EventStream) -> pa.Table:
        """The rows of the matches that become known with these events, which follow those of earlier calls."""
        tables: list[pa.Table] = []
        size = count = 0
        for table in self.tables(events):
            tables.append(table)
            size, count = size + table.nbytes, count + len(table)
            self._rows_held.hold(Large.TABLE, size, count)
        self._rows_held.hold(Large.TABLE, 0, 0)  # they are who asked's
        return pa.concat_tables(tables)

    def tables(self, events: EventStream) -> Iterator[pa.Table]:
        """The same a part at a time, one table at least; all parts must be asked for."""
        self._kept.add(self._look_back.extended(events))
        some = False
        for found in self._engine.parts(events):
            yield from self._rows(found)
            some = True
        if not some:
            yield from self._rows(ComplexEvents.of(()))
        if self._kept.crowded:
            self._kept.keep(self._engine.referenced())

    def pass_time(self, time: int) -> pa.Table | None:
        """Takes note that no later event is before this time, which is in the unit of the events' times.

        Gives the rows of the matches whose deadline has passed now, if any.
        """
        found = self._engine.pass_time(time)
        return pa.concat_tables(self._rows(found)) if len(found) else None

    def _rows(self, found: ComplexEvents) -> Iterator[pa.Table]:
        located, events = self._kept.located(found)
        reported = finished(located, self._choice, events, budget=self._budget)
        return Matches(self._look_back.checked, events, reported, self._budget).tables()

    # -- the state

    def save(self) -> bytes:
        """The state between two batches."""
        return sealed(_KIND, self._made_by, self.parts())

    def load(self, state: bytes) -> None:
        """Goes on from a state that `save` gave; refuses, with nothing changed, what is not one of the same query."""
        self.restore(unsealed(state, _KIND, self._made_by))

    def parts(self) -> Parts:
        """The state as parts of a larger one."""
        self._kept.keep(self._engine.referenced())
        return {
            **put_under("engine", self._engine.save()),
            **put_under("kept", self._kept.save()),
            **put_under("look_back", self._look_back.save()),
        }

    def restore(self, parts: Parts) -> None:
        """Goes on from what `parts` gave."""
        self._engine.load(taken_from("engine", parts))
        self._kept.load(taken_from("kept", parts))
        self._look_back.load(taken_from("look_back", parts))
