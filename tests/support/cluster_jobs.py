"""The driver that test_cluster.py kills: batches and a stream on a cluster, each with a gate that tasks wait at.

cluster_jobs.py master folder    reads folder/events, writes the matches of each job into folder/JOB

Rows pass a gate: as long as there is a file hold-GATE, a task that comes there says so in a file of its own and waits.
So a test knows which processes are in the middle of which work when it kills one of them.
"""

import os
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from cluster import JVM
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import ensue
from ensue.spark import local_session

SCHEMA = "time timestamp, type string, k int, n long"
_PATTERN = "SELECT x.n AS a, y.n AS b FROM S WHERE A AS x ; B AS y"
QUERIES = {
    "keyed": f"{_PATTERN} FILTER x.k = y.k",
    "slices": f"{_PATTERN} FILTER x.n % 7 = y.n % 7 WITHIN 3 s",
    "one_task": f"{_PATTERN} ; C AS z FILTER y.n = x.n + 1 AND z.n = y.n + 1",
    "stream": f"{_PATTERN} PARTITION BY k WITHIN 3 s",
}
BATCHES = ("keyed", "slices", "one_task")
SETTINGS = {
    "spark.driver.memory": "600m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.executor.extraJavaOptions": JVM,
    "spark.driver.extraJavaOptions": JVM,
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # A test kills many processes that run the same task, and no task may fail the job for that.
    "spark.task.maxFailures": "50",
    "spark.cores.max": "2",
}


@dataclass(frozen=True)
class Gate:
    """`mapInArrow` function: passes rows on. In a stream each micro-batch has a gate of its own."""

    folder: str
    name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        nth = context.getLocalProperty("streaming.sql.batchId") if context else None
        name = self.name if nth is None else f"{self.name}-{nth}"
        hold = Path(self.folder) / f"hold-{name}"
        there = Path(self.folder) / f"at-{name}.{os.getpid()}.{uuid.uuid4().hex}"
        if hold.exists():
            there.touch()
        while hold.exists():
            time.sleep(0.02)
        yield from batches


def gated(frame: DataFrame, folder: Path, name: str) -> DataFrame:
    return frame.mapInArrow(Gate(str(folder), name), frame.schema)


def batch(spark: SparkSession, folder: Path, job: str) -> None:
    """Killed before the shuffle, where rows are packed, and after it, where matches are found."""
    events = gated(spark.read.schema(SCHEMA).parquet(str(folder / "events")), folder, f"{job}-before")
    matches = gated(ensue.match(events, QUERIES[job]), folder, f"{job}-after")
    matches.write.mode("overwrite").parquet(str(folder / job))


def stream(spark: SparkSession, folder: Path) -> None:
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    matches = ensue.match(source.withWatermark("time", "2 seconds"), QUERIES["stream"], buckets=4)
    writer = gated(matches, folder, "stream").writeStream.format("parquet")
    checkpoint = writer.option("checkpointLocation", str(folder / "checkpoint"))
    checkpoint.trigger(availableNow=True).start(str(folder / "stream")).awaitTermination()


def main(master: str, folder: Path) -> None:
    spark = local_session(master, SETTINGS)
    for job in BATCHES:
        if not (folder / job / "_SUCCESS").exists():
            batch(spark, folder, job)
    stream(spark, folder)
    # Spark reads only the files in the sink's log, and not what a kill left there.
    spark.read.parquet(str(folder / "stream")).coalesce(1).write.mode("overwrite").parquet(str(folder / "streamed"))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
