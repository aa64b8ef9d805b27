"""The program that test_kill.py kills: a stream from files to files.

kill_stream.py folder wait|revise|groups    reads folder/source, writes folder/sink and, at the end, folder/matches
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import ensue
from ensue.spark import local_session

QUERIES = {
    "wait": "SELECT x.n AS a, y.n AS b FROM S WHERE A AS x ; B AS y PARTITION BY k WITHIN 3 s",
    "revise": "SELECT x.n AS a, y.n AS b FROM S WHERE A AS x ; NOT C ; B AS y PARTITION BY k WITHIN 3 s",
    "groups": "AGGREGATE count(*) AS n, sum(y.n) AS total, max(sum(y.n)) AS best, avg(count(y)) AS size "
    "FROM S WHERE A ; (B AS y)+ PARTITION BY k WITHIN 3 s GROUP BY k, EVERY 2 s",
}
SCHEMA = "time timestamp, type string, k int, n long"
SETTINGS = {
    # Many small micro-batches, each of which writes the states of two buckets.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


def told(row: dict[str, Any]) -> list[str]:
    """A row of the result as texts, which JSON keeps; the first one says whether it was told or taken back."""
    change = row.pop("change", "insert")
    row.pop("match", None)  # what is embedded has no ids
    return [change, *map(str, row.values())]


def main(folder: Path, disorder: str) -> None:
    # Two cores, and a task may fail twice, so a dead worker does not end the query, as on a cluster.
    spark = local_session("local[2,3]", SETTINGS)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "source"))
    options: Any = {"disorder": "revise"} if disorder == "revise" else {}
    query = ensue.query(QUERIES[disorder])
    matches = query.run(source.withWatermark("time", "2 seconds"), buckets=2, **options)
    writer = matches.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.trigger(availableNow=True).start(str(folder / "sink"))
    # This is written only now, so that a kill hits a running stream.
    (folder / "running").write_text(str(os.getpid()))
    running.awaitTermination()
    # Spark reads only the files in the sink's log, and not what a kill left there.
    rows = [told(row) for row in spark.read.parquet(str(folder / "sink")).toArrow().to_pylist()]
    (folder / "matches").write_text(json.dumps(rows))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
