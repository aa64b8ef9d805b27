"""A small streaming application: files of events come in, matches and late events go out, and a page shows it running.

    python examples/streaming/app.py FOLDER

It reads what is put into FOLDER/in (CSV with the columns time, type, user, address), and writes FOLDER/matches and
FOLDER/late (Parquet) and FOLDER/page.html. Ctrl-C, or SIGTERM, stops it; started again, it goes on where it was. With
--until-empty it ends when all files are read. Take it as a template: the query is in logins.sql.
"""

import argparse
import signal
import threading
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import ensue
from ensue.spark import keep_progress_page, local_session

QUERY = Path(__file__).parent / "logins.sql"
COLUMNS = "time TIMESTAMP, type STRING, user STRING, address STRING"
#: How late events come. What comes later still goes to FOLDER/late.
LATE = "1 minute"


def events(spark: SparkSession, folder: Path) -> DataFrame:
    """The stream of events. A file must be complete when it appears: write it elsewhere, then move it here."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    read = spark.readStream.schema(COLUMNS).option("header", "true").option("maxFilesPerTrigger", "100")
    return read.csv(f"{folder}/in").withWatermark("time", LATE)


def start(rows: DataFrame, folder: Path, name: str, *, until_empty: bool):
    """One output: Parquet, with a checkpoint of its own, from which it goes on after a stop or a crash."""
    writer = rows.writeStream.queryName(name).option("checkpointLocation", f"{folder}/state/{name}")
    trigger = {"availableNow": True} if until_empty else {"processingTime": "2 seconds"}
    return writer.format("parquet").trigger(**trigger).start(f"{folder}/{name}")


def main() -> None:
    """Runs until it is told to stop, or until one of its outputs fails."""
    parser = argparse.ArgumentParser(description="Finds logins that succeed after several failures.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--until-empty", action="store_true", help="end when all files are read")
    told = parser.parse_args()
    query = ensue.query(QUERY.read_text(encoding="utf-8"))
    spark = local_session("local[2]", {"spark.sql.session.timeZone": "UTC"})
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # after the session has started, which heeds Ctrl-C in its own way
        signal.signal(number, lambda *_: stop.set())
    arriving = events(spark, told.folder)
    outputs = [
        start(query.run(arriving, name="logins"), told.folder, "matches", until_empty=told.until_empty),
        start(query.late(arriving), told.folder, "late", until_empty=told.until_empty),
    ]
    page = keep_progress_page(outputs[0], told.folder / "page.html", name="logins", query=query)
    print(f"running; {told.folder}/page.html shows it", flush=True)
    while not stop.is_set() and any(o.isActive for o in outputs) and not any(o.exception() for o in outputs):
        stop.wait(0.5)
    for output in outputs:
        output.stop()
    page.join(10)
    spark.stop()
    failed = [o.exception() for o in outputs if not stop.is_set() and o.exception() is not None]
    if failed:
        raise SystemExit(f"error: {failed[0]}")
    print("stopped", flush=True)


if __name__ == "__main__":
    main()
