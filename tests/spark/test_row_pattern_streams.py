"""MATCH_RECOGNIZE over streams: what is told early is right, once, and goes on after a restart."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from amounts import most, shares
from arriving import all_told, micros, plan_of, streaming_text
from fake_state import FakeStore, Timers
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row, SparkSession
from random_clauses import random_table

import ensue
from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.row_patterns.result_rows import recognize_rows
from ensue.spark.bucket_count import BucketCount
from ensue.spark.recipe import TIME
from ensue.spark.recognize.row_recipe import RowRecipe
from ensue.spark.streaming import BucketProcessor
from ensue.spark.type_mapping import arrow_schema, spark_schema

# ---------------------------------------------------------------- a bucket, with a store of our own


def in_a_bucket(text: str, table: pa.Table, r: random.Random) -> Counter[str]:
    """What a bucket tells of rows out of order, in random micro-batches and with restarts."""
    plan = plan_of(text, table.schema)
    result = arrow_schema(spark_schema(recognize_rows(plan, table.slice(0, 0)).schema))
    recipe = RowRecipe(plan, "at", table.schema, result, 100_000)
    travelling = table.rename_columns([TIME if n == "at" else n for n in table.column_names])
    at = micros(table)
    sent = sorted(range(len(at)), key=lambda i: at[i] + r.uniform(0, 3_000_000))
    store, found, latest = FakeStore(), Counter[str](), 0
    processor = BucketProcessor(recipe, BucketCount(1, 0))
    processor.init(store.handle)
    while sent or any(due <= 21_000 for due in store.timers):
        batch, sent = sent[: (n := r.randrange(1, 4))], sent[n:]
        watermark = (latest - 3_000_000) // 1000 - 1 if batch else 21_000
        rows = [Row(place=0, rows=table_bytes(travelling.take(batch)))] if batch else []
        told = list(processor.handleInputRows((0,), iter(rows), Timers(max(watermark, 0)))) if batch else []
        for due in store.due(max(watermark, 0)):
            told += processor.handleExpiredTimer((0,), Timers(max(watermark, 0)), due)
        assert not any(row.late for row in told)
        found.update(repr(row) for one in told if one.rows is not None for row in table_of(one.rows).to_pylist())
        latest = max([latest, *(at[i] for i in batch)])
        if r.random() < 0.3:
            processor.close()
            processor = BucketProcessor(recipe, BucketCount(1, 0))
            processor.init(store.handle)
    return found


def compare(seed: int) -> str:
    r = random.Random(f"bucket of rows {seed}")
    text, table = streaming_text(r), random_table(r)
    # Rows of one time have an order of their own, as it does not say in which they come.
    table = table.set_column(2, "at", pa.array([m + i for i, m in enumerate(micros(table))], pa.timestamp("us")))
    try:
        expected = all_told(text, table, [21_000_000])
        found = in_a_bucket(text, table, r)
    except ensue.DataError:
        return "refused"
    assert found == expected, f"seed {seed}:\n{text}\n{table.to_pylist()}"
    return "compared"


@pytest.mark.parametrize("seeds", shares(120, each=60), ids=str)
def test_a_bucket_tells_what_rows_in_order_tell(seeds):
    outcomes = [compare(seed) for seed in seeds]
    assert outcomes.count("compared") > most(seeds, 0.7)


# ---------------------------------------------------------------- in Spark

SHAPES = """SELECT k, m, n, lag FROM t MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY time
    MEASURES array_agg(v) AS m, MATCH_NUMBER() AS n, PREV(FIRST(v)) AS lag
    PATTERN (A B+ C+) DEFINE B AS v < PREV(v), C AS v > PREV(v))"""
RUNS = """SELECT k, m, c FROM t MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY time MEASURES sum(v) AS m, CLASSIFIER() AS c
    ALL ROWS PER MATCH WITH UNMATCHED ROWS
    PATTERN (A B{1,2}) WITHIN INTERVAL '2' SECOND DEFINE A AS v > 0, B AS v < A.v)"""


class Stream:
    """A folder that gets a file for each run, and one checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        (folder / "source").mkdir()
        self.files = 0

    def frame(self, columns: str = "time timestamp, k string, v int") -> Any:
        events = self.spark.readStream.schema(columns).json(str(self.folder / "source"))
        return events.withWatermark("time", "1 second")

    def run(self, query: str, rows: Sequence[tuple[int, str, int]], *, columns: str = "", **options: Any) -> Any:
        """All rows so far, after a run that has these new events: seconds, key, value."""
        lines = "".join(json.dumps({"time": f"2024-01-01T00:00:{t:02}Z", "k": k, "v": v}) + "\n" for t, k, v in rows)
        (self.folder / "source" / f"{self.files:03}.json").write_text(lines)
        self.files += 1
        found = ensue.sql(query, t=self.frame(columns) if columns else self.frame(), **options)
        writer = found.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        writer.trigger(availableNow=True).start(str(self.folder / "sink")).awaitTermination()
        read = self.spark.read.schema(found.schema).parquet(str(self.folder / "sink"))
        return sorted((tuple(row) for row in read.collect()), key=repr)


FIRST = [(1, "a", 9), (2, "a", 5), (3, "a", 6), (3, "b", 1)]
SECOND = [(5, "a", 3), (4, "a", 7), (6, "a", 2), (6, "b", 0), (7, "b", 5)]
THIRD = [(8, "a", 4), (9, "a", 1), (12, "b", 0), (40, "z", 0)]


def in_memory(query: str, rows: Sequence[tuple[int, str, int]]) -> Any:
    columns = [pa.array(c) for c in zip(*rows, strict=True)]
    table = pa.table({"time": columns[0].cast(pa.timestamp("s", "UTC")), "k": columns[1], "v": columns[2]})
    return sorted((tuple(row.values()) for row in ensue.sql(query, t=table).to_arrow().to_pylist()), key=repr)


def test_matches_are_told_once_and_a_restart_goes_on(spark, tmp_path):
    stream = Stream(spark, tmp_path)
    assert stream.run(SHAPES, FIRST) == []
    assert stream.run(SHAPES, SECOND) == [("a", [9, 5, 6, 7], 1, None)]
    same = SHAPES.replace("PATTERN", "-- the same\n PATTERN")
    assert stream.run(same, THIRD) == in_memory(SHAPES, [*FIRST, *SECOND, *THIRD])


def test_within_and_rows_of_no_match(spark, tmp_path):
    stream = Stream(spark, tmp_path)
    for rows in (FIRST, SECOND, THIRD):
        found = stream.run(RUNS, rows)
    everything = in_memory(RUNS, [*FIRST, *SECOND, *THIRD])
    assert everything == sorted([*found, ("z", None, None)], key=repr)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"query": SHAPES.replace("C+", "C*")}, "differs: clause"),
        ({"columns": "time timestamp, k string, v bigint"}, "differs: columns sent to Python"),
        ({"buckets": 64}, "number of buckets"),
        ({"alone": True}, "differs: alone"),
    ],
    ids=str,
)
def test_a_change_is_refused_and_the_stream_as_it_was_goes_on(spark, tmp_path, change, said):
    stream = Stream(spark, tmp_path)
    stream.run(SHAPES, FIRST)
    with pytest.raises(StreamingQueryException, match=said):
        stream.run(**{"query": SHAPES, "rows": [(3, "new", 1)], **change})
    assert ("a", [9, 5, 6, 7], 1, None) in stream.run(SHAPES, SECOND)


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("ORDER BY v PATTERN (A)", "must be a timestamp; 'v' is of type int"),
        ("PATTERN (A)", "ORDER BY begins with the column of the watermark, ascending: there is no ORDER BY"),
        ("ORDER BY time DESC PATTERN (A)", "its first column has another order"),
        ("ORDER BY date_trunc('day', time) PATTERN (A)", "its first column has another order"),
        ("ORDER BY time PATTERN (A $)", r"\$ never holds"),
        ("ORDER BY time PATTERN (A) DEFINE A AS v > avg(v) OVER (ROWS 3 PRECEDING)", "cannot be over a stream"),
    ],
)
def test_what_a_stream_cannot_have(spark, tmp_path, clause, said):
    frame = Stream(spark, tmp_path).frame()
    with pytest.raises((ensue.QueryError, ensue.DataError), match=said):
        ensue.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=frame)


def test_a_stream_without_a_watermark(spark, tmp_path):
    frame = spark.readStream.schema("time timestamp, v int").json(str(tmp_path))
    with pytest.raises(ensue.DataError, match="no watermark on 'time'"):
        ensue.sql("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY time PATTERN (A))", t=frame)


def test_explain(spark, tmp_path):
    frame = Stream(spark, tmp_path).frame()
    said = ensue.explain_sql(SHAPES, t=frame)
    assert "runs        stream" in said
    assert "by k, in buckets" in said
    assert "1 row of each key before them" in said
    assert "a match has no bound" in said
    assert "no bound" not in ensue.explain_sql(RUNS, t=frame)
