"""A query over a finite DataFrame: a lazy DataFrame of matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue.data.budget import Budget, Large
from ensue.data.events import as_integers
from ensue.engines.row_quota import RowQuota
from ensue.engines.whole_tables import Work, evaluate_in_batches
from ensue.plan.mode import Mode
from ensue.results.detections import shown
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import compacted
from ensue.spark.groups_of_tasks import TaskGroups, put_together, schema_sent, sent
from ensue.spark.layout import Layout, Slices
from ensue.spark.packing import PACKED, Batches, Packer, gathered, handed_back, unpacked
from ensue.spark.past_of_slices import Past, past_of
from ensue.spark.recipe import SLICE, TIE, TIME, Recipe, in_order, travelling_name

#: A row's place in its DataFrame, which orders events of equal time.
_CAME = "__ensue_came"
#: The number of events that are evaluated at a time.
STEP = 1 << 18


def run_batch(travelling: DataFrame, layout: Layout, recipe: Recipe, result: T.StructType) -> DataFrame:
    """The matches of the travelling columns."""
    if layout.slices is not None:
        buckets = int(travelling.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        packed = compacted(travelling).mapInArrow(Packer(BucketCount(buckets, 0), layout.slices), PACKED)
        past = past_of(travelling, layout.slices, buckets, recipe) if layout.slices.past else None
        evaluate = EvaluateSlices(recipe.by_slice, recipe, layout.slices, past)
        found = packed.repartition("bucket").mapInArrow(evaluate, schema_sent(recipe, result))
        return put_together(found, recipe, result)
    came = travelling.withColumn(_CAME, F.monotonically_increasing_id())
    shared = came.repartition(1) if layout.one_task else came.repartition(*map(travelling_name, layout.keys))
    order = [F.col(c).asc_nulls_last() for c in (TIME, TIE, _CAME) if c in shared.columns]
    ordered = shared.sortWithinPartitions(*order).drop(_CAME)
    found = compacted(ordered).mapInArrow(EvaluateSorted(recipe), schema_sent(recipe, result))
    return put_together(found, recipe, result)


@dataclass(frozen=True)
class EvaluateSlices:
    """`mapInArrow` function: turns the blobs of some slices into rows of matches; a task's events are in memory."""

    by_slice: Recipe
    recipe: Recipe
    slices: Slices
    past: Past | None = None  # what stands before each slice, if it matters

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
        stream = stream if self.past is None else self.past.told_to(stream)
        begins = stream.table.column(SLICE).to_numpy() * self.slices.length
        work = Work(
            self.by_slice.evaluated,
            stream,
            threads=1,
            batch=STEP,
            given=self.by_slice.given,
            budget=budget,
            passing=True,
            mode=self.recipe.mode,
        )
        quota = RowQuota.of(self.recipe.choice.checked.query)  # the first rows of all are among the first of each task
        groups = TaskGroups(self.recipe) if self.recipe.mode is Mode.TOTALS else None
        for found in evaluate_in_batches(work):
            # The previous slice reports the matches that end before this slice begins.
            own = found.in_order(np.flatnonzero(stream.times[found.end] >= begins[found.end]))
            if groups is not None:
                groups.add(own, stream)
                continue
            if quota is not None:
                own = quota.take(own, stream)
            for rows in shown(self.recipe.mode, self.recipe.choice.checked, stream, own, budget).tables():
                yield from handed_back(self.recipe.rows(rows))
            if quota is not None and quota.full:
                break
        if groups is not None:
            yield from groups.sent()


@dataclass(frozen=True)
class EvaluateSorted:
    """`mapInArrow` function: turns sorted events into rows of matches; it keeps only what partial matches need."""

    recipe: Recipe

    def __call__(self, batches: Batches) -> Batches:
        budget = self.recipe.budget()
        with budget.explaining_memory_errors():
            yield from evaluated(gathered(batches, STEP), self.recipe, budget)
            for _ in batches:  # Spark wants all of its rows to be read, also those behind the last row of a LIMIT
                pass


def in_whole_times(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same events in tables that do not end between two events of one time."""
    kept: pa.Table | None = None
    for table in tables:
        both = table if kept is None else pa.concat_tables([kept, table])
        times = as_integers(both.column(TIME))
        whole = int(np.searchsorted(times, times[-1])) if len(times) else 0
        kept = both.slice(whole)
        if whole:
            yield both.slice(0, whole)
    if kept is not None and len(kept):
        yield kept


def evaluated(tables: Iterable[pa.Table], recipe: Recipe, budget: Budget, begin: int | None = None) -> Batches:
    """The rows of matches of events in order; with `begin`, only of those that do not end before it."""
    if recipe.mode is Mode.TOTALS:
        yield from _folded(tables, recipe, budget, begin)
        return
    running = recipe.running_once(budget)
    if begin is not None:
        running.report_from(begin)
    for table in in_whole_times(tables) if recipe.choice.by_time else tables:
        for rows in running.tables(recipe.stream(table)):
            yield from handed_back(recipe.rows(rows))
        if running.full:
            return
    for rows in running.finish() if recipe.closed else ():
        yield from handed_back(recipe.rows(rows))


def _folded(tables: Iterable[pa.Table], recipe: Recipe, budget: Budget, begin: int | None) -> Batches:
    """The groups of the matches of events in order."""
    running = recipe.folding_once(budget)
    if begin is not None:
        running.report_from(begin)
    for table in tables:
        running.add(recipe.stream(table))
    yield from sent(recipe, running.groups(closed=recipe.closed))
