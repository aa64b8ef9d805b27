"""Sessions by a gap on Spark, beside Spark's own `session_window` and a function over pandas: the three take turns.

A key has events at random times, and a session goes on while the next one comes within twice the mean time between.
Before anything is measured, the sessions of all three are compared.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import ensue
from bench.report import section
from bench.spark_data import events_of
from bench.spark_measure import consumed, in_turn, row
from bench.spark_streams import Told, record, steady
from ensue.spark import local_session


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--keys", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    before = os.getloadavg()
    spark = local_session("local[2]", {"spark.driver.memory": "4g"})
    try:
        title = f"sessions by a gap, batch, {given.rows:,} rows, {given.keys:,} keys"
        section(title, sessions(spark, given.rows, given.keys, given.rounds))
        title = title.replace("batch", "stream")
        section(title, streamed(spark, given.rows, given.keys, given.rounds))
    finally:
        spark.stop()
    print(f"\nload before and after: {before}, {os.getloadavg()}")


def gap(keys: int) -> int:
    """The microseconds after which a session of a key is over; no two events are exactly so far apart."""
    return 2_000 * keys + 500


def query(keys: int, *, closed: bool) -> str:
    """The sessions; the last ones of a table are over where it is closed."""
    end = " OR END" if closed else ""
    over = f"time - PREV(time) > {gap(keys)} us"
    return f"""
        SELECT count(w) AS n, sum(w.v) AS total, max(w.v) AS high
        FROM events
        WINDOW w AS (IS ANY[PREV(time) IS NULL OR {over}] : ANY[NOT ({over})]:* UNTIL (ANY[{over}]{end}))
        PARTITION BY key
    """


def by_spark(frame: DataFrame, keys: int) -> DataFrame:
    values = (F.count("*").alias("n"), F.sum("v").alias("total"), F.max("v").alias("high"))
    return frame.groupBy("key", F.session_window("time", f"{gap(keys)} microseconds")).agg(*values)


def by_pandas(frame: DataFrame, keys: int) -> DataFrame:
    apart = pd.Timedelta(microseconds=gap(keys))

    def sessions_of(events: pd.DataFrame) -> pd.DataFrame:
        events = events.sort_values("time")
        number = (events["time"].diff() > apart).cumsum()
        found = events.groupby(number)["v"].agg(n="size", total="sum", high="max")
        return found.assign(key=events["key"].iloc[0])

    return frame.groupBy("key").applyInPandas(sessions_of, "n long, total double, high double, key int")


def sessions(spark: SparkSession, rows: int, keys: int, rounds: int) -> list[dict[str, Any]]:
    frame = spark.read.parquet(str(events_of(rows, keys))).select("key", "time", "v", "type")
    works: dict[str, Callable[[], DataFrame]] = {
        "ensue": lambda: ensue.query(query(keys, closed=True)).run(frame, closed=True),
        "Spark: session_window": lambda: by_spark(frame, keys),
        "Spark: applyInPandas": lambda: by_pandas(frame, keys),
    }
    told = {name: _summed(work()) for name, work in works.items()}
    assert len(set(told.values())) == 1, told
    costs = in_turn(rounds, {name: partial(_consumed, work) for name, work in works.items()})
    ours = costs.pop("ensue")
    found = next(iter(told.values()))[0]
    others = (row(name, rows, cost, ours) for name, cost in costs.items())
    return [row("ensue", rows, ours, sessions=found), *others]


def streamed(spark: SparkSession, rows: int, keys: int, rounds: int) -> list[dict[str, Any]]:
    """The same as a stream of ten files. Spark's sessions end when time has passed the gap, ours at the next event."""
    folder, text = events_of(rows, keys), query(keys, closed=False)
    frames: dict[str, Callable[[DataFrame], DataFrame]] = {
        "ensue": lambda stream: ensue.query(text).run(stream, unbounded=True, alone=True),
        "Spark: session_window": lambda stream: by_spark(stream, keys),
    }
    told: dict[str, list[Told]] = {name: [] for name in frames}
    works = {name: partial(record, told[name], of, spark, folder) for name, of in frames.items()}
    costs = in_turn(rounds, works)
    ours = costs["ensue"]
    return [
        row(name, rows, cost, None if name == "ensue" else ours, **steady(told[name])) for name, cost in costs.items()
    ]


def _consumed(work: Callable[[], DataFrame]) -> None:
    consumed(work())


def _summed(found: DataFrame) -> tuple[int, int, float]:
    """What tells whether sessions differ: how many there are, of how many events, and a sum of their values."""
    values = (F.count("*").alias("sessions"), F.sum("n").alias("events"), F.sum("high").alias("high"))
    told = found.agg(*values).collect()[0]
    return told.sessions, told.events, round(told.high, 3)


if __name__ == "__main__":
    main()
