"""`AGGREGATE` over a finite DataFrame: each task folds its groups, and one task puts the groups of all together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream
from ensue.plan.mode import Mode
from ensue.spark.packing import Batches, handed_back
from ensue.spark.recipe import Recipe

#: What a task sends: tables of parts as bytes, which no session's zone changes on the way.
_SENT = "groups"
SENT = T.StructType([T.StructField(_SENT, T.BinaryType())])
#: So many groups are in one row.
_GROUPS_A_ROW = 1 << 16
#: What a DataFrame has for a number that does not fit 64 bits.
_INSTEAD = "and log2(count(*)) says how large a number of matches is"


class TaskGroups:
    """The groups of one task."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._folded = recipe.grouping.nothing()

    def add(self, found: ComplexEvents, stream: EventStream) -> None:
        """What was found at some ends."""
        grouping = self._recipe.grouping
        self._folded = grouping.folded(pa.concat_tables([self._folded, grouping.rows(found, stream)]))

    def sent(self) -> Batches:
        return sent(self._recipe, self._folded)


def sent(recipe: Recipe, folded: pa.Table) -> Batches:
    """What a task sends of its groups; each end is in one task, so its row is sent as it is."""
    if recipe.grouping.is_per_end:
        recipe.grouping.warn_of_beyond(folded, _INSTEAD)
        yield from handed_back(recipe.rows(recipe.grouping.finished_or_none(folded)))
        return
    for start in range(0, max(len(folded), 1), _GROUPS_A_ROW):
        part = folded.slice(start, _GROUPS_A_ROW).combine_chunks()
        yield pa.RecordBatch.from_pydict({_SENT: pa.array([bytes(table_bytes(part))], pa.binary())})


def schema_sent(recipe: Recipe, result: T.StructType) -> T.StructType:
    """The columns that the tasks send."""
    return SENT if recipe.mode is Mode.TOTALS and not recipe.grouping.is_per_end else result


def put_together(rows: DataFrame, recipe: Recipe, result: T.StructType) -> DataFrame:
    """The result, of what all tasks have sent."""
    if recipe.mode is not Mode.TOTALS or recipe.grouping.is_per_end:
        return rows
    return rows.repartition(1).mapInArrow(PutTogether(recipe), result)


@dataclass(frozen=True)
class PutTogether:
    """`mapInArrow` function of one task."""

    recipe: Recipe

    def __call__(self, batches: Batches) -> Batches:
        grouping = self.recipe.grouping
        folded = grouping.folded(pa.concat_tables([grouping.nothing(), *_tables(batches)]))
        grouping.warn_of_beyond(folded, _INSTEAD)
        yield from handed_back(self.recipe.rows(grouping.finished(folded)))


def _tables(batches: Batches) -> Iterable[pa.Table]:
    for batch in batches:
        for value in batch.column(0):
            yield table_of(value.as_buffer())
