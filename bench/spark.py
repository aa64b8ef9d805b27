"""`make bench`, the part on Spark: the time of Ensue on Spark, compared with Spark's own in the same run.

What is compared runs in turn, A B A B, and the shortest time of each counts, because the machine may do other work.
Before anything is measured, the matches of every query are compared with those of the embedded engine.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import ensue
from bench import flink
from bench.cpu import cpu_seconds
from bench.report import commit, keep, section
from bench.spark_data import TYPES, as_csv, events_of
from ensue.spark import local_session
from ensue.spark.bucket_count import BucketCount
from ensue.spark.crossing import compacted
from ensue.spark.packing import PACKED, Packer
from ensue.spark.plain_scan import SETTING
from ensue.spark.run import prepare

#: Settings of the session in addition to those of `local_session`. The joins need 4 GB for their sort and their rows.
SETTINGS = {"spark.driver.memory": "4g"}
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Size:
    """The sizes. Windows grow with the time between the events of a key, so the number of matches stays the same."""

    rows: int
    keys: tuple[int, int]
    join_rows: int  # for the self-join with few keys, whose time grows with the square
    rounds: int


FULL = Size(10_000_000, (100, 100_000), 1_000_000, 3)
SMALL = Size(100_000, (10, 1_000), 100_000, 1)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--small", action="store_true", help="some seconds: whether it runs at all")
    arguments.add_argument(
        "--only", default="", help="sections by their letters: p(artitioned) u s f m(any queries) r(ow patterns)"
    )
    arguments.add_argument("--serve", help="inner: a session with this master, which runs what it is told to")
    given = arguments.parse_args()
    size = SMALL if given.small else FULL
    if given.serve:
        return serve(given.serve, size)
    wanted = given.only or "pusfmr"
    results: dict[str, Any] = {
        "commit": commit(),
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "rows": size.rows,
        "load_before": os.getloadavg(),
    }
    if "u" in wanted:
        results["unpartitioned"] = section("unpartitioned, by time slices", unpartitioned(size))
    if set("psmr") & set(wanted):
        spark = local_session("local[2]", SETTINGS)
        try:
            if "p" in wanted:
                for keys in size.keys:
                    title = f"partitioned, 3 of 20 types, {keys:,} keys"
                    results[title] = section(title, partitioned(spark, size, keys))
            if "r" in wanted:
                results["row patterns"] = section("row patterns, V shape by key", row_patterns(spark, size))
            if "m" in wanted:
                results["many queries"] = section("ten queries over one stream", many_queries(spark, size))
            if "s" in wanted:
                for title, rows in streaming(spark, size):
                    results[title] = section(title, rows)
        finally:
            spark.stop()
    if "f" in wanted:
        ours = results.get(f"stream, {_NAMED['few']}", [{}])[0].get("million_rows_a_second")
        found = flink.measured("sequence", as_csv(events(size, -1)), size.rows, window(size, -1), ours)
        results["flink"] = section("Flink's MATCH_RECOGNIZE, streaming", found)
    results["load_after"] = os.getloadavg()
    print(f"\nload before and after: {results['load_before']}, {results['load_after']}")
    if not given.small and not given.only:
        keep("spark.json", results)


# ---------------------------------------------------------------- the events and the queries


def events(size: Size, which: int) -> Path:
    return events_of(size.rows, size.keys[which])


def window(size: Size, which: int) -> int:
    """The milliseconds in which a key has one event of each type on average."""
    return size.keys[which] * len(TYPES)


def sequence(size: Size, which: int) -> str:
    return (
        "SELECT x.id, y.id, z.id FROM S WHERE A AS x ; B AS y ; C AS z "
        f"PARTITION BY key WITHIN {window(size, which)} ms"
    )


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


def passed_on(batches: Batches) -> Batches:
    """The cost of a `mapInArrow` that does nothing."""
    yield from batches


#: The limits on the bytes of a batch that crosses to Python: Spark's default, which it checks after every row; and no
#: limit, as `local_session` sets it.
LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
USUAL_LIMIT, NO_LIMIT = "64m", str(2**31 - 1)
UNLIMITED, LIMITED = ", no limit of bytes", ", Spark's limit of bytes"


def limited(spark: SparkSession, limit: str, work: Callable[[], Any]) -> Callable[[], Any]:
    """The work with this limit on a batch. Later work has no limit again."""

    def run() -> Any:
        spark.conf.set(LIMIT, limit)
        try:
            return work()
        finally:
            spark.conf.set(LIMIT, NO_LIMIT)

    return run


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


def consumed(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True)
class Cost:
    """The shortest time and the least processor time of several runs, in seconds."""

    seconds: float = math.inf
    cpu: float = math.inf

    def better(self, other: Cost) -> Cost:
        return Cost(min(self.seconds, other.seconds), min(self.cpu, other.cpu))


def cost_of(work: Callable[[], Any]) -> Cost:
    before, start = cpu_seconds(), time.perf_counter()
    work()
    return Cost(time.perf_counter() - start, cpu_seconds() - before)


def in_turn(rounds: int, works: Mapping[str, Callable[[], Any]]) -> dict[str, Cost]:
    """The cost of each, from rounds in which all run one after the other."""
    found = dict.fromkeys(works, Cost())
    for _ in range(rounds):
        for name, work in works.items():
            found[name] = found[name].better(cost_of(work))
    return found


def row(name: str, rows: int, cost: Cost, ours: Cost | None = None, **more: Any) -> dict[str, Any]:
    """A row. `times_ours` is by the clock, `cpu_times_ours` by processor time, which other work changes less."""
    found = {
        "name": name,
        "seconds": round(cost.seconds, 2),
        "cpu": round(cost.cpu, 1),
        "million_rows_a_second": round(rows / cost.seconds / 1e6, 2),
    }
    if ours is not None:
        found |= {"times_ours": round(cost.seconds / ours.seconds, 2), "cpu_times_ours": round(cost.cpu / ours.cpu, 2)}
    return found | more


def checked(found: pa.Table, query: str, table: pa.Table) -> int:
    """The number of matches, after they were compared with those of the embedded engine."""
    expected = ensue.match(table, query).to_arrow()
    order = [(c, "ascending") for c in ("x_id", "y_id", "z_id") if c in expected.column_names]
    names = [c for c, _ in order]
    found, expected = (t.select(names).sort_by(order).combine_chunks() for t in (found, expected))
    assert found.equals(expected), f"{len(found):,} matches on Spark, {len(expected):,} embedded: {query}"
    return len(expected)


# ---------------------------------------------------------------- batch


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
        passing: limited(spark, USUAL_LIMIT, lambda: consumed(frame.mapInArrow(passed_on, frame.schema))),
        passing + UNLIMITED: lambda: consumed(frame.mapInArrow(passed_on, frame.schema)),
    }
    times = in_turn(size.rounds, works)
    return [
        row(name, size.rows, cost, None if name == "ensue" else times["ensue"], matches=matches)
        for name, cost in times.items()
    ]


# ---------------------------------------------------------------- streams

_STATELESS = "Spark: stateless mapInArrow"
_LATE = 10  # by how many seconds an event may be late
_NAMED = {
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
        title = f"stream, {_NAMED[short]}"
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


if __name__ == "__main__":
    main()
