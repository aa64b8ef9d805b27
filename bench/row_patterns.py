"""Measures MATCH_RECOGNIZE over tables in memory, and asks other programs the same.

`pandas-match-recognize` wants older versions of pandas and NumPy, so it has an environment of its own, as Flink has.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ensue
from bench import flink
from bench.measure import best_of
from bench.own_environment import environment
from ensue.errors import QueryError

_JOB = Path(__file__).with_name("pandas_match_recognize_job.py")
#: The peers take seconds or minutes for what takes Ensue milliseconds: they get so many rows.
PEER_ROWS = 20_000
V_SHAPE = """SELECT * FROM t MATCH_RECOGNIZE (
    {by} ORDER BY day
    MEASURES FIRST(day) AS begins, LAST(DOWN.price) AS bottom, LAST(day) AS ends
    ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN (TOP DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""
NO_B = """SELECT * FROM t MATCH_RECOGNIZE (
    ORDER BY day MEASURES count(*) AS n ONE ROW PER MATCH PATTERN ({pattern})
    DEFINE A AS price > -1000000000, B AS price > 1000000000)"""


def walk(rows: int, keys: int = 1, seed: int = 4) -> pa.Table:
    """A random walk of prices, in order of the day; the rows are spread evenly over the keys."""
    rng = np.random.default_rng(seed)
    prices = np.cumsum(rng.integers(-3, 4, rows)).astype(np.int64)
    return pa.table({"day": np.arange(rows), "price": prices, "key": rng.integers(0, keys, rows)})


def embedded(rows: int) -> list[dict[str, Any]]:
    """End to end from Arrow memory: reading, checking, order, search, measures, a table of the result."""
    table, keyed = walk(rows), walk(rows, 1000)
    running = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY day MEASURES count(*) AS n PATTERN (A+ B) DEFINE A AS {})"
    unrolled = NO_B.format(pattern="A{1000} B")
    works = {
        "V shape": (V_SHAPE.format(by=""), table),
        "V shape, a thousand keys": (V_SHAPE.format(by="PARTITION BY key"), keyed),
        "V shape, all rows": (V_SHAPE.format(by="").replace("ONE ROW", "ALL ROWS"), table),
        "A+ B, no B": (NO_B.format(pattern="A+ B"), table),
        "(A+)+ B, no B": (NO_B.format(pattern="(A+)+ B"), table),
        "A{1000} B, no B, a hundredth of the rows": (unrolled, table.slice(0, rows // 100)),
        "a condition on the match, a hundredth of the rows": (
            running.format("avg(A.price) > price - 2"),
            table.slice(0, rows // 100),
        ),
    }
    return [_measured(name, query, given) for name, (query, given) in works.items()]


def _measured(name: str, query: str, table: pa.Table) -> dict[str, Any]:
    ensue.sql(query, t=table.slice(0, 1000))  # loads the kernels
    seconds, found = best_of(5, lambda: ensue.sql(query, t=table))
    rate = round(len(table) / seconds / 1e6, 2)
    return {"name": name, "seconds": round(seconds, 3), "million_rows_a_second": rate, "matches": len(found)}


def too_long() -> list[dict[str, Any]]:
    """What is said of a pattern that is too long once it is written out."""
    try:
        ensue.sql(NO_B.format(pattern="A{100000} B"), t=walk(10))
    except QueryError as error:
        return [{"name": "A{100000} B", "because": error.problems[0].message}]
    raise AssertionError("a pattern of 100,000 steps was taken")


def peers(rows: int = PEER_ROWS) -> list[dict[str, Any]]:
    """The V shape over the same rows."""
    table = walk(rows)
    ours = _measured("ensue", V_SHAPE.format(by=""), table)
    return [ours, *_duckdb(table, ours), *_pandas(table, ours), *_flink(table, ours)]


def _beside(name: str, seconds: float, ours: dict[str, Any], matches: int) -> dict[str, Any]:
    assert matches == ours["matches"], (name, matches, ours["matches"])
    return {"name": name, "seconds": round(seconds, 4), "times_ours": round(seconds / ours["seconds"], 1)}


def _duckdb(table: pa.Table, ours: dict[str, Any]) -> list[dict[str, Any]]:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("t", table)
    try:
        connection.sql(V_SHAPE.format(by="")).to_arrow_table()
    except duckdb.Error as error:
        said = str(error).splitlines()[0]
        return [{"name": "DuckDB skipped", "because": f"{duckdb.__version__} has no MATCH_RECOGNIZE: {said}"}]
    seconds, found = best_of(3, lambda: connection.sql(V_SHAPE.format(by="")).to_arrow_table())
    return [_beside("DuckDB", seconds, ours, found.num_rows)]


def _pandas(table: pa.Table, ours: dict[str, Any]) -> list[dict[str, Any]]:
    python = environment("pandas-match-recognize", ("pandas-match-recognize", "pyarrow"))
    if isinstance(python, str):
        return [{"name": "pandas-match-recognize skipped", "because": python}]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(table, path)
        command = [str(python), str(_JOB), str(path), V_SHAPE.format(by="")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        said = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        return [{"name": "pandas-match-recognize skipped", "because": said}]
    answer = json.loads(done.stdout.splitlines()[-1])
    return [_beside("pandas-match-recognize", answer["seconds"], ours, answer["matches"])]


def _flink(table: pa.Table, ours: dict[str, Any]) -> list[dict[str, Any]]:
    """Flink has no row before the match, so its shape begins with A; see `flink_job.py`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.csv"
        columns = (table["day"].to_pylist(), table["price"].to_pylist())
        times = np.datetime_as_string(np.arange(len(table)).astype("datetime64[ms]"))
        lines = (
            f"{d},{t.replace('T', ' ')},A,0,{p}.0\n" for d, t, p in zip(columns[0], times, columns[1], strict=True)
        )
        path.write_text("".join(lines))
        rate = ours["million_rows_a_second"]
        return flink.measured("shape", Path(folder), len(table), 1000, rate, install=False)
