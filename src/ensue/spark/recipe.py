"""What a Python worker needs to evaluate a query over the columns that the JVM sends; it can be pickled.

The columns that cross from the JVM to Python are called travelling columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.events import EventStream, as_integers, one_chunk
from ensue.engines.item_lookback import ItemLookBack
from ensue.language import ast
from ensue.logic.memory_advice import advice_for
from ensue.plan.choice import Choice, choose
from ensue.plan.mode import Mode
from ensue.results.running_groups import RunningTotals
from ensue.results.running_query import RunningQuery
from ensue.results.totals import Grouping
from ensue.spark.task_memory import TaskMemory
from ensue.spark.type_mapping import in_zone

# The travelling columns besides the user's own.
TIME, TYPE, WORD, TIE, HASH = "__ensue_time", "__ensue_type", "__ensue_word", "__ensue_tie", "__ensue_hash"
#: The column of a row that is no event, but promises that none of a type comes any more before its time.
PROMISE = "__ensue_promise"
#: The column that holds an event's slice; it never leaves Python.
SLICE = "\0slice"


_SPELLED = "__ensue_named_"


def travelling_name(attribute: str) -> str:
    """The name under which an attribute travels, in hex if needed: PySpark would read a name with dots as a path."""
    return attribute if attribute.isidentifier() else _SPELLED + attribute.encode().hex()


def with_own_names(table: pa.Table) -> pa.Table:
    """The travelling columns under the names that the user gave them."""
    names = [bytes.fromhex(n[len(_SPELLED) :]).decode() if n.startswith(_SPELLED) else n for n in table.column_names]
    return table.rename_columns(names)


@dataclass(frozen=True)
class Recipe:
    """A query, the predicates that the JVM has evaluated (`given`, a bit mask), and the schema of the result.

    `recorded` names what else the state of a stream depends on. Events are stored in UTC, and evaluated in `zone`.
    """

    choice: Choice
    tick: int | None
    given: int
    result: pa.Schema
    recorded: tuple[tuple[str, str], ...] = ()
    zone: str = "UTC"
    memory: TaskMemory = field(default_factory=TaskMemory)
    closed: bool = False  # whether nothing follows the events
    mode: Mode = Mode.ENUMERATE
    times: pa.DataType = field(default_factory=pa.int64)  # of the events

    def stream(self, table: pa.Table) -> EventStream:
        """The events of a table that has the travelling columns, in its order."""
        if self.zone != "UTC":
            table = table.cast(in_zone(table.schema, self.zone))
        names = table.column_names
        shown = table.column(TIME)
        nothing = pa.chunked_array([pa.nulls(len(table), pa.string())])
        words = (
            one_chunk(table.column(WORD)).to_numpy(zero_copy_only=False).astype(np.uint64) if WORD in names else None
        )
        return EventStream(
            with_own_names(table.drop_columns([c for c in (TIME, TYPE, WORD, TIE, HASH) if c in names])),
            table.column(TYPE) if TYPE in names else nothing,
            as_integers(shown),
            self.tick,
            shown,
            words,
        )

    @property
    def evaluated(self) -> Choice:
        """The choice that holds where only these rows are asked for."""
        if self.mode is Mode.TOTALS:
            return self.choice.for_totals
        return self.choice.for_rows if self.mode is Mode.ENUMERATE else self.choice

    @cached_property
    def grouping(self) -> Grouping:
        """The groups of the result, where matches are aggregated."""
        return Grouping(ItemLookBack(self.choice.checked).checked, self.times, self.tick)

    @property
    def window(self) -> int | None:
        """The longest time that a match may take, in steps of the events' times; None if it has no bound."""
        return self.choice.window.ticks(self.tick)

    @property
    def expires_after(self) -> int | None:
        """The window, after which open partial matches have expired; the reference keeps all events."""
        return None if self.choice.plan is None else self.window

    def budget(self) -> Budget:
        """What a task may take."""
        return self.memory.budget(advice_for(self.choice.checked.query, on_spark=True))

    def running(self, budget: Budget) -> RunningQuery:
        """The query over the events of a stream."""
        if self.mode is Mode.TOTALS:
            return RunningTotals(self.choice, self.tick, self.times, given=self.given, budget=budget)
        return RunningQuery(self.choice, self.tick, given=self.given, budget=budget, mode=self.mode)

    def running_once(self, budget: Budget) -> RunningQuery:
        """The query over finite events, of which only those come that matter."""
        given, closing = self.given, self.closed
        if self.mode is Mode.TOTALS:
            return self.folding_once(budget)
        how: Any = {"given": given, "passing": True, "closing": closing, "mode": self.mode}
        return RunningQuery(self.choice.unwatched, self.tick, budget=budget, **how)

    def folding_once(self, budget: Budget) -> RunningTotals:
        """The same where matches are aggregated."""
        how: Any = {"given": self.given, "budget": budget, "closing": self.closed}
        return RunningTotals(self.choice.unwatched, self.tick, self.times, **how)

    @cached_property
    def by_slice(self) -> Recipe:
        """The same query in each slice separately: the slice becomes one more partition key."""
        evaluated = self.choice.evaluated
        query = replace(evaluated.query, partition=(ast.PartitionKey(SLICE), *evaluated.query.partition))
        return replace(self, choice=choose(replace(evaluated, query=query)))

    def rows(self, table: pa.Table) -> pa.Table:
        """Rows of matches with exactly the types that Spark was promised."""
        return table.select(self.result.names).cast(self.result, safe=False)

    @property
    def made_by(self) -> dict[str, str]:
        """What a saved state depends on: what the query's own does, the result's columns, and what is recorded."""
        return {
            **self.evaluated.made_by(self.tick),
            "columns of the result": str(self.result),
            **dict(self.recorded),
        }


def in_order(table: pa.Table) -> pa.Table:
    """The events sorted by time, then by the tie-break column if there is one, then by arrival."""
    times = as_integers(table.column(TIME))
    if TIE not in table.column_names:
        return (
            table if bool((times[1:] >= times[:-1]).all()) else table.take(pa.array(np.argsort(times, kind="stable")))
        )
    numbered = pa.table({"time": pa.array(times), "tie": table.column(TIE), "came": pa.array(np.arange(len(table)))})
    order = numbered.sort_by([("time", "ascending"), ("tie", "ascending"), ("came", "ascending")]).column("came")
    return table.take(order)
