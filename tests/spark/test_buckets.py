"""The state of a stream without Spark: buckets of keys with events out of order, saved and restored at every batch.

It is what runs in a Python worker, with a handle of our own in place of Spark's: so every case of the corpus and a
thousand random queries take seconds. What Spark does around it, the other files of this folder test.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from corpus_cases import CORPUS, TIMED
from fake_state import FakeStore, Timers
from pyspark.sql import Row
from sparkling import Case, case_of, differences, on_a_clock, rows_of
from strategies import events_table, random_query, random_stream

from ensue.errors import DataError, EngineError
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.parcel import table_bytes, table_of
from ensue.pipeline import plan_or_reason
from ensue.plan import Plan
from ensue.schema import Schema
from ensue.spark.recipe import TIE, TIME, TYPE, Recipe
from ensue.spark.streaming import BucketProcessor
from ensue.spark.types import arrow_schema, spark_schema


def recipe_of(case: Case) -> Recipe:
    """What travels to a worker, with no predicate evaluated by the JVM."""
    query = parse_query(case.text)
    checked = check(query, case.text, Schema.of(case.table.schema))
    result = arrow_schema(spark_schema(case.matches("auto").to_arrow().schema))
    return Recipe(checked, plan_or_reason(checked), 1000, 0, result)


def travelling(case: Case) -> pa.Table:
    """The columns as the JVM hands them over."""
    column = case.options.get("type") or "type"
    stream = parse_query(case.text).streams[0]
    types = case.table.column(column) if column in case.table.column_names else pa.array([stream] * len(case.table))
    extra = {TIME: case.table.column(case.time), TYPE: types, TIE: case.table.column("nth")}
    return pa.table({n: case.table.column(n) for n in case.table.column_names} | extra)


def run_in_a_bucket(case: Case, rng: Random, disorder: float = 3.0) -> list[pa.Table]:
    """Rows of matches, over random micro-batches of events out of order; one bucket holds all keys."""
    table = travelling(case)
    times = [t.timestamp() for t in case.table.column(case.time).to_pylist()]
    sent = sorted(range(len(times)), key=lambda i: times[i] + rng.uniform(0, disorder))
    store = FakeStore()
    recipe = recipe_of(case)
    found, latest = [], 0.0
    while sent or store.timers:
        batch, sent = sent[: (n := rng.randrange(4))], sent[n:]
        watermark = 0 if not latest else int((latest - disorder) * 1000) - 1
        if not sent and not batch:
            watermark = 10**14
        processor = BucketProcessor(recipe, 1)  # a new one, as after a restart
        processor.init(store)
        rows = [Row(place=0, rows=table_bytes(table.take(pa.array(batch))))] if batch else []
        told = list(processor.handleInputRows((0,), iter(rows), Timers(watermark))) if batch else []
        for due in store.due(watermark):
            told += processor.handleExpiredTimer((0,), Timers(watermark), due)
        processor.close()
        found += [table_of(row.rows) for row in told if row.rows is not None]
        assert [row.late for row in told if row.late] == []
        latest = max([latest, *(times[i] for i in batch)])
    return found


def compared(cases: Sequence[Case], rng: Random) -> list[str]:
    found = [sum((rows_of(t) for t in run_in_a_bucket(c, rng)), rows_of(pa.table({}))) for c in cases]
    return differences(cases, found)


@pytest.mark.parametrize("disorder", [0.0, 3.0, 1000.0])
def test_every_case_of_the_corpus(disorder):
    rng = Random(f"corpus {disorder}")
    cases = [c for c in TIMED if len(c.table)]
    assert len(CORPUS) - len(TIMED) <= 1
    found = [sum((rows_of(t) for t in run_in_a_bucket(c, rng, disorder)), rows_of(pa.table({}))) for c in cases]
    assert differences(cases, found) == []


@pytest.mark.parametrize("first", range(0, 1_000, 250))
def test_random_queries(first):
    planned = 0
    for seed in range(first, first + 250):
        rng = Random(f"buckets {seed}")
        case = on_a_clock(
            case_of(str(seed), print_query(random_query(rng)), events_table(random_stream(rng, 12)), unit="s")
        )
        planned += isinstance(recipe_of(case).plan, Plan)
        assert compared([case], rng) == [], seed
    assert planned > 80
