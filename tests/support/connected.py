"""The program of test_connect.py. It runs a batch query and a stream with Spark Connect, and prints matches as JSON."""

import json
import os
import sys
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import ensue

QUERY = "SELECT x.n AS a, y.n AS b FROM S WHERE A AS x ; B AS y PARTITION BY k WITHIN 5 s"
CLAUSE = """SELECT k, a, b FROM t MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY time MEASURES A.n AS a, B.n AS b PATTERN (A X* B)
    DEFINE A AS type = 'A', B AS type = 'B' AND B.n > A.n) ORDER BY k, a"""
T0 = datetime(2024, 1, 1, tzinfo=UTC)


def events() -> pa.Table:
    times = pa.array([T0 + timedelta(seconds=n) for n in range(30)], pa.timestamp("us", "UTC"))
    types = ["ABC"[n // 3 % 3] for n in range(30)]
    return pa.table({"time": times, "type": types, "k": [n % 3 for n in range(30)], "n": list(range(30))})


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.python.daemon.module", "ensue.spark.daemon")
        .config("spark.sql.streaming.stateStore.providerClass", rocks)
        .getOrCreate()
    )
    try:
        print(json.dumps(run(spark, folder)))
    finally:
        spark.stop()


def run(spark: SparkSession, folder: Path) -> dict[str, object]:
    table = events()
    matches = ensue.match(spark.createDataFrame(table), QUERY)
    batch = [(r.a, r.b) for r in matches.collect()]
    explained = ensue.query(QUERY).explain(spark.createDataFrame(table))
    clause = [tuple(r) for r in ensue.sql(CLAUSE, t=spark.createDataFrame(table)).collect()]
    (folder / "source").mkdir()
    far = pa.table(
        {"time": pa.array([T0 + timedelta(days=1)], pa.timestamp("us", "UTC")), "type": ["C"], "k": [0], "n": [-1]}
    )
    for i, part in enumerate([table.slice(0, 12), table.slice(12), far]):
        pq.write_table(part, folder / "source" / f"{i}.parquet")
        os.utime(folder / "source" / f"{i}.parquet", (1_700_000_000 + i,) * 2)
    reader = spark.readStream.schema("time timestamp, type string, k long, n long").option("maxFilesPerTrigger", 1)
    source = reader.parquet(str(folder / "source")).withWatermark("time", "1 second")
    writer = ensue.match(source, QUERY, buckets=2).writeStream.format("parquet")
    started = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    started.start(str(folder / "sink")).awaitTermination()
    stream = [(r.a, r.b) for r in spark.read.parquet(str(folder / "sink")).collect()]
    clause_explained = ensue.explain_sql(CLAUSE, t=spark.createDataFrame(table))
    return {
        "batch": batch,
        "stream": stream,
        "explained": explained,
        "rows": clause,
        "rows explained": clause_explained,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
