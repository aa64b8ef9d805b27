"""Micro-batches of ten events: what each costs, beside Spark's own operators with state. Streams take turns.

The source makes its events in the JVM, so a micro-batch has no files to list and to open. The first micro-batches of a
stream, in which processes start, do not count.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import ensue
from bench.cpu import cpu_seconds
from bench.spark_measure import passed_on

EVENTS = 10
#: Micro-batches at the beginning of a stream that do not count, and those that do.
_WARM, _COUNTED = 8, 16
QUERY = "SELECT x.id, y.id FROM S WHERE A AS x ; B AS y PARTITION BY key WITHIN 10 s"


def small_batches(spark: SparkSession, rounds: int) -> list[dict[str, Any]]:
    counting = "key long, n long"
    frames: dict[str, Callable[[DataFrame], DataFrame]] = {
        "ensue": lambda s: ensue.match(s, QUERY),
        "Spark: an aggregation by windows": lambda s: s.groupBy(F.window("time", "10 s"), "key").count(),
        "Spark: dropDuplicatesWithinWatermark": lambda s: s.dropDuplicatesWithinWatermark(["id"]),
        "Spark: a transformWithState that counts": lambda s: s.groupBy("key").transformWithState(
            Counter(), counting, "Append", "EventTime"
        ),
        "Spark: stateless mapInArrow": lambda s: s.mapInArrow(passed_on, s.schema),
    }
    seen: dict[str, list[Batches]] = {name: [] for name in frames}
    for _ in range(rounds):
        for name, of in frames.items():
            seen[name].append(_run(of(source(spark))))
    ours = _row("ensue", seen["ensue"])
    return [ours, *(_row(name, runs, ours) for name, runs in seen.items() if name != "ensue")]


def source(spark: SparkSession, events: int = EVENTS) -> DataFrame:
    """Micro-batches of so many events of five types and three keys, a second of event time each."""
    made = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", events).option("numPartitions", 1)
    made = made.option("startTimestamp", 1_704_067_200_000).option("advanceMillisPerBatch", 1000)
    kind = F.substring(F.lit("ABCDE"), (F.col("value") % 5).cast("int") + 1, F.lit(1)).alias("type")
    rows = made.load().select(F.col("timestamp").alias("time"), F.col("value").alias("id"), kind)
    return rows.withColumn("key", F.col("id") % 3).withWatermark("time", "10 seconds")


class Counter(StatefulProcessor):
    """The least that an operator with state does in Python."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        n = (self._count.get() or (0,))[0] + sum(1 for _ in rows)
        self._count.update((n,))
        yield Row(key=key[0], n=n)

    def close(self) -> None:
        pass


class Batches(NamedTuple):
    """What Spark reported of micro-batches, in milliseconds by phase, and the seconds of processor time of each."""

    phases: list[dict[str, int]]
    cpu: float


def _run(frame: DataFrame) -> Batches:
    with tempfile.TemporaryDirectory() as checkpoint:
        running = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            first = wait_for(running, _WARM)
            before = cpu_seconds()
            last = wait_for(running, first + _COUNTED)
            cpu = (cpu_seconds() - before) / (last - first)
            told = [p.durationMs for p in running.recentProgress if first < p.batchId <= last]
        finally:
            running.stop()
    return Batches(told, cpu)


def wait_for(running: StreamingQuery, batch: int) -> int:
    """Waits until this micro-batch has ended; the number of the one that ended last."""
    while True:
        progress = running.lastProgress
        if progress is not None and progress.batchId >= batch:
            return int(progress.batchId)
        failed = running.exception()
        if failed is not None:
            raise failed
        time.sleep(0.02)


def _row(name: str, runs: list[Batches], ours: dict[str, Any] | None = None) -> dict[str, Any]:
    told = [phases for run in runs for phases in run.phases]
    of_phase = {p: statistics.median(t.get(p, 0) for t in told) for p in ("triggerExecution", "addBatch")}
    planning = statistics.median(t.get("queryPlanning", 0) for t in told)
    found = {
        "name": name,
        "median_ms": of_phase["triggerExecution"],
        "least_ms": min(t["triggerExecution"] for t in told),
        "in_the_job_ms": of_phase["addBatch"],
        "planning_ms": planning,
        "cpu": round(min(run.cpu for run in runs), 3),
    }
    if ours is not None:
        found |= {
            "median_of_ours": round(ours["median_ms"] / found["median_ms"], 2),
            "least_of_ours": round(ours["least_ms"] / found["least_ms"], 2),
        }
    return found
