"""A query over a finite DataFrame: a lazy DataFrame of matches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue.data.budget import Budget, Large
from ensue.engines.row_quota import RowQuota
from ensue.engines.whole_tables import Work, evaluate_in_batches
from ensue.results.matches import Matches
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import compacted
from ensue.spark.layout import Layout, Slices
from ensue.spark.packing import PACKED, Batches, Packer, gathered, unpacked
from ensue.spark.read_by_tasks import ReadByTasks
from ensue.spark.recipe import SLICE, TIE, TIME, Recipe, in_order, travelling_name
from ensue.spark.relevance import Relevance

#: A row's place in its DataFrame, which orders events of equal time.
_CAME = "__ensue_came"
#: The number of events that are evaluated at a time, and the number of rows that are returned at a time.
_STEP = 1 << 18
_ROWS_BACK = 1 << 14


def run_batch(travelling: DataFrame, layout: Layout, recipe: Recipe, result: T.StructType) -> DataFrame:
    """The matches of the travelling columns."""
    if layout.slices is not None:
        buckets = int(travelling.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        packed = compacted(travelling).mapInArrow(Packer(BucketCount(buckets, 0), layout.slices), PACKED)
        return packed.repartition("bucket").mapInArrow(EvaluateSlices(recipe.by_slice, recipe, layout.slices), result)
    came = travelling.withColumn(_CAME, F.monotonically_increasing_id())
    shared = came.repartition(1) if layout.one_task else came.repartition(*map(travelling_name, layout.keys))
    order = [F.col(c).asc_nulls_last() for c in (TIME, TIE, _CAME) if c in shared.columns]
    ordered = shared.sortWithinPartitions(*order).drop(_CAME)
    return compacted(ordered).mapInArrow(EvaluateSorted(recipe), result)


def run_on_files(session: SparkSession, files: ReadByTasks, recipe: Recipe, result: T.StructType) -> DataFrame:
    """The matches of files that the tasks read themselves."""
    tasks = len(files.stretches)
    return session.range(0, tasks, 1, tasks).mapInArrow(EvaluateFiles(recipe, files), result)


@dataclass(frozen=True)
class EvaluateSlices:
    """`mapInArrow` function: turns the blobs of some slices into rows of matches; a task's events are in memory."""

    by_slice: Recipe
    recipe: Recipe
    slices: Slices

    def __call__(self, batches: Batches) -> Batches:
        budget = self.recipe.budget()
        with budget.explaining_memory_errors():
            yield from self._rows(batches, budget)

    def _rows(self, batches: Batches, budget: Budget) -> Batches:
        table = unpacked(batches)
        if table is None:
            return
        # Putting them in order copies them.
        budget.holder().hold(Large.TASK, 2 * table.nbytes, len(table))
        stream = self.by_slice.stream(in_order(table))
        begins = stream.table.column(SLICE).to_numpy() * self.slices.length
        work = Work(
            self.by_slice.choice.for_rows,
            stream,
            threads=1,
            batch=_STEP,
            given=self.by_slice.given,
            budget=budget,
            passing=True,
        )
        quota = RowQuota.of(self.recipe.choice.checked.query)  # the first rows of all are among the first of each task
        for found in evaluate_in_batches(work):
            # The previous slice reports the matches that end before this slice begins.
            own = found.in_order(np.flatnonzero(stream.times[found.end] >= begins[found.end]))
            if quota is not None:
                own = quota.take(own, stream)
            for rows in Matches(self.recipe.choice.checked, stream, own, budget).tables():
                yield from _handed_back(rows, self.recipe)
            if quota is not None and quota.full:
                break


@dataclass(frozen=True)
class EvaluateSorted:
    """`mapInArrow` function: turns sorted events into rows of matches; it keeps only what partial matches need."""

    recipe: Recipe

    def __call__(self, batches: Batches) -> Batches:
        budget = self.recipe.budget()
        with budget.explaining_memory_errors():
            yield from _evaluated(gathered(batches, _STEP), self.recipe, budget)
            for _ in batches:  # Spark wants all of its rows to be read, also those behind the last row of a LIMIT
                pass


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
                yield from _evaluated(tables, self.recipe, budget, stretch.begin)


def _in_steps(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    for table in tables:
        for start in range(0, len(table), _STEP):
            yield table.slice(start, _STEP)


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
        if sum(map(len, waiting)) >= _STEP:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _evaluated(tables: Iterable[pa.Table], recipe: Recipe, budget: Budget, begin: int | None = None) -> Batches:
    """The rows of matches of events in order; with `begin`, only of those that do not end before it."""
    running = recipe.running(budget, passing=True, begin=begin)
    for table in tables:
        for rows in running.tables(recipe.stream(table)):
            yield from _handed_back(rows, recipe)
        if running.full:
            return
    for rows in running.finish() if recipe.closed else ():
        yield from _handed_back(rows, recipe)


def _handed_back(rows: pa.Table, recipe: Recipe) -> Iterator[pa.RecordBatch]:
    yield from recipe.rows(rows).combine_chunks().to_batches(max_chunksize=_ROWS_BACK)
