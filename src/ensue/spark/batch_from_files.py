"""A query over Parquet files that the tasks read themselves: one task for each stretch of time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from ensue.spark.batch import STEP, evaluated
from ensue.spark.groups_of_tasks import put_together, schema_sent
from ensue.spark.packing import Batches
from ensue.spark.read_by_tasks import ReadByTasks
from ensue.spark.recipe import Recipe
from ensue.spark.relevance import Relevance


def run_on_files(session: SparkSession, files: ReadByTasks, recipe: Recipe, result: T.StructType) -> DataFrame:
    """The matches of the files."""
    tasks = len(files.stretches)
    found = session.range(0, tasks, 1, tasks).mapInArrow(EvaluateFiles(recipe, files), schema_sent(recipe, result))
    return put_together(found, recipe, result)


@dataclass(frozen=True)
class EvaluateFiles:
    """`mapInArrow` function: a row is the number of a stretch, whose events it reads from files, in order."""

    recipe: Recipe
    files: ReadByTasks

    def __call__(self, batches: Batches) -> Batches:
        for number in itertools.chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            stretch, budget = self.files.stretches[number], self.recipe.budget()
            with budget.explaining_memory_errors():
                tables = _in_steps(self.files.reader.in_order(stretch, budget))
                if self.files.relevance is not None:
                    tables = _joined(_relevant(tables, self.recipe, self.files.relevance))
                yield from evaluated(tables, self.recipe, budget, stretch.begin)


def _in_steps(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    for table in tables:
        for start in range(0, len(table), STEP):
            yield table.slice(start, STEP)


def _relevant(tables: Iterable[pa.Table], recipe: Recipe, relevance: Relevance) -> Iterator[pa.Table]:
    """Only the events that can change something."""
    for table in tables:
        found = relevance.among(recipe.stream(table))
        yield table if found.all() else table.filter(pa.array(found))


def _joined(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Small tables joined to larger ones."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= STEP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
