"""What a Python worker needs to evaluate several queries over the events of one stream; it can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from ensue.corrections.change_rows import check_names
from ensue.data.budget import Budget
from ensue.data.reading import Reading
from ensue.data.schema import Schema
from ensue.errors import EngineError, listed
from ensue.language import ast
from ensue.language.parser import parse_query
from ensue.logic.aggregation import refuse_aggregation
from ensue.logic.check import check
from ensue.logic.partition_keys import column_shown, key_name
from ensue.logic.rows_of_stream import check_rows_of_stream
from ensue.own.registry import bound
from ensue.plan.choice import Choice
from ensue.spark.admission import refuse_growing_state
from ensue.spark.choosing import chosen
from ensue.spark.layout import batch_layout
from ensue.spark.recipe import Recipe
from ensue.spark.revised_bucket import Followed

#: So many queries that were added are kept ready in a worker between two micro-batches.
_READY = 256


class Adding(NamedTuple):
    """What a query must fit to that is added while the stream runs."""

    columns: pa.Schema  # of the events
    tick: int | None
    reading: tuple[tuple[str, str | None], ...]
    keys: tuple[str, ...]  # by which the events are shared out
    streams: tuple[str, ...] | None  # what FROM must name; None if any name will do
    revised: bool
    unbounded: bool


@dataclass(frozen=True)
class QuerySet:
    """The queries with which the stream began, what it gives, and, where queries are added, what those must fit to."""

    recipes: Mapping[str, Recipe]
    result: pa.Schema
    adding: Adding | None = None
    recorded: tuple[tuple[str, str], ...] = ()

    @property
    def made_by(self) -> dict[str, str]:
        """What a saved state depends on; a query that was added has its own in the state."""
        of_queries = {name: recipe.made_by for name, recipe in self.recipes.items()}
        each = {f"{what} of {name}": value for name, of in of_queries.items() for what, value in of.items()}
        return {"names of the queries": ", ".join(sorted(self.recipes)), **each, **dict(self.recorded)}

    def budget(self) -> Budget:
        return self._any.budget()

    def rows(self, table: pa.Table) -> pa.Table:
        """Rows with exactly the types that Spark was promised."""
        return table.select(self.result.names).cast(self.result, safe=False)

    @property
    def _any(self) -> Recipe:
        return next(iter(self.recipes.values()))

    def recipe_of(self, text: str) -> Recipe:
        """A query that is added; raises an EnsueError if it cannot be."""
        assert self.adding is not None
        choice = _added(text, self.adding)
        return replace(self._any, choice=choice, given=0, result=pa.schema([]), recorded=())


def refuse_together(query: ast.Query, text: str) -> None:
    """Refuses what cannot be one of several queries; raises the QueryError."""
    refuse_aggregation(query, text, "each of several queries tells its matches", "run that query by itself")


@lru_cache(_READY)
def _added(text: str, adding: Adding) -> Choice:
    query = bound(parse_query(text), text, {})
    check(query, text)
    refuse_together(query, text)
    check_rows_of_stream(query, text, revised=adding.revised)
    if adding.streams is not None and query.streams != adding.streams:
        raise EngineError(f"FROM must name {listed(adding.streams)}, as the queries do with which the stream began")
    reading = Reading(**dict(adding.reading))  # type: ignore[typeddict-item]  # the names are those of its fields
    choice = chosen(query, text, Schema.of(adding.columns), adding.tick, reading)
    keys = batch_layout(choice, adding.tick).keys
    missing = [k for k in adding.keys if k not in keys]
    if missing:
        raise EngineError(
            f"the events of the stream are shared out by {listed(adding.keys)}, and a query can only be added if it is "
            f"partitioned by that, so PARTITION BY {listed(map(column_shown, missing))} is missing"
        )
    check_names([*(column.name for column in choice.checked.outputs), *map(key_name, query.partition)])
    if not adding.unbounded:
        refuse_growing_state(choice, reading.get("time") or "time")
    return choice


@dataclass
class SharedQueries:
    """The queries of a task, for one bucket after another."""

    queries: QuerySet
    budget: Budget
    begun: dict[str, Followed] = field(init=False)

    def __post_init__(self) -> None:
        self.begun = {name: Followed.of(recipe, self.budget) for name, recipe in self.queries.recipes.items()}
        self._added: dict[tuple[str, str], Followed] = {}

    def added(self, name: str, text: str) -> Followed:
        """A query that was added; raises an EnsueError if it cannot be."""
        if (name, text) not in self._added:
            self._added[name, text] = Followed.of(self.queries.recipe_of(text), self.budget)
        return self._added[name, text]
