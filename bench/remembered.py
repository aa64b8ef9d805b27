"""Queries that store something of their events: values to compare, and times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv

from bench import flink
from bench.measure import best_of, measure
from bench.spark_data import CACHE
from bench.workloads import Workload, keyed_stream

_TIED = "SELECT x, y, z FROM S WHERE A AS x ; B AS y ; C AS z FILTER x.key = y.key AND y.key = z.key"
_PAIR = "SELECT x, y FROM S WHERE A AS x ; B AS y FILTER x.key = y.key AND y.v > x.v"


def correlation(events: int) -> list[dict[str, Any]]:
    """Three events of different types with the same key; the window holds 10,000 events."""
    rows = [
        measure(Workload(f"x = y = z, {keys:,} ids", f"{_TIED} WITHIN 10000 EVENTS", keyed_stream(events, 3, keys)))
        for keys in (1_000, 1_000_000)
    ]
    # With few ids nearly every triple in a window is a match. A query without matches shows the cost before that.
    unmatched = f"{_TIED} AND z.v > 2 WITHIN 10000 EVENTS"
    rows += [
        measure(Workload(f"x = y = z, {keys:,} ids, no output", unmatched, keyed_stream(events, 3, keys)))
        for keys in (10, 1_000, 1_000_000)
    ]
    stream = keyed_stream(events, 3, 1_000)
    others = {
        "x.id = y.id and y.v > x.v": f"{_PAIR} WITHIN 10000 EVENTS",
        "y.v > x.v * 10000": "SELECT x, y FROM S WHERE A AS x ; B AS y FILTER y.v > x.v * 10000 WITHIN 10000 EVENTS",
        "z.v > x.v * 10000, y between": "SELECT x, y, z FROM S WHERE A AS x ; B AS y ; C AS z "
        "FILTER z.v > x.v * 10000 WITHIN 100 EVENTS",
        "near values in each round": "SELECT x, y FROM S WHERE (A AS x ; B AS y FILTER abs(x.v - y.v) < 0.00001)+ "
        "WITHIN 1000 EVENTS",
        "no B above x": "SELECT x FROM S WHERE A AS x ; NOT (B AS b FILTER b.v > x.v) ; C WITHIN 1000 EVENTS",
        "rising chain of three": "SELECT y FROM S WHERE (A AS y FILTER y.v > LASTOF(y).v){3} WITHIN 20 EVENTS",
    }
    return rows + [measure(Workload(name, query, stream)) for name, query in others.items()]


def few_hits(events: int) -> list[dict[str, Any]]:
    """One event in a hundred matters. The rate must not fall as the stream grows."""
    query = f"{_PAIR} AND x.v > 0.99 AND y.v > 0.99 WITHIN 10000 EVENTS"
    return [
        measure(Workload(f"{n:,} events with 1% of hits", query, keyed_stream(n, 3, 1_000)))
        for n in (events, 10 * events)
    ]


def joined(events: int) -> list[dict[str, Any]]:
    """The pair of one key in DuckDB on one core, and in Flink, if it is installed, on two."""
    stream = keyed_stream(events, 3, 1_000)
    ours = measure(Workload("pair", f"{_PAIR} WITHIN 10000 EVENTS", stream))
    our_seconds = events / ours["million_events_a_second"] / 1e6
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("s", stream.set_column(1, "type", stream["type"].cast("string")))
    join = """
        SELECT a.time, b.time FROM s a, s b WHERE a.type = 'A' AND b.type = 'B' AND a.key = b.key
        AND a.time < b.time AND b.time - a.time < 10000 AND b.v > a.v
    """
    seconds, rows = best_of(2, lambda: connection.sql(join).to_arrow_table().num_rows)
    assert rows == ours["matches"], (rows, ours["matches"])
    return [
        {
            "name": "DuckDB, self-join",
            "seconds": round(seconds, 4),
            "times_ours": round(seconds / our_seconds, 1),
            "matches": rows,
        },
        *flink.measured("pair", _as_csv(stream), events, 10_000, ours["million_events_a_second"], install=False),
    ]


def _as_csv(stream: pa.Table) -> Path:
    """Writes the events as a CSV file with numbers and timestamps into a new folder."""
    folder = CACHE / f"pairs-{len(stream)}-csv"
    folder.mkdir(parents=True, exist_ok=True)
    columns = {
        "id": stream["time"],
        "time": stream["time"].cast(pa.timestamp("ms")),
        "type": stream["type"].cast(pa.string()),
        "key": stream["key"],
        "v": stream["v"],
    }
    options = pyarrow.csv.WriteOptions(include_header=False)
    pyarrow.csv.write_csv(pa.table(columns), folder / "events.csv", options)
    return folder


def timed(events: int) -> list[dict[str, Any]]:
    """The queries of Garcia and Riveros over events of eight types, one each millisecond."""
    stream = keyed_stream(events, 8, 10)
    steps = " ;[2 ms .. 6 ms] ".join(f"{t} AS {t.lower()}" for t in "ABCDEF")
    queries = {
        "T ;[<= 10 ms] T ; H within 50 ms": _phi_1("10 ms", "50 ms"),
        "contiguous timed iteration": "SELECT x FROM S WHERE (A AS x):+[<= 1 ms] : B WITHIN 1 s",
        "6 steps with two-sided gaps": f"SELECT a, b, c, d, e, f FROM S WHERE {steps}",
    }
    queries |= {
        f"T ;[<= 1 s] T ; H within {w}, no output": _phi_1("1 s", w, "NEVER") for w in ("1 s", "10 s", "1000 s")
    }
    return [measure(Workload(name, query, stream)) for name, query in queries.items()]


def _phi_1(gap: str, window: str, last: str = "B") -> str:
    return f"SELECT x, y FROM S WHERE A AS x ;[<= {gap}] A ; {last} AS y WITHIN {window}"
