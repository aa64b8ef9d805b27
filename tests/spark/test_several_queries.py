"""Several queries over one stream, in real micro-batches, stopped and started again; and over a batch."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from sparkling import rows_of

import ensue
from ensue.errors import DataError, EngineError, QueryError

COLUMNS = "time timestamp, type string, k int, v double"
PAIRS = ensue.query(
    "SELECT a.v AS v, b.time AS t FROM S WHERE A AS a ; B AS b FILTER b.v > 1 PARTITION BY k WITHIN 9 s"
)
ABSENCE = ensue.query("SELECT a.v AS v FROM S WHERE A AS a ; NOT B ; C PARTITION BY k WITHIN 7 s")
ADDED = ensue.query("SELECT a.v AS v, c AS c FROM S WHERE A AS a ; C AS c FILTER c.v < 3 PARTITION BY k WITHIN 8 s")


def shown(second: int) -> str:
    return f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z"


def event(time: int, type_: str, v: float = 2.0) -> dict[str, Any]:
    return {"time": time, "type": type_, "k": 1, "v": v}


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    """One more file, behind the others in its time."""
    folder.mkdir(exist_ok=True)
    number = len(list(folder.glob("*.json")))
    path = folder / f"{number:03}.json"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    os.utime(path, (1_700_000_000 + number,) * 2)


def write_events(folder: Path, *events: dict[str, Any]) -> None:
    write(folder, [{**e, "time": shown(e["time"])} for e in events])


def table_of(*events: dict[str, Any]) -> pa.Table:
    schema = pa.schema(
        [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int32()), ("v", pa.float64())]
    )
    return pa.Table.from_pylist([{**e, "time": (1_704_067_200 + e["time"]) * 10**6} for e in events], schema)


def events_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(COLUMNS).json(str(folder)).withWatermark("time", "2 seconds")


def run(spark: SparkSession, found: DataFrame, folder: Path) -> tuple[DataFrame, Any]:
    """What the stream has told so far, once it has read all files that are there."""
    writer = found.writeStream.format("parquet").option("checkpointLocation", str(folder) + "-checkpoint")
    stream = writer.trigger(availableNow=True).start(str(folder))
    stream.awaitTermination()
    return spark.read.parquet(str(folder)), stream


def summed(rows: DataFrame) -> Counter[Any]:
    """The rows that are there, as the changes add up."""
    total: Counter[Any] = Counter()
    for row in rows.toArrow().to_pylist():
        change, _ = row.pop("change"), row.pop("match")
        total[repr(row)] += 1 if change == "insert" else -1
    return +total


def test_queries_of_a_stream_and_those_that_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    told, source, texts = tmp_path / "told", tmp_path / "events", tmp_path / "queries"

    def stream() -> DataFrame:
        control = spark.readStream.schema("name string, text string").json(str(texts))
        return ensue.run(
            events_of(spark, source), {"pairs": PAIRS, "absence": ABSENCE}, queries=control, disorder="revise"
        )

    first = [event(1, "A"), event(3, "C"), event(2, "B"), event(20, "X")]
    write_events(source, *first)
    write(texts, [{"name": "none", "text": "SELECT"}])
    found, running = run(spark, stream(), told)
    counted = [p.observedMetrics["ensue"].asDict() for p in running.recentProgress if "ensue" in p.observedMetrics]
    assert sum(c["errors"] for c in counted) == 1
    (error,) = found.filter("change = 'error'").selectExpr("query", "row:error::string AS said").collect()
    assert error.query == "none"
    assert "error: " in error.said

    # By now the watermark is at second 18. The query that is added reads the events after it.
    write(texts, [{"name": "added", "text": ADDED.text}, {"name": "absence", "text": None}])
    second = [event(19, "A", 1.5), event(21, "B"), event(22, "C", 2.5), event(17, "A", 7.0)]
    write_events(source, *second)
    run(spark, stream(), told)
    third = [event(23, "C", 1.0), event(40, "X")]
    write_events(source, *third)
    found, _ = run(spark, stream(), told)

    there = [*first, *second[:3], *third]
    table = table_of(*sorted(there, key=lambda e: e["time"]))
    pairs = ensue.rows(found, "pairs", PAIRS)
    assert pairs.columns == ["change", "match", "k", "start_time", "end_time", "v", "t"]
    assert dict(pairs.dtypes)["t"] == "timestamp"
    plain = {name: pa.table(q.run(table).to_arrow()) for name, q in {"pairs": PAIRS, "added": ADDED}.items()}
    assert summed(pairs) == Counter(map(repr, plain["pairs"].to_pylist()))
    added = ensue.rows(found, "added", ADDED)
    late = table_of(*(e for e in sorted(there, key=lambda e: e["time"]) if e["time"] > 18))
    assert summed(added) == Counter(map(repr, ADDED.run(late).to_arrow().to_pylist()))
    assert sum(summed(added).values()) == 2
    # The absence was removed before the second events.
    ends = [r.end_time for r in found.filter("query = 'absence'").collect()]
    assert all(end.second < 18 for end in ends)

    # Embedded, the same queries give the same ids to the same matches.
    live = ensue.live({"pairs": PAIRS})
    assert {r.match for r in pairs.collect()} >= set(live.push(table)["pairs"].to_arrow().column("match").to_pylist())


def test_queries_that_are_known_have_a_struct_each(spark: SparkSession, tmp_path: Path) -> None:
    events = [event(1, "A"), event(3, "C"), event(2, "B", 0.5), event(4, "B"), event(30, "A", 9.0), event(33, "C")]
    write_events(tmp_path / "events", *events, event(60, "X"))
    write_events(tmp_path / "events", event(61, "X"))
    queries = {"pairs": PAIRS, "absence": ABSENCE}
    found, _ = run(spark, ensue.run(events_of(spark, tmp_path / "events"), queries), tmp_path / "told")
    table = table_of(*sorted(events, key=lambda e: e["time"]))
    batch = ensue.run(spark.read.schema(COLUMNS).json(str(tmp_path / "events")), queries)
    assert found.columns == batch.columns == ["query", "start_time", "end_time", "row"]
    for name, query in queries.items():
        expected = rows_of(query.run(table).to_arrow())
        assert expected.total() > 0
        assert rows_of(ensue.rows(found, name).toArrow()) == expected
        assert rows_of(ensue.rows(batch, name).toArrow()) == expected
    assert found.select("row.pairs.v").dropna().count() == len(PAIRS.run(table))


def test_that_nothing_follows_holds_for_each_query_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events", event(1, "A"), event(2, "B"))
    events = spark.read.schema(COLUMNS).json(str(tmp_path / "events"))
    waits = ensue.query("SELECT b.v AS v FROM S WHERE B AS b ; NOT A WITHIN 9 s")
    for closed in (False, True):
        found: Any = ensue.run(events, {"pairs": PAIRS, "waits": waits}, closed=closed)
        told = {name: ensue.rows(found, name).count() for name in ("pairs", "waits")}
        assert told == {"pairs": 1, "waits": int(closed)}


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_events(tmp_path / "events", event(1, "A"))
    stream = events_of(spark, tmp_path / "events")
    finite = spark.read.schema(COLUMNS).json(str(tmp_path / "events"))
    control = stream.selectExpr("type AS name", "type AS text")
    ever = ensue.query("SELECT * FROM S WHERE A ; B")
    with pytest.raises(EngineError, match="there is no query: give at least one"):
        ensue.run(stream, {})
    with pytest.raises(EngineError, match="differ in case alone"):
        ensue.run(stream, {"a": PAIRS, "A": ABSENCE})
    totals = ensue.query("AGGREGATE count(*) AS n FROM S WHERE A ; B WITHIN 5 s")
    for frame in (stream, finite):
        with pytest.raises(QueryError, match="cannot be used here: each of several queries tells its matches"):
            ensue.run(frame, {"a": PAIRS, "totals": totals})
    with pytest.raises(EngineError, match="closed=True says that no event follows, and a stream goes on"):
        ensue.run(stream, {"a": PAIRS}, closed=True)
    with pytest.raises(EngineError, match="its state would grow for ever"):
        ensue.run(stream, {"a": PAIRS, "b": ever})
    with pytest.raises(EngineError, match="are for streams: the events of a finite"):
        ensue.run(finite, {"a": PAIRS}, queries=control)
    with pytest.raises(DataError, match="there is no control column 'text'"):
        ensue.run(stream, {"a": PAIRS}, queries=control.drop("text"))
    with pytest.raises(DataError, match="queries= takes a streaming DataFrame"):
        ensue.run(stream, {"a": PAIRS}, queries=finite)
    with pytest.raises(EngineError, match="the query a is not partitioned by it"):
        ensue.run(stream, {"a": PAIRS}, keys="v")
    with pytest.raises(EngineError, match="there is no query named 'pair': did you mean 'pairs'"):
        ensue.rows(ensue.run(finite, {"pairs": PAIRS}), "pair")
    with pytest.raises(TypeError, match="queries: for Spark streams only"):
        ensue.run(table_of(event(1, "A")), {"pairs": PAIRS}, queries=control)
