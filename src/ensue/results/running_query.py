"""A query over events that arrive in batches: it returns rows of matches, and its state can be saved in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ensue.columns.key_columns import with_keys
from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents
from ensue.data.envelope import Parts, prefixed, sealed, unprefixed, unsealed
from ensue.data.events import EventStream
from ensue.engines.finishing import finished
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.kept_events import KeptEvents
from ensue.engines.opening import opened
from ensue.engines.row_quota import RowQuota
from ensue.engines.run_states import go_on_alike
from ensue.engines.unexpected import Unexpected
from ensue.plan.choice import Choice
from ensue.plan.mode import Mode
from ensue.results.detections import shown
from ensue.results.matches import Matches
from ensue.results.rows import Rows

_KIND = "running query"


class RunningQuery:
    """One query over one stream: `push` returns the rows of the matches that become known with each batch.

    If the query ends in an absence with a deadline, a match becomes known when its deadline has passed; `pass_time`
    returns such matches without new events. `given` is a bit mask of the predicates that are already evaluated when the
    events come (see `EventStream.predicate_bits`). With `passing`, the caller takes the rows as `tables` and keeps none
    of them: then they may be more than the `budget` holds. `closing` says that `finish` will be called at the end.
    `hidden` names columns of the events that matches keep beside those that they show. In the mode UNION, the rows are
    those of `DetectedEvents`; then LIMIT may only cut each end.
    """

    def __init__(
        self,
        choice: Choice,
        tick: int | None,
        *,
        given: int = 0,
        budget: Budget | None = None,
        passing: bool = False,
        closing: bool = False,
        hidden: frozenset[str] = frozenset(),
        mode: Mode = Mode.ENUMERATE,
    ) -> None:
        self._choice = choice = choice.for_rows if mode is Mode.ENUMERATE else choice
        self._budget = budget = budget or Budget()
        self._rows_held = budget.holder()
        self._mode = mode
        self._engine = opened(choice, tick, given=given, mode=mode, budget=budget, passing=passing, closing=closing)
        # Items say what a match shows; where matches are not told one by one, whole events are shown.
        matches = mode is not Mode.UNION
        self._look_back = ItemLookBack(choice.checked if matches else replace(choice.checked, outputs=()))
        kept = self._look_back.kept(choice.attributes_kept) if matches else None
        self._kept = KeptEvents(None if kept is None else kept | hidden, tick, budget)
        self._quota = RowQuota.of(choice.checked.query)
        self._begin: int | None = None
        self._unexpected = Unexpected(choice, tick, budget)
        self._made_by = choice.made_by(tick)

    @property
    def open(self) -> int:
        """The number of nodes in the match structure, which holds the open partial matches."""
        return self._engine.open

    @property
    def by_time(self) -> bool:
        """Whether all events of one time are one step: then `push` takes those of a time together."""
        return self._choice.by_time

    @property
    def comparable(self) -> bool:
        """Whether `go_on_alike` may ever be true."""
        return self._choice.runs is not None

    def go_on_alike(self, one: Parts, other: Parts) -> bool:
        """Whether two states give the same from now on, though their events had other numbers; False if unknown."""
        return self._choice.runs is not None and go_on_alike(self._choice.runs, one, other)

    def report_from(self, time: int) -> None:
        """Leaves out what ends before this time: the earlier events are there for the matches that they begin."""
        self._begin = time

    @property
    def full(self) -> bool:
        """Whether LIMIT lets no further row through."""
        return self._quota is not None and self._quota.full

    @property
    def next_due(self) -> int | None:
        """The time from which on `pass_time` may return rows; None if it returns none without new events."""
        return self._engine.next_due

    @property
    def open_windows(self) -> int:
        """From how many events the open partial matches began; 0 where the reference evaluates them."""
        return self._engine.begun

    def unexpected(self) -> int:
        """How many events were not as EXPECT says since this was last asked."""
        return self._unexpected.taken()

    def beyond(self) -> int:
        """How many numbers of the rows were NULL since this was last asked, as they have no 64 bits."""
        return 0  # each match is told by itself

    def push(self, events: EventStream) -> pa.Table:
        """Returns the rows of the matches that become known with these events, which must follow the earlier ones."""
        tables: list[pa.Table] = []
        size = count = 0
        for table in self.tables(events):
            tables.append(table)
            size, count = size + table.nbytes, count + len(table)
            self._rows_held.hold(Large.TABLE, size, count)
        self._rows_held.hold(Large.TABLE, 0, 0)  # the caller has them now
        return pa.concat_tables(tables)

    def tables(self, events: EventStream) -> Iterator[pa.Table]:
        """The same rows in parts, at least one table; the caller must take all of them."""
        some = False
        for found in self._parts(events):
            yield from self._rows(found).tables()
            some = True
        if not some:
            yield from self._rows(ComplexEvents.of(())).tables()

    def matches(self, events: EventStream) -> Iterator[Matches]:
        """The matches that become known with these events, in parts; the caller must take all of them."""
        return map(self._matches, self._parts(events))

    def _parts(self, events: EventStream) -> Iterator[ComplexEvents]:
        events = with_keys(events, self._choice.checked.query)
        self._unexpected.push(events)
        self._kept.add(self._look_back.extended(events))
        yield from self._engine.parts(events)
        if self._kept.crowded:
            self._kept.keep(self._engine.referenced())

    def pass_time(self, time: int) -> pa.Table | None:
        """Promises that no later event is before this time, which is in the unit of the events' times.

        Returns the rows of the matches whose deadline has passed now, or None if there are none.
        """
        found = self._engine.pass_time(time)
        return pa.concat_tables(self._rows(found).tables()) if len(found) else None

    def matches_due(self, time: int) -> Matches | None:
        """The same, with the matches themselves."""
        found = self._engine.pass_time(time)
        return self._matches(found) if len(found) else None

    def finish(self) -> Iterator[pa.Table]:
        """The rows of the matches that become known because no event follows at all; nothing is pushed afterwards."""
        found = self._engine.finish()
        if len(found):
            yield from self._rows(found).tables()

    def _rows(self, found: ComplexEvents) -> Rows:
        events, reported = self._reported(found)
        return shown(self._mode, self._look_back.checked, events, reported, self._budget)

    def _matches(self, found: ComplexEvents) -> Matches:
        events, reported = self._reported(found)
        return Matches(self._look_back.checked, events, reported, self._budget)

    def _reported(self, found: ComplexEvents) -> tuple[EventStream, ComplexEvents]:
        located, events = self._kept.located(found)
        reported = finished(located, self._choice, events, self._mode, self._budget)
        if self._begin is not None:
            reported = reported.in_order(np.flatnonzero(events.times[reported.end] >= self._begin))
        if self._quota is not None:
            reported = self._quota.take(reported, events)
        return events, reported

    # -- the state

    def save(self) -> bytes:
        """Returns the state between two batches as bytes."""
        return sealed(_KIND, self._made_by, self.parts())

    def load(self, state: bytes) -> None:
        """Continues from a state that `save` returned; a state of another query is refused, and nothing is changed."""
        self.restore(unsealed(state, _KIND, self._made_by))

    def parts(self) -> Parts:
        """The state as parts of a larger state."""
        self._kept.keep(self._engine.referenced())
        return {
            **prefixed("engine", self._engine.save()),
            **prefixed("kept", self._kept.save()),
            **prefixed("look_back", self._look_back.save()),
            **prefixed("expected", self._unexpected.save()),
            **({} if self._quota is None else prefixed("quota", self._quota.save())),
        }

    def restore(self, parts: Parts) -> None:
        """Continues from the parts that `parts` returned."""
        self._engine.load(unprefixed("engine", parts))
        self._kept.load(unprefixed("kept", parts))
        self._look_back.load(unprefixed("look_back", parts))
        self._unexpected.load(unprefixed("expected", parts))
        if self._quota is not None:
            self._quota.load(unprefixed("quota", parts))
