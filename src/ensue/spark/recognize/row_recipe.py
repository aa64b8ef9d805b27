"""What a Python worker needs to evaluate a clause over the columns that the JVM sends; it can be pickled."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.row_patterns.match_finding import Plan
from ensue.row_patterns.result_rows import recognize_rows
from ensue.spark.batch import ROWS_BACK
from ensue.spark.packing import Batches, unpacked
from ensue.spark.recipe import TIME, with_own_names
from ensue.spark.task_memory import TaskMemory
from ensue.spark.type_mapping import in_zone


def _advice(what: Large) -> list[str]:
    if what is not Large.TASK:
        return []
    return ["more tasks: set spark.sql.shuffle.partitions higher", "PARTITION BY, which shares the rows out"]


@dataclass(frozen=True)
class RowRecipe:
    """A clause and the schema of its rows. `time` is the column that travels as TIME; times are seen in `zone`."""

    plan: Plan
    time: str | None
    result: pa.Schema
    zone: str
    steps: int
    memory: TaskMemory = field(default_factory=TaskMemory)

    def table(self, travelled: pa.Table) -> pa.Table:
        """The columns under the names that the clause has for them."""
        table = with_own_names(travelled)
        table = table.rename_columns([str(self.time) if n == TIME else n for n in table.column_names])
        return table.cast(in_zone(table.schema, self.zone))

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows with exactly the types that Spark was promised."""
        return table.cast(self.result, safe=False)

    def budget(self) -> Budget:
        """What a task may take."""
        return self.memory.budget(_advice)


@dataclass(frozen=True)
class RecognizeBuckets:
    """`mapInArrow` function: turns the blobs of some buckets of keys into the rows of the clause."""

    recipe: RowRecipe

    def __call__(self, batches: Batches) -> Batches:
        budget = self.recipe.budget()
        with budget.explaining_memory_errors():
            table = unpacked(batches)
            if table is None:
                return
            # Putting them in order copies them.
            budget.holder().hold(Large.TASK, 2 * table.nbytes, len(table))
            found = recognize_rows(self.recipe.plan, self.recipe.table(table), self.recipe.steps)
            yield from self.recipe.rows(found).combine_chunks().to_batches(max_chunksize=ROWS_BACK)
