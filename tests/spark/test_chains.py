"""Operators with state behind one another in a stream: the rows are those of the same chain over tables."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from amounts import shares
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import ensue

T0 = datetime(2024, 1, 1, tzinfo=UTC)
COLUMNS = "time timestamp, type string, k int, v int"
ON_TIME, FAR = 3, 10_000  # seconds: how late an event may be sent, and the time of the last one
PAIRS = "SELECT x.v AS v, y.v AS w FROM S WHERE A AS x ; B AS y PARTITION BY k WITHIN 8 s"
FIRST = (
    PAIRS,
    "SELECT x.v AS v, y.v AS w FROM S WHERE A AS x ; B AS y FILTER x.k = y.k AND x.v <= y.v WITHIN 8 s",
    "SELECT x.v AS v, y.v AS w FROM S WHERE A AS x ;[<= 4 s] C AS y",
    "SELECT x.v AS v, y.v AS w FROM S WHERE A AS x ; NOT C ; B AS y WITHIN 6 s",
)
SECOND = (
    "SELECT a.v AS v, b.w AS w FROM M WHERE M AS a ; M AS b FILTER a.v < b.w WITHIN 9 s",
    "SELECT count(a) AS n FROM M WHERE M :+ AS a WITHIN 2 s",
    "SELECT a.v AS v FROM M WHERE M AS a ; NOT (M AS n FILTER a.v = n.v) WITHIN 3 s WITHIN 3 s",
    "SELECT NEXT a.start_time AS t, c.v AS v FROM M WHERE M AS a ; M AS b ; M AS c FILTER b.v > 1 WITHIN 9 s",
)


def random_events(rng: Random, size: int = 40) -> list[dict[str, Any]]:
    return [
        {"time": T0 + timedelta(seconds=s), "type": rng.choice("AABBC"), "k": rng.randrange(2), "v": rng.randrange(4)}
        for s in range(size)
    ]


def written(folder: Path, chains: list[list[dict[str, Any]]], rng: Random) -> None:
    """The events of all chains in the order of sending; one file for each micro-batch."""
    folder.mkdir()
    sent = [
        (e["time"] + timedelta(seconds=rng.uniform(0, ON_TIME)), {**e, "number": n})
        for n, events in enumerate(chains)
        for e in events
    ]
    sent.sort(key=lambda row: row[0])
    cuts = [0, *sorted(rng.sample(range(1, len(sent)), 3)), len(sent)]
    files = [[event for _, event in sent[a:b]] for a, b in pairwise(cuts)]
    files.append([{"time": T0 + timedelta(seconds=FAR), "number": -1}])
    for nth, events in enumerate(files):
        path = folder / f"{nth}.json"
        path.write_text("".join(json.dumps({**e, "time": e["time"].isoformat()}) + "\n" for e in events))
        os.utime(path, (1_700_000_000 + nth,) * 2)


def source(spark: SparkSession, folder: Path) -> DataFrame:
    reader = spark.readStream.schema(f"{COLUMNS}, number int").option("maxFilesPerTrigger", 1)
    return reader.json(str(folder)).withWatermark("time", f"{ON_TIME * 1000 + 1} milliseconds")


def run(frame: DataFrame, folder: Path) -> pa.Table:
    writer = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.start(str(folder / "sink")).awaitTermination()
    return frame.sparkSession.read.schema(frame.schema).parquet(str(folder / "sink")).toArrow()


def counted(rows: pa.Table) -> Counter[str]:
    return Counter(str(row) for row in rows.to_pylist())


@pytest.mark.parametrize("seeds", shares(4, each=4, first=500))
def test_random_chains_of_two_queries(spark, tmp_path, seeds):
    """All chains share a stream; one partition of state for each operator will do."""
    rng = Random(f"chains {seeds}")
    streams = [random_events(rng) for _ in seeds]
    queries = [(rng.choice(FIRST), SECOND[n % len(SECOND)]) for n in range(len(streams))]
    written(tmp_path / "source", streams, rng)
    parts = []
    for n, (one, other) in enumerate(queries):
        # The condition on the time keeps Spark from moving the filter below the watermark, which all chains share.
        events = source(spark, tmp_path / "source").filter((F.col("number") == n) | F.col("time").isNull())
        matches = ensue.match(events.drop("number"), one, name=f"first_{n}")
        again = ensue.match(matches, other, time="end_time", tiebreak="start_time", name=f"second_{n}")
        parts.append(again.select(F.lit(n).alias("n"), as_json()))
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        rows = run(reduce(DataFrame.unionAll, parts), tmp_path).to_pylist()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    wanted: Counter[str] = Counter()
    for n, (stream, (first, second)) in enumerate(zip(streams, queries, strict=True)):
        found = embedded(stream, first, second)
        frame = spark.createDataFrame(found)
        wanted.update(f"{n} {row.row}" for row in frame.select(as_json()).collect())
    assert Counter(f"{r['n']} {r['row']}" for r in rows) == wanted
    assert len(wanted) > 5 * len(streams)


def as_json() -> Column:
    return F.to_json(F.struct("*")).alias("row")


def embedded(events: list[dict[str, Any]], first: str, second: str) -> pa.Table:
    """An event in the far future follows each table, so that deadlines pass as they do on the stream."""
    end = T0 + timedelta(seconds=FAR)
    matches = ensue.match(pa.Table.from_pylist([*events, {"time": end, "type": "D", "k": None, "v": None}]), first)
    table = matches.to_arrow()
    far = pa.Table.from_pylist([{"start_time": end, "end_time": end}], table.schema)
    found = ensue.match(pa.concat_tables([table, far]), second, time="end_time", tiebreak="start_time").to_arrow()
    return found.filter(pc.field("end_time") < pa.scalar(end))


def frame_of_events(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([tuple(e.values()) for e in events], COLUMNS)


def test_a_window_of_spark_over_matches(spark, tmp_path):
    events = random_events(Random("windows"))
    written(tmp_path / "source", [events], Random("windows"))

    def by_window(matches: DataFrame) -> DataFrame:
        return matches.groupBy(F.window("end_time", "10 seconds")).count().select("window.end", "count")

    found = run(by_window(ensue.match(source(spark, tmp_path / "source"), PAIRS)), tmp_path)
    wanted = by_window(ensue.match(frame_of_events(spark, events), PAIRS)).toArrow()
    assert len(wanted) >= 4
    assert counted(found) == counted(wanted)


def test_matches_over_windows_of_spark(spark, tmp_path):
    """Three windows with ever more events: the rows that Spark's aggregation releases are not late for the query."""
    events = random_events(Random("aggregated"), 80)
    written(tmp_path / "source", [events], Random("aggregated"))
    text = "SELECT a.n AS n, b.n AS m FROM W WHERE W AS a : W AS b FILTER a.n < b.n WITHIN 30 s"

    def by_window(frame: DataFrame) -> DataFrame:
        windows = frame.filter("k is not null").groupBy(F.window("time", "4 seconds")).agg(F.sum("v").alias("n"))
        return windows.select(F.window_time("window").alias("time"), "n")

    found = run(ensue.match(by_window(source(spark, tmp_path / "source")), text), tmp_path)
    wanted = ensue.match(by_window(frame_of_events(spark, events)), text).toArrow()
    assert len(wanted) >= 4
    assert counted(found) == counted(wanted)


def test_a_stream_without_duplicates(spark, tmp_path):
    events = random_events(Random("twice"))
    written(tmp_path / "source", [[e for e in events for _ in range(2)]], Random("twice"))
    once = source(spark, tmp_path / "source").dropDuplicatesWithinWatermark(["time"])
    assert counted(run(ensue.match(once, PAIRS), tmp_path)) == counted(
        ensue.match(frame_of_events(spark, events), PAIRS).toArrow()
    )


def test_what_cannot_follow_is_refused(spark, tmp_path):
    (tmp_path / "source").mkdir()
    events = source(spark, tmp_path / "source").drop("number")
    alarms = ensue.match(events, "SELECT x.k AS k FROM S WHERE A AS x ; NOT B WITHIN 5 s")
    with pytest.raises(ensue.DataError, match="'end_time' is the end of matches that are reported later"):
        ensue.match(alarms, "SELECT * FROM M WHERE M ; M WITHIN 5 s", time="end_time", name="second")
    with pytest.raises(AnalysisException, match="append"):
        alarms.groupBy(F.window("end_time", "5 seconds")).count().writeStream.format("noop").option(
            "checkpointLocation", str(tmp_path / "alarms")
        ).start()
    matches = ensue.match(events, PAIRS)
    with pytest.raises(ensue.DataError, match="no event comes late here"):
        ensue.query("SELECT * FROM M WHERE M ; M WITHIN 5 s").late(matches, time="end_time")
    with pytest.raises(ensue.DataError, match="alone=True"):
        ensue.match(matches, "SELECT * FROM M WHERE M ; M WITHIN 5 s", time="end_time", alone=True, name="second")
    with pytest.raises(ensue.EngineError, match="two queries in one stream have the name 'ensue'"):
        ensue.match(matches, "SELECT * FROM M WHERE M ; M WITHIN 5 s", time="end_time")
    with pytest.raises(AnalysisException, match="The metric name is not unique: ensue"):
        matches.union(ensue.match(events, PAIRS.replace("8 s", "7 s")))
    again = matches.withWatermark("end_time", "5 seconds")
    with pytest.raises(ensue.DataError, match="leave withWatermark out"):
        ensue.match(again, "SELECT * FROM M WHERE M ; M WITHIN 5 s", time="end_time", name="second")
