"""`A ; B ; C` of one key within one second over ten million events, on all cores: Ensue and other programs.

All get the same: events from a Parquet file, and from memory. All give a table of all matches, except chdb: its
`sequenceMatch` only says for each key whether there is a match. DuckDB's plain self-join takes minutes, so it gets a
hundredth of the events. Its cost grows faster than the events, and the printed figure is not scaled up.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chdb
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import ensue
from bench.measure import best_of
from bench.workloads import KEYED, keyed_stream

#: The number of runs of each. The first runs of a process also pay for its memory, so the best of all runs counts.
TIMES = 7
WINDOW = 1000


def keyed(events: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of both sections."""
    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder) / "events.parquet", Path(folder) / "part.parquet"
        stream = keyed_stream(events, 10, 100)
        plain = stream.set_column(1, "type", stream["type"].cast(pa.string()))
        pq.write_table(plain, path)
        pq.write_table(plain.slice(0, events // 100), part)
        del plain
        table = stream.select(["time", "type", "key"])
        frame = pl.DataFrame(pl.from_arrow(table))
        return {
            "from Parquet": _compared(
                lambda: _ours(path),
                {
                    "polars, join of time buckets": lambda: polars_join(pl.scan_parquet(path)),
                    "chdb, sequenceMatch, no matches listed": lambda: _chdb(path),
                    "pyarrow, reading the three columns": lambda: _read(path),
                },
            )
            + _compared(
                lambda: _ours(part), {"DuckDB, self-join": lambda: _duckdb(part)}, ", a hundredth of it", times=2
            ),
            "from memory": _compared(
                lambda: _ours(table), {"polars, join of time buckets": lambda: polars_join(frame.lazy())}
            ),
        }


def _compared(
    ours: Callable[[], int], peers: dict[str, Callable[[], int | None]], of: str = "", times: int = TIMES
) -> list[dict[str, Any]]:
    """The best times. All run in turn, so other work on the machine affects all of them equally."""
    runs: dict[str, Callable[[], int | None]] = {"ensue": ours, **peers}
    seconds = dict.fromkeys(runs, float("inf"))
    found = {}
    for _ in range(times):
        for name, run in runs.items():
            took, found[name] = best_of(1, run)
            seconds[name] = min(seconds[name], took)
            assert found[name] in (None, found["ensue"]), found
    return [
        {
            "name": name + of,
            "seconds": round(seconds[name], 3),
            "times_ours": round(seconds[name] / seconds["ensue"], 2),
            "matches": found[name],
        }
        for name in runs
    ]


def _ours(events: Any) -> int:
    query = ensue.query(KEYED.replace("SELECT *", "SELECT x.time, y.time, z.time"))
    return len(query.run(events, unit="ms").to_arrow())


def polars_join(events: pl.LazyFrame) -> int:
    """Equi-joins on one integer of the key and the second, then the comparisons. An event meets the events of its own
    second and of the next."""
    cell = pl.col("time") // WINDOW * 1000 + pl.col("key")

    def of(type_: str, name: str) -> pl.LazyFrame:
        return events.filter(pl.col("type") == type_).select(pl.col("time").alias(name), cell=cell)

    def with_next(rows: pl.LazyFrame) -> pl.LazyFrame:
        return pl.concat([rows, rows.with_columns(cell=pl.col("cell") + 1000)])

    a, b, c = pl.col("a"), pl.col("b"), pl.col("c")
    pairs = with_next(of("A", "a")).join(of("B", "b"), on="cell").filter((a < b) & (b - a <= WINDOW))
    triples = with_next(pairs).join(of("C", "c"), on="cell").filter((b < c) & (c - a <= WINDOW))
    return triples.select("a", "b", "c", key=pl.col("cell") % 1000).collect(engine="streaming").height


def _chdb(path: Path) -> None:
    tests = "type = 'A', type = 'B', type = 'C'"
    match = f"sequenceMatch('(?1)(?t<={WINDOW}).*(?2)(?t<={WINDOW}).*(?3)')(toUInt64(time), {tests})"
    query = f"SELECT key, {match} FROM file('{path}', Parquet) GROUP BY key SETTINGS max_threads = {os.cpu_count()}"
    chdb.query(query, "CSV")


def _read(path: Path) -> None:
    pq.read_table(path, columns=["time", "type", "key"], read_dictionary=["type"])


def _duckdb(path: Path) -> int:
    join = f"""
        SELECT a.key, a.time, b.time, c.time FROM '{path}' a, '{path}' b, '{path}' c
        WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C' AND a.key = b.key AND b.key = c.key
          AND a.time < b.time AND b.time < c.time AND c.time - a.time <= {WINDOW}
    """
    found = duckdb.sql(join)
    assert found is not None, "a query gives rows"
    return len(found.to_arrow_table())
