"""Batches on Spark, by key and without a key, and row patterns, beside Spark's own ways."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import ensue
from bench.spark_data import events_of
from bench.spark_measure import (
    LIMITED,
    SETTINGS,
    SMALL,
    UNLIMITED,
    USUAL_LIMIT,
    Size,
    checked,
    consumed,
    events,
    in_turn,
    limited,
    passed_on,
    row,
    sequence,
    window,
)
from ensue.spark import local_session
from ensue.spark.plain_scan import SETTING

#: A batch whose events come from the JVM, although the tasks could read the files themselves.
BY_SPARK = "ensue, Spark reads the files"
EMBEDDED = "ensue embedded, with reading the files"


def read_by_spark(spark: SparkSession, work: Callable[[], Any]) -> Callable[[], Any]:
    """The work with all reading left to Spark."""

    def run() -> Any:
        spark.conf.set(SETTING, "false")
        try:
            return work()
        finally:
            spark.conf.unset(SETTING)

    return run


def embedded(folder: Path, query: str) -> pa.Table:
    """The same query without Spark, in this process, on all cores."""
    table = pq.read_table(folder, columns=["id", "time", "type", "key"], read_dictionary=["type"])
    return ensue.match(table, query).to_arrow()


def self_join(size: Size, which: int) -> str:
    return f"""
        SELECT a.key, a.time, c.time, a.id, b.id, c.id
        FROM events a JOIN events b ON a.key = b.key AND a.time < b.time
                      JOIN events c ON a.key = c.key AND b.time < c.time
        WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C'
          AND b.time <= a.time + INTERVAL {window(size, which) / 1000} SECONDS
          AND c.time <= a.time + INTERVAL {window(size, which) / 1000} SECONDS
    """


def window_function(size: Size, which: int) -> str:
    return f"""
        SELECT key, a.time, time, a.id, b.id, id
        FROM (
          SELECT *, collect_list(CASE WHEN type = 'A' THEN struct(time, id) END) OVER before AS firsts,
                    collect_list(CASE WHEN type = 'B' THEN struct(time, id) END) OVER before AS seconds
          FROM events WHERE type IN ('A', 'B', 'C')
          WINDOW before AS (PARTITION BY key ORDER BY time
                            RANGE BETWEEN INTERVAL {window(size, which) / 1000} SECONDS PRECEDING AND CURRENT ROW)
        ) LATERAL VIEW explode(firsts) AS a LATERAL VIEW explode(seconds) AS b
        WHERE type = 'C' AND a.time < b.time
    """


def partitioned(spark: SparkSession, size: Size, keys: int) -> list[dict[str, Any]]:
    which = size.keys.index(keys)
    folder, query = events(size, which), sequence(size, which)
    frame = spark.read.parquet(str(folder))
    matches = checked(ensue.match(frame, query).toArrow(), query, pq.read_table(folder))
    passing = "Spark: mapInArrow, all rows as they are"
    scanning = "Spark: the relevant rows read, and nothing done"
    frame.createOrReplaceTempView("events")
    windowed = "Spark SQL: window functions"
    works = {
        "ensue": lambda: consumed(ensue.match(frame, query)),
        BY_SPARK: read_by_spark(spark, lambda: consumed(ensue.match(frame, query))),
        BY_SPARK + LIMITED: limited(
            spark, USUAL_LIMIT, read_by_spark(spark, lambda: consumed(ensue.match(frame, query)))
        ),
        EMBEDDED: lambda: embedded(folder, query),
        passing: limited(spark, USUAL_LIMIT, lambda: consumed(frame.mapInArrow(passed_on, frame.schema))),
        passing + UNLIMITED: lambda: consumed(frame.mapInArrow(passed_on, frame.schema)),
        scanning: lambda: consumed(spark.sql("SELECT id, time, key FROM events WHERE type IN ('A', 'B', 'C')")),
    }
    times = in_turn(size.rounds, works)
    ours = times["ensue"]
    rows = [
        row("ensue", size.rows, ours, matches=matches),
        *(row(name, size.rows, cost, ours) for name, cost in times.items() if name != "ensue"),
    ]
    for name, sql in ((windowed, window_function(size, which)), ("Spark SQL: self-join", self_join(size, which))):
        # A join compares the events of a key with each other. With few keys it takes too long, so it gets fewer events.
        few = which == 0 and "join" in name
        part = spark.read.parquet(str(events_of(size.join_rows, keys))) if few else frame
        part.createOrReplaceTempView("events")
        count = size.join_rows if few else size.rows
        found = spark.sql(sql).count()
        expected = ensue.match(part, query).count() if few else matches
        assert found == expected, (name, found, expected)
        both = {
            "ensue": lambda part=part: consumed(ensue.match(part, query)),
            name: lambda sql=sql: consumed(spark.sql(sql)),
        }
        times = in_turn(size.rounds, both)
        note = {"of_rows": count} if few else {}
        rows.append(row(name, count, times[name], times["ensue"], matches=found, **note))
    return rows


def unpartitioned(size: Size) -> list[dict[str, Any]]:
    """Sessions with one task at a time and with two, which run the same query in turn.

    The JVM and Python of one task work side by side on all cores. So one more session
    has a single core for all its processes.
    """
    events(size, 0)  # the folder is made here, because all sessions would make it at the same time
    sessions = {
        "local[1] on one core": Session("local[1]", size is SMALL, one_core=True),
        "local[1]": Session("local[1]", size is SMALL),
        "local[2]": Session("local[2]", size is SMALL),
    }
    works: dict[str, Callable[[], Any]] = {name: partial(s.ask, "run") for name, s in sessions.items()}
    works[BY_SPARK] = partial(sessions["local[2]"].ask, "run, read by Spark")
    works[EMBEDDED] = lambda: embedded(events(size, 0), UNPARTITIONED)
    try:
        matches = {name: s.ask("check") for name, s in sessions.items()}
        assert len(set(matches.values())) == 1, matches
        costs = in_turn(size.rounds, works)
    finally:
        for session in sessions.values():
            session.close()
    two = costs.pop("local[2]")
    others = {name if name in (BY_SPARK, EMBEDDED) else f"ensue, {name}": cost for name, cost in costs.items()}
    return [
        row("ensue, local[2]", size.rows, two, matches=int(matches["local[2]"])),
        *(row(name, size.rows, cost, two) for name, cost in others.items()),
    ]


UNPARTITIONED = "SELECT x.id, y.id, z.id FROM S WHERE A AS x ; B AS y ; C AS z WITHIN 20 ms"


class Session:
    """Another process with its own session."""

    def __init__(self, master: str, small: bool, *, one_core: bool = False) -> None:
        command = [sys.executable, "-m", "bench.spark", "--serve", master, *(["--small"] if small else [])]
        if one_core:
            command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, what: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(what, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def serve(master: str, size: Size) -> None:
    spark = local_session(master, SETTINGS)
    folder = events(size, 0)
    frame = spark.read.parquet(str(folder))
    works = {
        "run": lambda: consumed(ensue.match(frame, UNPARTITIONED)),
        "run, read by Spark": read_by_spark(spark, lambda: consumed(ensue.match(frame, UNPARTITIONED))),
    }
    for line in sys.stdin:
        if line.strip() == "check":
            found = ensue.match(frame, UNPARTITIONED).toArrow()
            print(checked(found, UNPARTITIONED, pq.read_table(folder)), flush=True)
        else:
            works[line.strip()]()
            print(0, flush=True)
    spark.stop()


_SHAPES = """SELECT * FROM t MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY time
    MEASURES FIRST(id) AS begins, LAST(DOWN.v) AS bottom, LAST(id) AS ends
    PATTERN (TOP DOWN+ UP+) DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v))"""


def row_patterns(spark: SparkSession, size: Size) -> list[dict[str, Any]]:
    """MATCH_RECOGNIZE by key, beside the same columns sent to Python and back."""
    folder = events(size, -1)
    frame = spark.read.parquet(str(folder)).select("id", "time", "key", "v")
    matches = ensue.sql(_SHAPES, t=frame).count()
    assert matches == len(ensue.sql(_SHAPES, t=pq.read_table(folder)))
    passing = "Spark: mapInArrow, the same columns as they are"
    works = {
        "ensue": lambda: consumed(ensue.sql(_SHAPES, t=frame)),
        BY_SPARK: read_by_spark(spark, lambda: consumed(ensue.sql(_SHAPES, t=frame))),
        passing: limited(spark, USUAL_LIMIT, lambda: consumed(frame.mapInArrow(passed_on, frame.schema))),
        passing + UNLIMITED: lambda: consumed(frame.mapInArrow(passed_on, frame.schema)),
    }
    times = in_turn(size.rounds, works)
    return [
        row(name, size.rows, cost, None if name == "ensue" else times["ensue"], matches=matches)
        for name, cost in times.items()
    ]
