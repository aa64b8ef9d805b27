"""What is aggregated over all matches on Spark is what the embedded engine gives."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import ensue
from ensue.errors import QueryError

ITEMS = "count(*) AS n, sum(y.v) AS s, max(sum(y.v)) AS m, avg(end_time - start_time) AS took, log2(count(*)) AS l"
PATTERN = "FROM S WHERE A AS x ; (B AS y)+ ; C"
EVENTS = 2_000


def table() -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "time": pa.array(np.arange(EVENTS) * 1_000_000, pa.timestamp("us", "UTC")),
            "type": pa.array(np.array(list("ABC"))[rng.integers(0, 3, EVENTS)]),
            "v": pa.array(rng.integers(0, 100, EVENTS)),
            "k": pa.array(rng.integers(0, 5, EVENTS)),
        }
    )


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    import pyarrow.parquet as pq

    path = str(tmp_path_factory.mktemp("events") / "events.parquet")
    pq.write_table(table(), path)
    return spark.read.parquet(path)


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, timedelta):
        return round(value.total_seconds(), 3)
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def sorted_rows(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr({name: plain(v) for name, v in row.items() if name != "position"}) for row in rows)


@pytest.mark.parametrize(
    "rest",
    [
        "WITHIN 8 s",
        "PARTITION BY k WITHIN 20 s GROUP BY k, EVERY 10 min",
        "PARTITION BY k WITHIN 9 EVENTS GROUP BY k",
        "PARTITION BY k WITHIN 20 s GROUP BY END",
        "PARTITION BY k WITHIN 20 s CONSUME BY PARTITION GROUP BY EVERY 20 min",
        "FILTER x.v < y.v WITHIN 8 s GROUP BY EVERY 20 min",
    ],
)
def test_batches(events: DataFrame, rest: str) -> None:
    query = ensue.query(f"AGGREGATE {ITEMS} {PATTERN} {rest}")
    found = [row.asDict() for row in query.run(events).collect()]
    assert sorted_rows(found) == sorted_rows(query.run(table()).to_arrow().to_pylist())


def test_nothing_is_one_row(events: DataFrame) -> None:
    query = ensue.query("AGGREGATE count(*) AS n, max(x.v) AS m FROM S WHERE A AS x ; X WITHIN 2 s")
    assert [row.asDict() for row in query.run(events).collect()] == [{"n": 0, "m": None}]


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("WITHIN 8 s", "these groups are complete when the stream ends"),
        ("PARTITION BY k WITHIN 8 s GROUP BY EVERY 1 min", "a stream keeps the groups of each key"),
    ],
)
def test_groups_that_a_stream_never_completes(spark: SparkSession, rest: str, message: str) -> None:
    stream = spark.readStream.format("rate").load()
    stream = stream.selectExpr("timestamp AS time", "'A' AS type", "value AS v", "value % 5 AS k")
    stream = stream.withWatermark("time", "1 second")
    with pytest.raises(QueryError, match=message):
        ensue.query(f"AGGREGATE {ITEMS} {PATTERN} {rest}").run(stream)
    with pytest.raises(QueryError, match="disorder='revise'"):
        ensue.query(f"AGGREGATE {ITEMS} {PATTERN} WITHIN 8 s GROUP BY END").run(stream, disorder="revise")


def test_a_stream_tells_buckets_that_the_watermark_has_passed(spark: SparkSession, tmp_path: Any) -> None:
    """In micro-batches of some events each; the last bucket is told when later events have moved the watermark."""
    import pyarrow.parquet as pq

    folder = tmp_path / "stream"
    folder.mkdir()
    whole = table()
    for number in range(4):
        file = folder / f"{number}.parquet"
        pq.write_table(whole.slice(number * 500, 500), str(file))
        os.utime(file, (number, number))  # Spark reads the oldest file first: else events come late
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    text = f"AGGREGATE {ITEMS} {PATTERN} PARTITION BY k WITHIN 20 s GROUP BY k, EVERY 5 min"
    found = ensue.query(text).run(stream.withWatermark("time", "5 seconds"))
    writing = found.writeStream.format("memory").queryName("aggregated").outputMode("append")
    running = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    running.awaitTermination(120)
    told = [row.asDict() for row in spark.table("aggregated").collect()]
    expected = ensue.query(text).run(whole).to_arrow().to_pylist()
    watermark = whole.column("time")[EVENTS - 1].as_py() - timedelta(seconds=5)
    complete = [r for r in expected if r["end_bucket"] + timedelta(minutes=5) <= watermark]
    assert complete
    assert sorted_rows(told) == sorted_rows(complete)
