"""Streams that tell matches at once and correct them: over real micro-batches, stopped and started again in between."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from live_runs import Followed
from pyspark.sql import SparkSession
from sparkling import rows_of

import ensue
from ensue.errors import EngineError, QueryError

COLUMNS = "time timestamp, type string, k int, v int, n int, op string"
ABSENCE = "SELECT x.v AS v, z.v AS w FROM S WHERE A AS x ; NOT B ; C AS z PARTITION BY k WITHIN 20 s"
CHOICE = "SELECT NEXT count(y) AS c FROM S WHERE A AS x ; B+ AS y ; C AS z FILTER x.v <= z.v WITHIN 20 s"
DEADLINE = "SELECT x.v AS v FROM S WHERE A AS x ; NOT B WITHIN 5 s PARTITION BY k"


BY_EVENT = "SELECT seen, x.v FROM S WHERE MATCHES by_event PARTITION BY k WITHIN 20 s"
BY_TIME = "SELECT seen, least FROM S WHERE MATCHES by_time PARTITION BY k WITHIN 20 s"


def counting(name: str) -> ensue.Automaton:
    """Counts with a Python function while what is compared does not fall."""
    if name == "by_event":
        made = ensue.Automaton(register={"least": 0, "seen": 0})
        made.arc("out", "in", "v >= 1", then={"least": "v", "seen": 1}, mark="x")
        made.arc("in", "in", lambda event, register: event.v >= register.least, uses="v", then={"seen": "seen + 1"})
    else:
        made = ensue.Automaton(register={"least": 0, "seen": 0}, by="time")
        made.arc("out", "in", "max(v) >= 1", then={"least": "max(v)", "seen": "count(*)"})
        made.arc(
            "in", "in", lambda event, register: event.v.max() >= register.least, uses="v", then={"seen": "seen + 1"}
        )
    return made.start("out").accept("in")


def shown(second: int) -> str:
    return f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z"


def written(folder: Path, batches: list[list[dict[str, Any]]]) -> None:
    """One file for each batch, later ones with later names and times."""
    folder.mkdir(exist_ok=True)
    for batch in batches:
        number = len(list(folder.glob("*.json")))
        lines = [json.dumps({**e, "time": shown(e["time"])}) for e in batch]
        path = folder / f"{number:03}.json"
        path.write_text("\n".join(lines))
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark reads the oldest files first


def run(spark: SparkSession, query: ensue.Query, folder: Path, followed: Followed, **options: Any) -> dict[str, int]:
    """All files that are there, each in a micro-batch; gives the sums of the counts."""
    source = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder))
    changes = query.run(source.withWatermark("time", "10 seconds"), **options)

    def take(batch: Any, _number: int) -> None:
        followed.take(batch.toArrow(), 0, finite=False, only_adds=False)

    writer = changes.writeStream.foreachBatch(take).option("checkpointLocation", str(folder) + "-checkpoint")
    stream = writer.trigger(availableNow=True).start()
    stream.awaitTermination()
    told = [p.observedMetrics["ensue"].asDict() for p in stream.recentProgress if "ensue" in p.observedMetrics]
    return {name: sum(t[name] for t in told) for name in ("inserted", "deleted", "late", "unmatched_deletions")}


def random_events(seed: int) -> list[dict[str, Any]]:
    """Events in order of arrival: some come up to eight seconds late, and some are deleted."""
    rng = Random(seed)
    events: list[dict[str, Any]] = [
        {"time": 5 + n // 2, "type": rng.choice("AABCC"), "k": rng.randrange(3), "v": rng.randrange(4), "n": n}
        for n in range(60)
    ]
    arrived = sorted(events, key=lambda e: e["time"] + rng.choice((0, 0, 0, 8)))
    rows = [{**e, "op": "insert"} for e in arrived]
    for event in rng.sample(arrived, 6):
        place = rows.index({**event, "op": "insert"})
        rows.insert(min(place + rng.randrange(1, 8), len(rows)), {**event, "op": "delete"})
    return rows


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (ABSENCE, {"disorder": "revise", "id": "n"}),
        (CHOICE, {"disorder": "revise", "slack": "2 s"}),
        (DEADLINE, {"disorder": "revise"}),
        (BY_EVENT, {"disorder": "revise", "id": "n"}),
        (BY_TIME, {"disorder": "revise", "id": "n"}),
    ],
)
def test_changes_add_up_to_the_answer(spark: SparkSession, tmp_path: Path, text: str, options: dict[str, Any]) -> None:
    own: Any = {name: counting(name) for name in ("by_event", "by_time") if name in text}
    query, rows = ensue.query(text, **own), random_events(7)
    end = [{"time": 59, "type": "D", "k": k, "v": 0, "n": 100 + k, "op": "insert"} for k in range(3)]
    batches = [rows[i : i + 11] for i in range(0, len(rows), 11)]
    followed = Followed()
    written(tmp_path / "in", batches[:3])
    first = run(spark, query, tmp_path / "in", followed, changes="op", **options)
    written(tmp_path / "in", [*batches[3:], end])
    second = run(spark, query, tmp_path / "in", followed, changes="op", **options)
    deleted = {r["n"] for r in rows if r["op"] == "delete"}
    there = [r for r in [*rows, *end] if r["op"] == "insert" and r["n"] not in deleted]
    table = pa.Table.from_pylist(sorted(there, key=lambda r: r["time"])).drop_columns(["op"])
    times = pa.array([1_704_067_200 + t for t in table.column("time").to_pylist()]).cast(pa.timestamp("s", "UTC"))
    table = table.set_column(0, "time", times.cast(pa.timestamp("us", "UTC")))
    expected = rows_of(query.run(table).to_arrow())
    assert first["late"] + second["late"] == 0
    assert len(followed.current) == expected.total()
    live = query.live(id=options.get("id"))
    ids = live.push(table).to_arrow().column("match").to_pylist()
    assert set(followed.current) == set(ids)
    # Time passes the deadline of a match only where nothing else is late enough to take it back.
    assert second["deleted"] + first["deleted"] > 0 or text == DEADLINE
    assert first["inserted"] > 0


def test_waiting_over_a_change_feed_gives_matches_only(spark: SparkSession, tmp_path: Path) -> None:
    query = ensue.query(ABSENCE)
    feed = [
        {"time": 5, "type": "A", "k": 1, "v": 1, "n": 1, "op": "insert"},
        {"time": 6, "type": "B", "k": 1, "v": 1, "n": 2, "op": "insert"},
        {"time": 8, "type": "C", "k": 1, "v": 2, "n": 3, "op": "insert"},
        {"time": 6, "type": "B", "k": 1, "v": 1, "n": 2, "op": "delete"},
    ]
    written(tmp_path / "in", [feed, [{"time": 40, "type": "D", "k": 1, "v": 0, "n": 4, "op": "insert"}]])
    source = spark.readStream.schema(COLUMNS).json(str(tmp_path / "in")).withWatermark("time", "10 seconds")
    matches = query.run(source, changes="op", id="n")
    assert matches.columns == ["k", "start_time", "end_time", "v", "w"]
    stream = matches.writeStream.format("memory").queryName("fed").trigger(availableNow=True).start()
    stream.awaitTermination()
    assert [(r.v, r.w) for r in spark.table("fed").collect()] == [(1, 2)]


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path / "in", [[{"time": 5, "type": "A", "k": 1, "v": 1, "n": 1, "op": "insert"}]])
    stream = spark.readStream.schema(COLUMNS).json(str(tmp_path / "in")).withWatermark("time", "10 seconds")
    finite = spark.read.schema(COLUMNS).json(str(tmp_path / "in"))
    query = ensue.query(ABSENCE)
    with pytest.raises(EngineError, match="for streams: the events of a finite DataFrame are all there"):
        query.run(finite, disorder="revise")
    with pytest.raises(EngineError, match=r"unknown disorder='revised': did you mean 'revise'\?"):
        query.run(stream, disorder="revised")  # type: ignore[call-overload]
    with pytest.raises(EngineError, match="alone=True lets matches wait less"):
        query.run(stream, disorder="revise", alone=True)
    with pytest.raises(ensue.DataError, match="there is no change column 'opp': did you mean 'op'"):
        query.run(stream, disorder="revise", changes="opp")
    with pytest.raises(QueryError, match=r"LIMIT \.\.\. PER PARTITION"):
        ensue.query(ABSENCE + " LIMIT 1 PER PARTITION").run(stream, disorder="revise")
    with pytest.raises(EngineError, match="a column of the result is named 'change'"):
        ensue.query(ABSENCE.replace("AS w", "AS change")).run(stream, disorder="revise")
