"""A stream that is stopped and started again on its checkpoint, with something changed meanwhile.

Either it goes on right, or it is refused before it starts: then the stream as it was can go on. Where the driver does
not know the checkpoint, the first micro-batch refuses it, before anything is committed. The changed stream first meets
events of keys that no event had before, so that no bucket with a state of its own need be there to notice the change.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

import ensue

SCHEMA = {
    "time": "timestamp",
    "at": "timestamp",
    "type": "string",
    "kind": "string",
    "k": "int",
    "v": "int",
    "w": "int",
}
KEYED = """SELECT count(y) AS n FROM S WHERE A AS x ; B+ AS y ; C AS z FILTER x.v <= z.v
           PARTITION BY k WITHIN 100 s"""
SCORED = """SELECT count(y) AS n FROM S WHERE A AS x ; B+ AS y ; C AS z FILTER score(x.v) <= z.v AND nearby(x.v, $v)
            PARTITION BY k WITHIN $time"""
TIED = "SELECT x.w AS w FROM S WHERE A AS x ; B AS y ; C AS z FILTER x.k = y.k AND y.k = z.k WITHIN 100 s"


@dataclass(frozen=True)
class Start:
    """One start of a stream; the columns have the types that the reader of JSON names."""

    query: str = KEYED
    columns: Mapping[str, str] = field(default_factory=lambda: SCHEMA)
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    delay: str = "1 second"
    params: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)
    detects: bool = False
    output_mode: str = "append"
    seen_by_spark_alone: bool = False  # the DataFrame that is started does not know that it is a stream of matches

    @property
    def made(self) -> ensue.Query:
        return ensue.query(self.query, params=self.params, **self.own)


def typed(**types: str) -> dict[str, str]:
    return {**SCHEMA, **types}


def functions(factor: int) -> dict[str, Any]:
    """Functions of one's own, made anew: one over Arrow arrays, one that Numba compiles."""
    number: dict[str, Any] = {"takes": "integer", "returns": "integer", "registered": False}
    score = ensue.function("score", lambda v: pc.multiply(v, factor), **number)
    two: dict[str, Any] = {**number, "takes": ["integer", "integer"], "returns": "boolean"}
    return {"score": score, "nearby": ensue.function("nearby", lambda a, b: abs(a - b) < 2, compiled=True, **two)}


VALUES = {"v": 2, "time": timedelta(seconds=100)}
KEYS, TIES, OWN = Start(), Start(TIED), Start(SCORED, params=VALUES, own=functions(1))
REFUSED = {
    "a condition's column": (KEYS, replace(KEYS, columns=typed(v="double")), "columns or their types"),
    "a partition key": (KEYS, replace(KEYS, columns=typed(k="bigint")), "columns or their types"),
    "a tied key": (TIES, replace(TIES, columns=typed(k="bigint")), "columns or their types"),
    "an item's column": (TIES, replace(TIES, columns=typed(w="bigint")), "columns or their types"),
    "the type column": (KEYS, replace(KEYS, options={"type": "kind"}), r"differs: type column \(type, now kind\)"),
    "the time column": (KEYS, replace(KEYS, options={"time": "at"}), r"differs: time column \(time, now at\)"),
    "a tie-break": (KEYS, replace(KEYS, options={"tiebreak": "w"}), "tie-break column"),
    "a window": (KEYS, Start(KEYED.replace("100 s", "101 s")), "differs: query, automaton"),
    "an item": (KEYS, Start(KEYED.replace("count(y)", "sum(y.v)")), "differs: query"),
    "a function": (OWN, replace(OWN, own=functions(0)), "differs: functions of one's own"),
    "a parameter": (OWN, replace(OWN, params={**VALUES, "v": 0}), "differs: query, automaton"),
    "buckets": (KEYS, replace(KEYS, options={"buckets": 64}), r"number of buckets \(8, now 64\)"),
    "alone": (KEYS, replace(KEYS, options={"alone": True}), "differs: alone"),
    "detect in place of run": (KEYS, replace(KEYS, detects=True), "differs: .*matches or detections"),
    "a condition": (KEYS, Start(KEYED.replace("x.v <= z.v", "x.v < z.v")), "differs: query, automaton"),
}
GOES_ON = {
    "shuffle partitions": (KEYS, replace(KEYS, settings={"spark.sql.shuffle.partitions": "64"})),
    "the session's zone": (KEYS, replace(KEYS, settings={"spark.sql.session.timeZone": "Asia/Tokyo"})),
    "unused columns": (KEYS, replace(KEYS, columns={**typed(w="string"), "more": "map<string,int>"})),
    "the watermark": (KEYS, replace(KEYS, delay="3 seconds")),
    "name and memory": (KEYS, replace(KEYS, options={"name": "other", "memory": "300 MB"})),
    "the same functions": (OWN, replace(OWN, own=functions(1))),
    "spaces and comments": (KEYS, Start(KEYED.replace("FROM S", "-- of the machines\n  FROM  S"))),
}


def event(second: int, kind: str, k: int) -> dict[str, Any]:
    time = f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z"
    return {"time": time, "at": time, "type": kind, "kind": kind, "k": k, "v": 1, "w": k}


BEFORE = [event(s + k, kind, k) for k in range(4) for s, kind in ((1, "A"), (5, "B"))]
NEW_KEYS = [event(20, kind, 100 + k) for k in range(40) for kind in "AB"]
AFTER = [event(30, "B", k) for k in range(4)] + [event(40, "C", k) for k in (*range(4), *range(100, 140))]
LAST = [event(1000, "D", 0)]


class Stream:
    """A folder that gets a file for each run, and one checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        (folder / "source").mkdir()
        self._files = 0

    def run(self, start: Start, events: Sequence[dict[str, Any]] = ()) -> Counter[int]:
        """The first item of all matches so far, after a run that has these new events."""
        if events:
            lines = "".join(json.dumps(e) + "\n" for e in events)
            (self._folder / "source" / f"{self._files:03}.json").write_text(lines)
            self._files += 1
        session = self._spark
        before = {name: session.conf.get(name) or "" for name in start.settings}
        for name, value in start.settings.items():
            session.conf.set(name, value)
        try:
            return self._rows(start)
        finally:
            for name, value in before.items():
                session.conf.set(name, value)

    def files(self) -> dict[str, bytes]:
        """What the checkpoint has."""
        folder = self._folder / "checkpoint"
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    def _rows(self, start: Start) -> Counter[int]:
        columns = ", ".join(f"{name} {type_}" for name, type_ in start.columns.items())
        events = self._spark.readStream.schema(columns).json(str(self._folder / "source"))
        timed = events.withWatermark(start.options.get("time", "time"), start.delay)
        matches = (start.made.detect if start.detects else start.made.run)(timed, **start.options)
        if start.seen_by_spark_alone:
            matches.createOrReplaceTempView("started_again")
            matches = self._spark.table("started_again")
        writer = matches.writeStream.option("checkpointLocation", str(self._folder / "checkpoint"))
        writer = writer.outputMode(start.output_mode)
        writer.trigger(availableNow=True).start(str(self._folder / "sink")).awaitTermination()
        rows = self._spark.read.schema(matches.schema).parquet(str(self._folder / "sink")).toArrow()
        return Counter(rows.column(rows.num_columns - 1).to_pylist())


def embedded(start: Start) -> Counter[int]:
    events = pa.Table.from_pylist([*BEFORE, *NEW_KEYS, *AFTER])
    times = pc.strptime(events["time"], "%Y-%m-%dT%H:%M:%SZ", "us")
    rows = start.made.run(events.set_column(0, "time", times)).to_arrow()
    assert len(rows) > 40
    return Counter(rows.column(rows.num_columns - 1).to_pylist())


@pytest.mark.parametrize(("original", "changed", "said"), REFUSED.values(), ids=REFUSED)
def test_a_change_is_refused_before_anything_is_committed(spark, tmp_path, original, changed, said):
    stream = Stream(spark, tmp_path)
    stream.run(original, BEFORE)
    before = stream.files()
    with pytest.raises(ensue.EngineError, match=said):
        stream.run(changed, NEW_KEYS)
    assert stream.files() == before
    stream.run(original, AFTER)
    assert stream.run(original, LAST) == embedded(original)


@pytest.mark.parametrize("name", ["a window", "buckets"])
def test_else_it_is_refused_in_the_first_micro_batch(spark, tmp_path, name):
    original, changed, said = REFUSED[name]
    stream = Stream(spark, tmp_path)
    stream.run(original, BEFORE)
    with pytest.raises(StreamingQueryException, match=said):
        stream.run(replace(changed, seen_by_spark_alone=True), NEW_KEYS)
    stream.run(original, AFTER)
    assert stream.run(original, LAST) == embedded(original)


def test_a_checkpoint_in_which_nothing_was_committed_belongs_to_nobody(spark, tmp_path):
    """So does one whose stream Spark has not started."""
    stream = Stream(spark, tmp_path)
    changed = REFUSED["a window"][1]
    with pytest.raises(AnalysisException):
        stream.run(replace(KEYS, output_mode="complete"))
    assert "ensue.json" in stream.files()
    stream.run(changed, BEFORE)
    with pytest.raises(ensue.EngineError, match="differs: query, automaton"):
        stream.run(KEYS, NEW_KEYS)


@pytest.mark.parametrize(("original", "changed"), GOES_ON.values(), ids=GOES_ON)
def test_a_change_that_matters_to_no_state_goes_on(spark, tmp_path, original, changed):
    stream = Stream(spark, tmp_path)
    stream.run(original, BEFORE)
    stream.run(changed, NEW_KEYS)
    stream.run(changed, AFTER)
    assert stream.run(original, LAST) == embedded(original)
