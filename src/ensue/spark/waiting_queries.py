"""Several queries over events that wait for the watermark, where nothing is told before and nothing is taken back.

The events wait once for all queries. Each query then gets those that can change something for it: its own work is the
smaller, the fewer events it reads. Events and matches need no identities here, as they do where matches are corrected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.envelope import Parts, prefixed, unprefixed
from ensue.data.events import EventStream
from ensue.results.running_query import RunningQuery
from ensue.spark.query_set import QuerySet
from ensue.spark.recipe import TYPE, Recipe
from ensue.spark.relevance import Relevance
from ensue.spark.tagged_rows import rows_of_matches


@dataclass(frozen=True)
class WaitingQueries:
    """What a worker needs to evaluate them; it can be pickled. A query without `relevance` reads all events."""

    queries: QuerySet
    relevance: Mapping[str, Relevance]

    @property
    def result(self) -> pa.Schema:
        return self.queries.result

    @property
    def made_by(self) -> Mapping[str, str]:
        return self.queries.made_by

    @property
    def expires_after(self) -> int | None:
        """After how long what the slowest of them keeps matters no more, of those that say it."""
        each = [recipe.expires_after for recipe in self._recipes.values()]
        return max((ticks for ticks in each if ticks is not None), default=None)

    def budget(self) -> Budget:
        return self.queries.budget()

    def running(self, budget: Budget) -> RunningQueries:
        return RunningQueries(self, {name: recipe.running(budget) for name, recipe in self._recipes.items()})

    def stream(self, table: pa.Table) -> EventStream:
        """The events with their types as a dictionary, which is made once for all queries."""
        types = table.column(TYPE)
        if not pa.types.is_dictionary(types.type):
            table = table.set_column(table.column_names.index(TYPE), TYPE, types.dictionary_encode())
        return next(iter(self._recipes.values())).stream(table)

    def rows(self, table: pa.Table) -> pa.Table:
        return self.queries.rows(table)

    @property
    def _recipes(self) -> Mapping[str, Recipe]:
        return self.queries.recipes


@dataclass(frozen=True)
class RunningQueries:
    """The queries over the events that came so far; their states can be taken and put back."""

    work: WaitingQueries
    each: Mapping[str, RunningQuery]

    @property
    def open(self) -> int:
        return sum(running.open for running in self.each.values())

    @property
    def open_windows(self) -> int:
        return sum(running.open_windows for running in self.each.values())

    def unexpected(self) -> int:
        return sum(running.unexpected() for running in self.each.values())

    def beyond(self) -> int:
        return sum(running.beyond() for running in self.each.values())

    @property
    def next_due(self) -> int | None:
        return min((due for running in self.each.values() if (due := running.next_due) is not None), default=None)

    def push(self, events: EventStream) -> pa.Table:
        relevant = {name: self._relevant(name, events) for name in self.each}
        told = {name: self.each[name].push(own) for name, own in relevant.items() if len(own)}
        return rows_of_matches(told, self.work.result)

    def _relevant(self, name: str, events: EventStream) -> EventStream:
        relevance = self.work.relevance.get(name)
        if relevance is None:
            return events
        found = relevance.among(events)
        return events if found.all() else events.at(np.flatnonzero(found))

    def pass_time(self, time: int) -> pa.Table | None:
        told = {name: rows for name, running in self.each.items() if (rows := running.pass_time(time)) is not None}
        return rows_of_matches(told, self.work.result) if told else None

    def parts(self) -> Parts:
        found: Parts = {}
        for name, running in self.each.items():
            found |= prefixed(f"query {name}", running.parts())
        return found

    def restore(self, parts: Parts) -> None:
        for name, running in self.each.items():
            running.restore(unprefixed(f"query {name}", parts))
