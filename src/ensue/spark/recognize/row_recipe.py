"""What a Python worker needs to evaluate a clause over the columns that the JVM sends; it can be pickled."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.row_patterns.arriving_rows import ArrivingRows
from ensue.row_patterns.match_finding import Plan
from ensue.row_patterns.result_rows import recognize_rows
from ensue.spark.packing import Batches, handed_back, unpacked
from ensue.spark.recipe import TIME, with_own_names
from ensue.spark.task_memory import TaskMemory


def _advice(what: Large) -> list[str]:
    if what is not Large.TASK:
        return []
    return ["more tasks: set spark.sql.shuffle.partitions higher", "PARTITION BY, which shares the rows out"]


@dataclass(frozen=True)
class RowRecipe:
    """A clause, the schemas of its table and of its rows, and the column that travels as TIME.

    `recorded` names what the state of a stream depends on, each with a fingerprint. Times are seen in the zone that the
    schema has.
    """

    plan: Plan
    time: str | None
    schema: pa.Schema
    result: pa.Schema
    steps: int
    recorded: tuple[tuple[str, str], ...] = ()
    memory: TaskMemory = field(default_factory=TaskMemory)

    def stream(self, table: pa.Table) -> pa.Table:
        """The columns of the clause, under the names that it has for them."""
        table = with_own_names(table)
        table = table.rename_columns([str(self.time) if n == TIME else n for n in table.column_names])
        if not self.schema.names:  # a table has no rows without columns: one travels in their place
            return table
        return table.select(self.schema.names).cast(self.schema)

    def running(self, budget: Budget) -> ArrivingRows:
        """The clause over rows that arrive; what it keeps of them is small beside what comes to the task."""
        return ArrivingRows(self.plan, self.schema, self.steps)

    @property
    def made_by(self) -> dict[str, str]:
        """What a saved state depends on."""
        return {**dict(self.recorded), "columns of the result": str(self.result)}

    @property
    def expires_after(self) -> int | None:
        """None: the rows that are kept say themselves when time decides something."""
        return None

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
            found = recognize_rows(self.recipe.plan, self.recipe.stream(table), self.recipe.steps)
            yield from handed_back(self.recipe.rows(found))
