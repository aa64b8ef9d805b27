"""Columns of type VARIANT: what a query reads out of them is a text, in batch and as a stream."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import ensue
from ensue import QueryError

PAYLOADS = [
    {"user": {"id": 7, "name": "Ann"}, "items": ["pen", "ink"], "total": 12.5},
    {"user": {"id": 8}, "items": [], "total": 3},
    {"user": {"id": 7, "name": None}, "items": ["ink"], "it's": "odd"},
    {"user": "nobody", "total": "x"},
    None,
    {"user": {"id": 7}, "items": [{"price": 4}], "total": True},
]


def events(spark):
    """The same events with their payload as a variant, and as a text."""
    rows = [
        {"time": k, "type": "AB"[k % 2], "text": None if p is None else json.dumps(p)} for k, p in enumerate(PAYLOADS)
    ]
    frame = spark.createDataFrame(rows, "time long, type string, text string")
    return frame.withColumn("payload", F.try_parse_json("text")).drop("text")


def rows(matches) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in matches.collect()), key=repr)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT x.payload.user.id, x.payload.items[1] AS i FROM S WHERE ANY AS x FILTER x.payload.user.id = '7'",
            [(0, 0, "7", "pen"), (2, 2, "7", "ink"), (5, 5, "7", '{"price":4}')],
        ),
        (
            "SELECT x.payload.total::float AS total FROM S WHERE ANY AS x FILTER x.payload.total::float > 1",
            [(0, 0, 12.5), (1, 1, 3.0)],
        ),
        (
            "SELECT y.payload.user.id FROM S WHERE A AS x ; B AS y FILTER x.payload.user.id = y.payload.user.id",
            [(0, 5, "7"), (2, 5, "7")],
        ),
        (
            "SELECT count(x) AS n FROM S WHERE (ANY AS x){2} PARTITION BY payload.user.id",
            [("7", 0, 2, 2), ("7", 0, 5, 2), ("7", 2, 5, 2), (None, 3, 4, 2)],
        ),
        (
            "SELECT x.payload['it''s'] AS odd FROM S WHERE ANY AS x FILTER x[payload.items[1] = 'ink']",
            [(2, 2, "odd")],
        ),
        (
            "SELECT x.payload.items[1].price AS p, PREV(x.payload.total) AS b "
            "FROM S WHERE B[payload.user.id = '7'] AS x",
            [(5, 5, "4", None)],
        ),
        (
            "SELECT max(x.payload.total::float) AS top FROM S WHERE (ANY AS x)+ FILTER count(x.payload.items) = 4",
            [(0, 5, 12.5), (0, 5, 12.5)],
        ),
    ],
)
def test_paths_are_texts(spark, text, expected):
    found = rows(ensue.match(events(spark), text))
    assert sorted(set(found), key=repr) == sorted(set(expected), key=repr)


def test_a_stream(spark, tmp_path):
    frame = events(spark).withColumn("time", F.timestamp_seconds("time")).coalesce(1)
    folder = str(tmp_path / "events")
    frame.write.parquet(folder)
    for later in (100, 200):  # the watermark passes the events, and then these
        one = frame.limit(1).withColumn("time", F.timestamp_seconds(F.lit(later)))
        one.coalesce(1).write.mode("append").parquet(folder)
    stream = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(folder)
    stream = stream.withWatermark("time", "1 second")
    different = "FILTER x.payload.user.id <> y.payload.user.id"
    text = f"SELECT y.payload.total FROM S WHERE A AS x ; B AS y {different} WITHIN 1 s"
    query = (
        ensue.match(stream, text)
        .writeStream.format("memory")
        .queryName("variants")
        .option("checkpointLocation", str(tmp_path / "state"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert [row.y_payload_total for row in spark.table("variants").collect()] == ["3"]


def test_what_cannot_be_read(spark):
    with pytest.raises(QueryError) as error:
        ensue.match(events(spark), "SELECT x.payload.items[-1] AS i FROM S WHERE A AS x")
    assert str(error.value).splitlines()[0] == "error: x.payload.items[-1] cannot be read out of a variant"


def test_events_without_variants_are_as_they_were(spark):
    table = pa.table({"time": [1, 2], "type": ["A", "B"], "v": [1, 2]})
    frame = spark.createDataFrame(table)
    assert rows(ensue.match(frame, "SELECT B.v FROM S WHERE A ; B")) == [(1, 2, 2)]
