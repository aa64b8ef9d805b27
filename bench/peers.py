"""Asks DuckDB and ClickHouse (chdb) the same questions, as far as they can be asked."""

from __future__ import annotations

from typing import Any

import chdb
import duckdb
import pyarrow as pa

from bench.measure import best_of, measure
from bench.workloads import TYPES, Workload, sequence, typed_stream


def sequence_of_three(events: int = 20_000, window: int = 100) -> list[dict[str, Any]]:
    """Three types in sequence within 100 events. Ensue and DuckDB give all matches, chdb only says if there is one."""
    stream = typed_stream(events)
    plain = pa.table({"time": stream["time"], "type": stream["type"].cast(pa.string())})
    ours = measure(Workload("sequence of 3 within 100", sequence(3, window, output=True), stream))
    our_seconds = events / ours["million_events_a_second"] / 1e6

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("s", plain)
    join = f"""
        SELECT a.time, b.time, c.time FROM s a, s b, s c
        WHERE a.type = '{TYPES[0]}' AND b.type = '{TYPES[1]}' AND c.type = '{TYPES[2]}'
          AND a.time < b.time AND b.time < c.time AND c.time - a.time < {window}
    """
    seconds, rows = best_of(1, lambda: connection.sql(join).to_arrow_table().num_rows)
    assert rows == ours["matches"], (rows, ours["matches"])
    found = [_row("DuckDB, self-join", seconds, our_seconds, rows)]

    # sequenceMatch only says whether the pattern occurs in a group. It lists no matches and has no window in events.
    pattern = "".join(f"(?{i + 1}).*" for i in range(3)).removesuffix(".*")
    tests = ", ".join(f"type = '{t}'" for t in TYPES[:3])
    match = f"SELECT sequenceMatch('{pattern}')(toDateTime(time), {tests}) FROM Python(plain) SETTINGS max_threads = 1"
    seconds, _ = best_of(3, lambda: chdb.query(match, "CSV"))
    return [*found, _row("chdb, sequenceMatch, no matches listed", seconds, our_seconds, None)]


def _row(peer: str, seconds: float, ours: float, matches: int | None) -> dict[str, Any]:
    return {"name": peer, "seconds": round(seconds, 4), "times_ours": round(seconds / ours, 1), "matches": matches}
