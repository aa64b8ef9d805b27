"""The work of a bucket of a stream without Spark: a handle of our own, and micro-batches of events out of order.

It is what runs in a Python worker. The state is saved and restored at every batch.
"""

from __future__ import annotations

from random import Random

import pyarrow as pa
from fake_state import FakeStore, Timers
from pyspark.sql import Row
from sparkling import Case

from ensue.columns.key_columns import with_keys
from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.events import read_events
from ensue.data.schema import Schema
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.plan.mode import Mode
from ensue.spark.bucket_count import BucketCount
from ensue.spark.deferred import KEPT_COUNTS
from ensue.spark.recipe import TIE, TIME, TYPE, Recipe
from ensue.spark.streaming import BucketProcessor
from ensue.spark.type_mapping import arrow_schema, spark_schema


def recipe_of(case: Case) -> Recipe:
    """What travels to a worker, with no predicate evaluated by the JVM."""
    query = parse_query(case.text)
    checked = check(query, case.text, Schema.of(case.table.schema))
    result = arrow_schema(spark_schema(case.matches("auto").to_arrow().schema))
    mode = Mode.ENUMERATE if query.aggregation is None else Mode.TOTALS
    return Recipe(choose(checked), 1000, 0, result, mode=mode, times=case.table.schema.field(case.time).type)


def travelling(case: Case) -> pa.Table:
    """The columns as the JVM hands them over."""
    column = case.options.get("type") or "type"
    query = parse_query(case.text)
    table = with_keys(read_events(case.table, query.streams, **case.options), query).table
    types = table.column(column) if column in table.column_names else pa.array([query.streams[0]] * len(table))
    extra = {TIME: table.column(case.time), TYPE: types, TIE: table.column("nth")}
    return pa.table({n: table.column(n) for n in table.column_names} | extra)


def run_in_a_bucket(case: Case, rng: Random, disorder: float = 3.0) -> list[pa.Table]:
    """Rows of matches, over random micro-batches of events out of order; one bucket holds all keys."""
    table = travelling(case)
    times = [t.timestamp() for t in case.table.column(case.time).to_pylist()]
    sent = sorted(range(len(times)), key=lambda i: times[i] + rng.uniform(0, disorder))
    store = FakeStore()
    recipe = recipe_of(case)
    final_after = rng.choice([None, int(disorder * 1000) + 2])
    processor = BucketProcessor(recipe, BucketCount(1, 0), final_after)
    processor.init(store.handle)
    found, latest = [], 0.0
    before: list[tuple[int, ...]] = []
    while sent or min(store.timers, default=10**14) < 10**14:
        batch, sent = sent[: (n := rng.randrange(4))], sent[n:]
        watermark = 0 if not latest else int((latest - disorder) * 1000) - 1
        if not sent and not batch:
            watermark = 10**14
        if rng.random() < 0.3:  # as after a restart
            processor.close()
            processor = BucketProcessor(recipe, BucketCount(1, 0), final_after)
            processor.init(store.handle)
        rows = [Row(place=0, rows=table_bytes(table.take(pa.array(batch))))] if batch else []
        rows += [Row(place=0, rows=None)] * (rng.random() < 0.7)
        told = list(processor.handleInputRows((0,), iter(rows), Timers(watermark))) if rows else []
        for due in store.due(watermark):
            told += processor.handleExpiredTimer((0,), Timers(watermark), due)
        assert len(told) <= 1
        before = [tuple(row[name] for name in KEPT_COUNTS) for row in told] or before
        assert [store.counts.value[:-1]] == before if before else store.counts.value is None
        found += [table_of(row.rows) for row in told if row.rows is not None]
        assert [row.late for row in told if row.late] == []
        latest = max([latest, *(times[i] for i in batch)])
    return found
