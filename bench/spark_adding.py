"""How soon a query that is added to a running stream tells its first match, beside a stream that is started again.

Both read the same events, which the source makes without end, and tell matches at once. A restart with one more query
is a stream with a checkpoint of its own, since a checkpoint belongs to its queries; what it would have to read again
does not count here.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import ensue
from bench.spark_small_batches import source, wait_for

_EVENTS = 1_000  # of a micro-batch
_WARM = 6  # micro-batches
_PATIENCE = 120  # seconds
_FIRST, _ADDED = (
    f"SELECT x.id, y.id FROM S WHERE {a} AS x ; {b} AS y PARTITION BY key WITHIN 1 s" for a, b in ("AB", "CD")
)


def adding(spark: SparkSession, rounds: int) -> list[dict[str, Any]]:
    added = min(_seconds_to_add(spark) for _ in range(rounds))
    restarted = min(_seconds_to_restart(spark) for _ in range(rounds))
    return [
        {"name": "a query is added to a running stream", "seconds": round(added, 2)},
        {
            "name": "the stream is stopped, and started with one more query",
            "seconds": round(restarted, 2),
            "times_ours": round(restarted / added, 1),
        },
    ]


class Told:
    """The sink of a stream: says when the query "added" told its first match."""

    def __init__(self) -> None:
        self.found = threading.Event()

    def __call__(self, batch: DataFrame, number: int) -> None:
        if any(row.query == "added" for row in batch.select("query").distinct().collect()):
            self.found.set()


def _started(matches: DataFrame, told: Told, checkpoint: Path) -> StreamingQuery:
    writer = matches.writeStream.foreachBatch(told).option("checkpointLocation", str(checkpoint))
    return writer.start()


def _queries(*texts: str) -> Mapping[str, Any]:
    return {name: ensue.query(text) for name, text in zip(("first", "added"), texts, strict=False)}


def _seconds_to_add(spark: SparkSession) -> float:
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder, "asked"), Told()
        asked.mkdir()
        control = spark.readStream.schema("name string, text string").json(str(asked))
        matches = ensue.run(_events(spark), _queries(_FIRST), queries=control, disorder="revise", id="id")
        running = _started(matches, told, Path(folder, "state"))
        try:
            wait_for(running, _WARM)
            begin = time.perf_counter()
            unfinished = Path(folder, "row")
            unfinished.write_text(json.dumps({"name": "added", "text": _ADDED}) + "\n")
            unfinished.rename(asked / "1.json")
            return _waited(running, told, begin)
        finally:
            running.stop()


def _seconds_to_restart(spark: SparkSession) -> float:
    with tempfile.TemporaryDirectory() as folder:
        told = Told()
        before = ensue.run(_events(spark), _queries(_FIRST), disorder="revise", id="id")
        running = _started(before, told, Path(folder, "before"))
        wait_for(running, _WARM)
        begin = time.perf_counter()
        running.stop()
        after = ensue.run(_events(spark), _queries(_FIRST, _ADDED), disorder="revise", id="id")
        running = _started(after, told, Path(folder, "after"))
        try:
            return _waited(running, told, begin)
        finally:
            running.stop()


def _events(spark: SparkSession) -> DataFrame:
    # Types repeat every five events, so each key has all of them.
    return source(spark, _EVENTS).withColumn("key", F.col("id") % 97)


def _waited(running: StreamingQuery, told: Told, begin: float) -> float:
    while not told.found.wait(0.5):
        if time.perf_counter() - begin > _PATIENCE:
            raise TimeoutError("the query that was added tells no match")
        failed = running.exception()
        if failed is not None:
            raise failed
    return time.perf_counter() - begin
