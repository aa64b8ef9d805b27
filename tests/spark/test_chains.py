"""Operators with state behind one another in a stream: the rows are those of the same chain over tables."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from strategies import random_query

import ensue
from ensue.language import ast
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.classify import deadline_of
from ensue.logic.scope import bindings
from ensue.spark.type_mapping import spark_schema

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


@dataclass(frozen=True)
class Chain:
    """Two queries, the second over the matches of the first, and the events of the first."""

    events: list[dict[str, Any]]
    first: str
    second: str


def chain_of(seed: int) -> Chain:
    """One of those above, or one of random queries: the first shows or counts what a variable marks."""
    rng = Random(f"chain {seed}")
    events = random_events(rng, 25)
    if seed % 4 == 0:
        return Chain(random_events(rng), rng.choice(FIRST), SECOND[seed // 4 % len(SECOND)])
    first = random_query(rng, depth=1)
    while deadline_of(first.pattern) is not None or not bindings(first.pattern):
        first = random_query(rng, depth=1)
    variable, single = sorted(bindings(first.pattern).items())[0]
    value = f"{variable}.v" if single else f"count({variable})"
    counted = parse_query(f"SELECT {value} AS n FROM S WHERE A AS x").items
    keys = tuple(k for k in first.partition if k.attribute == "k")
    first = replace(first, items=counted, partition=keys, limit=None, per=ast.Per.RESULT)
    second = replace(random_query(rng, depth=2), limit=None, per=ast.Per.RESULT, streams=("M",), items=None)
    return Chain(events, print_query(first), print_query(second))


#: What the second query sees of a match; `tie` tells all matches of one end apart that differ.
SEEN = {
    "type": "substring('ABC', cast(coalesce(n, 0) % 3 as int) + 1, 1)",
    "v": "cast(n % 4 as int)",
    "k": "cast(unix_seconds(start_time) % 2 as int)",
    "tie": "unix_seconds(start_time) * 1000 + coalesce(n, 0)",
}


def matched(events: DataFrame, chain: Chain, number: int) -> DataFrame:
    """The matches of the second query over those of the first, as JSON."""
    first = ensue.match(events, chain.first, unbounded=True, name=f"first_{number}")
    tie = "start_time"
    if "n" in first.columns:
        first = first.selectExpr("start_time", "end_time", *(f"{e} AS {c}" for c, e in SEEN.items()))
        tie = "tie"
    options: dict[str, Any] = {"time": "end_time", "tiebreak": tie, "unbounded": True, "name": f"second_{number}"}
    second: DataFrame = ensue.match(first, chain.second, **options)
    return second.select(F.lit(number).alias("n"), as_json())


def rows_of_chains(spark: SparkSession, folder: Path, chains: list[Chain]) -> list[Counter[str]]:
    """All chains share a stream; one partition of state for each operator will do."""
    written(folder / "source", [c.events for c in chains], Random("sent"))
    parts = []
    for n, chain in enumerate(chains):
        # The condition on the time keeps Spark from moving the filter below the watermark, which all chains share.
        events = source(spark, folder / "source").filter((F.col("number") == n) | F.col("time").isNull())
        parts.append(matched(events.drop("number"), chain, n))
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        rows = run(reduce(DataFrame.unionAll, parts), folder).to_pylist()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    return [Counter(r["row"] for r in rows if r["n"] == n) for n in range(len(chains))]


def compared(spark: SparkSession, folder: Path, seeds: Sequence[int]) -> tuple[int, list[str]]:
    """How many matches the chains of these seeds have, and texts that say what differs from the embedded engine."""
    chains = [chain_of(seed) for seed in seeds]
    wanted = []
    for chain in chains:
        table = embedded(spark, chain)
        # PySpark makes no DataFrame of a table that is empty and has nested columns.
        rows = spark.createDataFrame(table).select(as_json()).collect() if len(table) else []
        wanted.append(Counter(r.row for r in rows))
    told = []
    for seed, chain, found, expected in zip(seeds, chains, rows_of_chains(spark, folder, chains), wanted, strict=True):
        if found != expected:
            missing, more = sorted((expected - found).elements())[:3], sorted((found - expected).elements())[:3]
            told.append(f"seed {seed}\n{chain.first}\n{chain.second}\nmissing {missing}\ntoo many {more}")
    return sum(w.total() for w in wanted), told


@pytest.mark.parametrize("seeds", shares(4, each=4, first=500))
def test_random_chains_of_two_queries(spark, tmp_path, seeds):
    found, told = compared(spark, tmp_path, seeds)
    assert told == []
    assert found > 2 * len(seeds)


def as_json() -> Column:
    return F.to_json(F.struct("*")).alias("row")


def embedded(spark: SparkSession, chain: Chain) -> pa.Table:
    """An event in the far future follows each table, so that deadlines pass as they do on the stream."""
    end = T0 + timedelta(seconds=FAR)
    far = pa.scalar(end)
    events = [*chain.events, {"time": end, "type": "D", "k": None, "v": None}]
    table = ensue.match(pa.Table.from_pylist(events), chain.first).to_arrow()
    last = pa.Table.from_pylist([{"start_time": end, "end_time": end}], table.schema)
    table = pa.concat_tables([table.filter(pc.field("end_time") < far), last]).combine_chunks()
    tie = "start_time"
    if "n" in table.column_names:
        frame = spark.createDataFrame(table, spark_schema(table.schema))
        seen = frame.selectExpr("start_time", "end_time", *(f"{e} AS {c}" for c, e in SEEN.items())).toArrow()
        table, tie = seen.cast(pa.schema([f.with_type(seen_type(f.type)) for f in seen.schema])), "tie"
    found = ensue.match(table, chain.second, time="end_time", tiebreak=tie).to_arrow()
    return found.filter(pc.field("end_time") < far)


def seen_type(type_: pa.DataType) -> pa.DataType:
    """Spark gives times back in the session's zone."""
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(type_) else type_


def frame_of_events(spark: SparkSession, events: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([tuple(e.values()) for e in events], COLUMNS)


def test_a_window_of_spark_over_matches(spark, tmp_path):
    events = random_events(Random("windows"))
    written(tmp_path / "source", [events], Random("windows"))

    def by_window(matches: DataFrame) -> DataFrame:
        # As one writes it; the watermark changes nothing.
        timed = matches.filter("true").select("*").withWatermark("end_time", "5 seconds")
        return timed.groupBy(F.window("end_time", "10 seconds")).count().select("window.end", "count")

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
    other = ensue.match(events, PAIRS.replace("8 s", "7 s"))
    for united in (lambda: matches.union(other), lambda: matches.select("*").unionByName(other.filter("true"))):
        with pytest.raises(ensue.EngineError, match=r"have the name 'ensue'.* give one of them another, with run"):
            united()
    assert matches.union(matches).isStreaming
    assert matches.withWatermark("end_time", "5 seconds") is matches  # it is event time already
    renamed = matches.filter("true").withColumnRenamed("end_time", "at")
    assert renamed.withWatermark("at", "5 seconds") is renamed
    later = matches.withColumn("later", F.col("end_time") + F.expr("interval 1 second"))
    for behind in (later, later.mapInArrow(lambda rows: rows, later.schema)):
        with pytest.raises(ensue.EngineError, match="'later' behind a stream of matches would stand still"):
            behind.withWatermark("later", "5 seconds")
    with pytest.raises(ensue.EngineError, match="'end_time' behind a stream of matches would stand still"):
        alarms.withWatermark("end_time", "5 seconds")
    # They are told at once, so a watermark behind them moves.
    changes = ensue.match(events, PAIRS, disorder="revise").withColumn("later", F.col("end_time"))
    assert changes.withWatermark("later", "5 seconds").isStreaming
    # Spark's own view of them does not know that.
    matches.createOrReplaceTempView("matches_of_a_stream")
    again = spark.table("matches_of_a_stream").withWatermark("end_time", "5 seconds")
    with pytest.raises(ensue.DataError, match="leave withWatermark out"):
        ensue.match(again, "SELECT * FROM M WHERE M ; M WITHIN 5 s", time="end_time", name="second")
