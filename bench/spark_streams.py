"""Streams on Spark beside a stream that does nothing, one that keeps the same state, and ten streams."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import ensue
from bench.spark_data import TYPES, events_of
from bench.spark_measure import (
    LIMITED,
    NO_LIMIT,
    UNLIMITED,
    USUAL_LIMIT,
    Size,
    checked,
    events,
    in_turn,
    limited,
    passed_on,
    row,
    window,
)
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import compacted
from ensue.spark.packing import PACKED, Packer
from ensue.spark.run import prepare

_STATELESS = "Spark: stateless mapInArrow"
_LATE = 10  # by how many seconds an event may be late
NAMED = {
    "few": "80% of the events are irrelevant",
    "all": "every event may be in a match",
    "next": "every event may stand between two that follow each other",
}


def stream_queries(size: Size) -> dict[str, str]:
    w = window(size, -1)
    groups = [" OR ".join(f"{t} AS {x}" for t in TYPES[k::3]) for k, x in enumerate("xyz")]
    return {
        "few": "SELECT x.id, y.id, z.id FROM S WHERE A AS x ; (B AS y OR D AS y) ; C AS z "
        f"PARTITION BY key WITHIN {w // 2} ms",
        "all": f"SELECT x.id, y.id, z.id FROM S WHERE ({groups[0]}) ; ({groups[1]}) ; ({groups[2]}) "
        f"PARTITION BY key WITHIN {w // 20} ms",
        "next": f"SELECT x.id, y.id, z.id FROM S WHERE A AS x : B AS y : C AS z PARTITION BY key WITHIN {w} ms",
    }


def streaming(spark: SparkSession, size: Size) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Streams from files, one for each micro-batch, with 100,000 keys."""
    folder = events(size, -1)
    for short, query in stream_queries(size).items():
        matches = checked(_collected(spark, folder, query), query, _final(pq.read_table(folder)))
        frames: dict[str, Callable[[DataFrame], DataFrame]] = {
            "ensue": partial(ensue.match, text=query, alone=True),
            "ensue" + LIMITED: partial(ensue.match, text=query, alone=True),
            "ensue, not said to be alone": partial(ensue.match, text=query),
            _STATELESS: lambda frame: frame.mapInArrow(passed_on, frame.schema),
            _STATELESS + UNLIMITED: lambda frame: frame.mapInArrow(passed_on, frame.schema),
            "Spark: the same state, nothing done": partial(kept_only, query=query),
        }
        told: dict[str, list[Told]] = {name: [] for name in frames}
        works = {
            name: limited(
                spark,
                USUAL_LIMIT if name in ("ensue" + LIMITED, _STATELESS) else NO_LIMIT,
                partial(record, told[name], of, spark, folder),
            )
            for name, of in frames.items()
        }
        times = in_turn(size.rounds, works)
        rows = [
            row(name, size.rows, cost, None if name == "ensue" else times["ensue"], **steady(told[name]))
            for name, cost in times.items()
        ]
        rows[0] |= {"matches": matches}
        title = f"stream, {NAMED[short]}"
        yield title, rows + [{"name": f"  micro-batch {b.pop('batch')}", **b} for b in told["ensue"][-1]]


def many_queries(spark: SparkSession, size: Size) -> list[dict[str, Any]]:
    """Ten queries in one stream, beside ten streams one after another, which read and shuffle the events ten times."""
    folder = events_of(size.join_rows, size.keys[-1])
    texts = [
        f"SELECT x.id, y.id FROM S WHERE {a} AS x ; {b} AS y PARTITION BY key WITHIN {window(size, -1)} ms"
        for a, b in zip(TYPES[0::2], TYPES[1::2], strict=True)
    ]
    queries = {f"q{n}": ensue.query(text) for n, text in enumerate(texts)}
    told: dict[str, int] = {}

    def together() -> None:
        told["together"] = matches_of(drained(ensue.run(read_stream(spark, folder), queries)))

    def alone() -> None:
        told["alone"] = sum(matches_of(drained(q.run(read_stream(spark, folder)))) for q in queries.values())

    costs = in_turn(min(size.rounds, 2), {"together": together, "alone": alone})
    assert told["together"] == told["alone"] > 0
    both = costs["together"]
    return [
        row("ensue.run, ten queries in one stream", size.join_rows, both, matches=told["together"]),
        row("ensue, ten streams one after another", size.join_rows, costs["alone"], both),
    ]


def revising(spark: SparkSession, size: Size) -> list[dict[str, Any]]:
    """A stream whose matches are told at once, and corrected, beside one that waits for the watermark."""
    folder, text = events(size, -1), stream_queries(size)["few"]
    told: dict[str, list[Told]] = {"wait": [], "revise": []}
    options: dict[str, dict[str, Any]] = {"wait": {}, "revise": {"disorder": "revise", "id": "id"}}
    works = {
        name: partial(record, told[name], partial(ensue.match, text=text, **options[name]), spark, folder)
        for name in told
    }
    costs = in_turn(size.rounds, works)
    state = {name: max(b.get("state_bytes", 0) for b in runs[-1]) for name, runs in told.items()}
    waiting = costs["wait"]
    beside = {
        "rows_a_second_of_waiting": round(waiting.seconds / costs["revise"].seconds, 2),
        "state_of_waiting": round(state["revise"] / state["wait"], 2),
    }
    return [
        row("disorder='wait'", size.rows, waiting, state_bytes=state["wait"]) | steady(told["wait"]),
        row("disorder='revise'", size.rows, costs["revise"], waiting, state_bytes=state["revise"])
        | steady(told["revise"])
        | beside,
    ]


Told = list[dict[str, Any]]


def matches_of(told: Told) -> int:
    return sum(batch.get("matches", 0) for batch in told)


def record(told: list[Told], of: Callable[[DataFrame], DataFrame], spark: SparkSession, folder: Path) -> None:
    told.append(drained(of(read_stream(spark, folder))))


def steady(runs: list[Told]) -> dict[str, float]:
    """The median micro-batch of the fastest run, without the first one: a stream starts once and then runs for long."""
    medians = [statistics.median(b["ms"] for b in told[1:] if b["rows"]) for told in runs]
    return {"median_ms_a_micro_batch": min(medians)}


def kept_only(frame: DataFrame, query: str) -> DataFrame:
    """A stream that sends packed events through the state store like a query, but without evaluating the query."""
    parsed = ensue.query(query)
    packed = compacted(prepare(parsed.ast, query, frame).streamed).mapInArrow(Packer(BucketCount.of(frame)), PACKED)
    return packed.groupBy("bucket").transformWithState(Keeper(), "bucket long", "Append", "EventTime")


class Keeper(StatefulProcessor):
    """Keeps the events of the last micro-batch, as a query must do until the watermark has passed them."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("bucket", "state binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        self._state.get()
        blob = b"".join(bytes(r.rows) for r in rows)
        self._state.update((pa.compress(blob, "zstd", asbytes=True),))
        yield Row(bucket=key[0])

    def close(self) -> None:
        pass


def read_stream(spark: SparkSession, folder: Path) -> DataFrame:
    stream = spark.readStream.schema("id long, time timestamp, type string, key int, v double")
    return stream.option("maxFilesPerTrigger", 1).parquet(str(folder)).withWatermark("time", f"{_LATE} seconds")


def _final(table: pa.Table) -> pa.Table:
    """The events that the last watermark has passed. Later events still wait when the stream ends."""
    times = table.column("time")
    last = pc.subtract(pc.max(times), pa.scalar(timedelta(seconds=_LATE), pa.duration("us")))
    return table.filter(pc.less_equal(times, last))


def drained(frame: DataFrame) -> Told:
    """Runs a stream to its end, and returns what its micro-batches reported."""
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()
        return [_told(p) for p in query.recentProgress if p.numInputRows or p.observedMetrics]


def _told(progress: Any) -> dict[str, Any]:
    seen = progress.observedMetrics.get("ensue")
    told = {"batch": progress.batchId, "rows": progress.numInputRows, "ms": progress.durationMs["triggerExecution"]}
    return told | ({} if seen is None else seen.asDict())


def _collected(spark: SparkSession, folder: Path, query: str) -> pa.Table:
    """The matches of a stream, written to files and read from them."""
    with tempfile.TemporaryDirectory() as out:
        frame = ensue.match(read_stream(spark, folder), query)
        writer = frame.writeStream.format("parquet").option("checkpointLocation", f"{out}/checkpoint")
        writer.trigger(availableNow=True).start(f"{out}/rows").awaitTermination()
        return spark.read.parquet(f"{out}/rows").toArrow()
