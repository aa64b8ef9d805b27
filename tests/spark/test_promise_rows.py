"""Promises that come as rows of a stream: they go to every bucket, and settle what `Live.promise` settles."""

from __future__ import annotations

import json
import os
from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from fake_state import FakeStore, Timers
from pyspark.sql import Row, SparkSession

import ensue
from ensue.data.arrow_bytes import table_of
from ensue.data.schema import Schema
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.spark.bucket_count import BucketCount
from ensue.spark.packing import FIRST, IDENTITY, Packer, Sent, bucket_key
from ensue.spark.recipe import PROMISE, TIME, TYPE, Recipe
from ensue.spark.revised_bucket import Disorder
from ensue.spark.streaming import BucketProcessor
from ensue.spark.type_mapping import arrow_schema, spark_schema

TILLS = ensue.query("SELECT x.v AS v, y.v AS w FROM S WHERE A AS x ; NOT B ; A AS y WITHIN 9 s")
EVENTS = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("v", pa.int64())])


def travelling(events: pa.Table, promised: dict[str, int]) -> pa.Table:
    """The events, then the promises, as they are sent to Python."""
    said = pa.Table.from_pylist([{"time": t} for t in promised.values()], EVENTS)
    rows = pa.concat_tables([events, said])
    names = pa.array([None] * len(events) + list(promised), pa.string())
    return pa.table({TIME: rows["time"], "v": rows["v"], PROMISE: names, TYPE: rows["type"]})


def blobs_for(key: int, packed: list[dict[str, Any]]) -> list[Row]:
    return [Row(place=b["place"], rows=b["rows"]) for b in packed if b["bucket"] == key]


def test_a_promise_goes_to_every_bucket() -> None:
    events = pa.Table.from_pylist([{"time": 5, "type": "A", "v": 1}, {"time": 6, "type": "B", "v": 2}], EVENTS)
    rows = travelling(events, {"A": 7, "B": 9})
    packed = pa.Table.from_batches(Packer(BucketCount(3, 0))(iter(rows.to_batches()))).to_pylist()
    said = [b for b in packed if Sent.of(b["place"]) is Sent.PROMISES]
    assert {b["bucket"] for b in said} == {IDENTITY, *map(bucket_key, range(3))}
    (blob,) = (b["rows"] for b in said if b["bucket"] == bucket_key(2))
    assert table_of(blob).column(PROMISE).to_pylist() == ["A", "B"]
    sent = [table_of(b["rows"]) for b in packed if Sent.of(b["place"]) is Sent.EVENTS]
    assert [t.column_names for t in sent] == [[TIME, "v", TYPE]]
    assert sum(map(len, sent)) == 2


@pytest.mark.parametrize("seed", range(10))
def test_a_bucket_settles_by_them_what_a_live_query_settles(seed: int) -> None:
    rng = Random(f"promises {seed}")
    checked = check(TILLS.ast, TILLS.text, Schema.of(EVENTS))
    nothing = TILLS.run(pa.Table.from_pylist([], EVENTS)).to_arrow()
    recipe = Recipe(choose(checked), 1000, 0, arrow_schema(spark_schema(nothing.schema)))
    store, live = FakeStore(), TILLS.live(disorder="wait")
    told, expected, late, latest = Counter[str](), Counter[str](), 0, 1
    for _ in range(8):
        times = [rng.randrange(max(1, latest - 3), latest + 4) for _ in range(6)]
        rows = [{"time": t * 10**6, "type": rng.choice("AABC"), "v": rng.randrange(9)} for t in times]
        events = pa.Table.from_pylist(rows, EVENTS)
        latest = max(latest, *times)
        promised = {t: (latest - rng.randrange(3)) * 10**6 for t in "AB" if rng.random() < 0.6}
        processor = BucketProcessor(recipe, BucketCount(1, 0), disorder=Disorder(None, promises=True))
        processor.init(store.handle)
        packed = pa.Table.from_batches(Packer(BucketCount(1, 0))(iter(travelling(events, promised).to_batches())))
        for row in processor.handleInputRows((FIRST,), iter(blobs_for(FIRST, packed.to_pylist())), Timers(0)):
            told.update(map(repr, [] if row.rows is None else table_of(row.rows).to_pylist()))
            late += row.late
        processor.close()
        changes = [live.push(events)]
        changes += [
            live.promise(t, before=pa.scalar(at, EVENTS.field("time").type).as_py()) for t, at in promised.items()
        ]
        for table in changes:
            expected.update(map(repr, table.to_arrow().drop_columns(["change", "match"]).to_pylist()))
        assert told == expected
        assert late == live.metrics["late"]
    assert told.total() + late > 0


def test_matches_are_told_long_before_the_watermark(spark: SparkSession, tmp_path: Any) -> None:
    def event(time: int, type_: str, op: str | None = None) -> dict[str, Any]:
        return {"time": f"2024-01-01T00:00:{time:02}Z", "type": type_, "v": time, "op": op}

    first = [event(1, "A"), event(4, "A"), event(3, "B"), event(6, "A"), event(5, "", op="A"), event(5, "", op="B")]
    later = [event(7, "A"), event(2, "B"), event(8, "", op="A"), event(7, "", op="B")]
    (tmp_path / "in").mkdir()
    for number, rows in enumerate((first, later)):
        path = tmp_path / "in" / f"{number}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark reads the oldest files first
    columns = "time timestamp, type string, v int, op string"
    source = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    matches = TILLS.run(source.withWatermark("time", "1 hour"), promises="op")
    assert matches.columns == ["start_time", "end_time", "v", "w"]
    stream = matches.writeStream.format("memory").queryName("promised").trigger(availableNow=True).start()
    stream.awaitTermination()
    assert sorted((r.v, r.w) for r in spark.table("promised").collect()) == [(4, 6)]
    counted = [p.observedMetrics["ensue"].asDict() for p in stream.recentProgress if "ensue" in p.observedMetrics]
    assert sum(c["late"] for c in counted) == 1
    with pytest.raises(ensue.DataError, match="there is no promise column 'o': did you mean 'op'"):
        TILLS.run(source.withWatermark("time", "1 hour"), promises="o")
    control = source.selectExpr("type AS name", "type AS text")
    with pytest.raises(ensue.EngineError, match="delays= and promises= are for queries that are known"):
        ensue.run(source.withWatermark("time", "1 hour"), {"a": TILLS}, promises="op", queries=control)
