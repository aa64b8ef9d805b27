"""How cost grows: with the window, with the stream, with the output; and from a file on all cores."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import ensue
from bench.measure import best_of, measure, prepared
from bench.workloads import KEYED, Workload, keyed_stream, sequence, typed_stream
from ensue.kernels.arena import USED
from ensue.kernels.runner import Runner


def windows(events: int) -> list[dict[str, Any]]:
    """The cost of an event with windows of 100 to 100,000 events and no output, as a ratio to the shortest."""
    stream = typed_stream(events)
    rows = [
        measure(Workload(f"window {w:,}", sequence(4, w, output=False), stream), times=5)
        for w in (100, 1_000, 10_000, 100_000)
    ]
    fastest = rows[0]["million_events_a_second"]
    for row in rows:
        row["cost_to_window_100"] = round(fastest / row["million_events_a_second"], 2)
    return rows


def streams(events: int, factors: tuple[int, ...]) -> list[dict[str, Any]]:
    """The rate and the memory of the match structure as the stream grows, pushed in batches of a million."""
    rows = []
    for factor in factors:
        workload = Workload("", sequence(4, 1_000, output=False), typed_stream(events * factor))
        plan, stream = prepared(workload)

        def run(plan: Any = plan, stream: Any = stream) -> Runner:
            runner = Runner(plan, stream.tick)
            for start in range(0, len(stream), 1 << 20):
                runner.push(stream.slice(start, 1 << 20))
            return runner

        seconds, runner = best_of(2, run)
        rows.append(
            {
                "name": f"{events * factor:,} events",
                "million_events_a_second": round(len(stream) / seconds / 1e6, 2),
                "structure_bytes": int(runner.evaluator.arena.node.nbytes),
                "nodes_in_use": int(runner.evaluator.arena.used[USED]),
            }
        )
    for row in rows:
        row["rate_to_shortest"] = round(row["million_events_a_second"] / rows[0]["million_events_a_second"], 2)
    return rows


def enumeration(small: bool) -> list[dict[str, Any]]:
    """Nanoseconds for each reported event, from a thousand of them to a hundred million."""
    rows = []
    for events, window in ((1_000, 120), (10_000, 150), (100_000, 300), (1_000_000, 300), (1_000_000, 1_000)):
        if small and events > 100_000:
            break
        with_output = Workload("", sequence(3, window, output=True), typed_stream(events))
        plan, stream = prepared(with_output)
        seconds, found = best_of(3, lambda p=plan, s=stream: Runner(p, s.tick).push(s))
        rows.append(
            {
                "name": f"{found.marked:,} reported events",
                "nanoseconds_an_event": round(seconds / found.marked * 1e9, 2),
            }
        )
    return rows


def parquet(events: int) -> list[dict[str, Any]]:
    """`A ; B ; C` of one key within one second, from a Parquet file, end to end; DuckDB's join beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        stream = keyed_stream(events, 10, 100)
        pq.write_table(stream.set_column(1, "type", stream["type"].cast(pa.string())), path)
        del stream
        query = ensue.query(KEYED.replace("SELECT *", "SELECT x.time, y.time, z.time"))
        seconds, found = best_of(3, lambda: query.run(path, unit="ms"))
        rows = [{"name": "ensue", "seconds": round(seconds, 3), "matches": len(found)}]
        seconds, _ = best_of(2, lambda: pq.read_table(path, columns=["time", "type", "key"], read_dictionary=["type"]))
        rows.append({"name": "reading the three columns alone", "seconds": round(seconds, 3)})
        if events <= 1_000_000:
            rows.append(_duckdb(path, len(found)))
        return rows


def _duckdb(path: Path, expected: int) -> dict[str, Any]:
    join = f"""
        SELECT a.time, b.time, c.time FROM '{path}' a, '{path}' b, '{path}' c
        WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C' AND a.key = b.key AND b.key = c.key
          AND a.time < b.time AND b.time < c.time AND c.time - a.time <= 1000
    """
    seconds, rows = best_of(1, lambda: duckdb.sql(join).to_arrow_table().num_rows)
    assert rows == expected, (rows, expected)
    return {"name": "DuckDB, self-join", "seconds": round(seconds, 3), "matches": rows}
