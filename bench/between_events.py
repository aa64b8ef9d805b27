"""Conditions between events of every shape: the cost of an event must not grow with the window, unless matches do.

    python -m bench.between_events

The peer is DuckDB with a self-join on one core, where the shape has a condition that a join takes.
"""

from __future__ import annotations

import sys
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from bench.measure import best_of, measure
from bench.report import section
from bench.workloads import Workload

WINDOWS = (100, 1_000, 10_000, 100_000)
_PAIR = "A AS x ; B AS y FILTER "
#: A pattern with its condition, and the longest window that it is measured with: 0 for all of them.
SHAPES: dict[str, tuple[str, int]] = {
    "abs(x.v - y.v) < 1": (_PAIR + "abs(x.v - y.v) < 1", 0),
    "distance on a plane": (_PAIR + "sqrt(power(x.v - y.v, 2) + power(x.w - y.w, 2)) < 100", 0),
    "distance on the globe": (_PAIR + "distance(x.lat, x.lon, y.lat, y.lon) < 1000", 0),
    "BETWEEN": (_PAIR + "x.v BETWEEN y.v - 1 AND y.v + 1", 0),
    "two bands": (_PAIR + "abs(x.v - y.v) < 100 AND abs(x.w - y.w) < 100", 0),
    "a difference on one side": (_PAIR + "y.v - x.v > 999990", 0),
    "OR of equalities": (_PAIR + "x.v = y.v OR x.w = y.w", 0),
    "a difference of times": (_PAIR + "y.at - x.at < 1 ms", 0),
    "a band in an absence": ("A AS x ; NOT (B AS b FILTER abs(b.v - x.v) < 10000) ; C AS z FILTER z.v = x.v", 0),
    "<> under NEXT": (_PAIR + "x.v <> y.v", 1_000),
    "over three steps": ("A AS x ; B AS y ; C AS z FILTER z.v > x.v + 999990", 1_000),
}


def stream_of(events: int, seed: int = 5) -> pa.Table:
    """Events of a hundred types, one each millisecond, with values from 0 to a million and places on the globe."""
    rng = np.random.default_rng(seed)
    names = [chr(ord("A") + k) if k < 3 else f"T{k}" for k in range(100)]
    codes = rng.integers(0, len(names), events, dtype=np.int8)
    return pa.table(
        {
            "time": np.arange(events),
            "type": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names)),
            "v": rng.random(events) * 1e6,
            "w": rng.random(events) * 1e6,
            "lat": rng.random(events) * 180 - 90,
            "lon": rng.random(events) * 360 - 180,
            "at": pa.array(np.cumsum(rng.integers(0, 60_000, events)), pa.timestamp("ms")),
        }
    )


def between_events(events: int) -> list[dict[str, Any]]:
    """The rate of each shape with windows of 100 to 100,000 events, and how its cost grows from each to the next."""
    stream, rows = stream_of(events), []
    for name, (pattern, longest) in SHAPES.items():
        before = 0.0
        for window in (w for w in WINDOWS if not longest or w <= longest):
            selector = "NEXT " if "NEXT" in name else ""
            query = f"SELECT {selector}* FROM S WHERE {pattern} WITHIN {window} EVENTS"
            row = measure(Workload(f"{name}, {window:,} events", query, stream), times=2)
            rate = row["million_events_a_second"]
            row["cost_to_the_shorter_window"] = round(before / rate, 2) if before else None
            rows.append(row)
            before = rate
    return [*rows, _joined(stream, rows)]


def many_types(events: int) -> list[dict[str, Any]]:
    """A choice of most of a hundred types: more conditions than a word has bits."""
    either = " OR ".join(f"T{k}" for k in range(3, 100))
    query = f"SELECT * FROM S WHERE ({either}) ; B WITHIN 10 EVENTS"
    return [measure(Workload("(T3 OR ... OR T99) ; B", query, stream_of(events)))]


def _joined(stream: pa.Table, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The band in DuckDB on one core, with a window of 10,000 events."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("s", stream.set_column(1, "type", stream["type"].cast("string")))
    join = """
        SELECT a.time, b.time FROM s a, s b WHERE a.type = 'A' AND b.type = 'B' AND b.v > a.v - 1 AND b.v < a.v + 1
        AND a.time < b.time AND b.time - a.time < 10000
    """
    seconds, found = best_of(2, lambda: connection.sql(join).to_arrow_table().num_rows)
    ours = next(r for r in rows if r["name"] == "abs(x.v - y.v) < 1, 10,000 events")
    assert found == ours["matches"], (found, ours["matches"])
    rate = len(stream) / seconds / 1e6
    return {
        "name": "DuckDB, self-join, band, 10,000 events",
        "million_events_a_second": round(rate, 2),
        "times_ours": round(ours["million_events_a_second"] / rate, 1),
        "matches": found,
    }


if __name__ == "__main__":
    events = 100_000 if "--small" in sys.argv else 1_000_000
    section("conditions between events, one core", between_events(events))
    section("many types, one core", many_types(events))
