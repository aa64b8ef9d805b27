"""The command line with `--engine spark`: once in a process of its own, else in the session of the tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from command_line import run_here, run_in_a_process

import ensue
import ensue.spark.session

ROWS = [{"time": 1, "type": "A", "v": 7}, {"time": 2, "type": "B", "v": 8}, {"time": 5, "type": "B", "v": 9}]
TABLE = pa.Table.from_pylist(ROWS)
TIMED = "SELECT x, y.v FROM S WHERE A AS x ; B AS y WITHIN 5 s"
SPARK = ["--engine", "spark", "--master", "local[2]", "--unit", "s"]
JSON = [
    {"start_time": 1, "end_time": 2, "x": [ROWS[0]], "y_v": 8},
    {"start_time": 1, "end_time": 5, "x": [ROWS[0]], "y_v": 9},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "timed.sql").write_text(TIMED)
    return tmp_path


class Lent:
    """The session of the tests, for a command that stops its own."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def stop(self) -> None:
        """The tests that follow use it."""


@pytest.fixture
def lent(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Gives the command the session of the tests; the list tells which masters it asked for."""
    asked: list[str] = []

    def local_session(master: str, settings: dict[str, str]) -> Lent:
        asked.append(master)
        for key, value in settings.items():
            spark.conf.set(key, value)
        return Lent(spark)

    monkeypatch.setattr(ensue.spark.session, "local_session", local_session)
    yield asked
    spark.conf.unset("spark.sql.timestampType")


@pytest.mark.slow
def test_one_file_in_the_order_of_ends(folder: Path) -> None:
    """A folder of files in, and the file that the other engines write."""
    (folder / "parts").mkdir()
    for i in (2, 0, 1):
        pa.csv.write_csv(TABLE.slice(i, 1), f"parts/{i}.csv")
    done = run_in_a_process("run", "timed.sql", "-i", "parts", *SPARK, "-o", "matches.jsonl")
    assert (done.code, done.out, done.err) == (0, b"", b"2 matches in matches.jsonl\n")
    assert [json.loads(line) for line in (folder / "matches.jsonl").read_text().splitlines()] == JSON


def test_explain(folder: Path, lent: list[str]) -> None:
    events = folder / "events.parquet"  # Java reads relative paths from where it was started
    pa.parquet.write_table(TABLE, events)
    done = run_here("explain", "timed.sql", "-i", str(events), *SPARK)
    assert (done.code, done.err, lent) == (0, b"", ["local[2]"])
    shown = done.out.decode()
    assert shown.startswith(ensue.query(TIMED).explain() + "\nspark\n  runs          batch\n")
    assert "read by       the tasks themselves, from 1 file\n" in shown
    assert "spark's plan\n" in shown


def test_what_goes_wrong_is_told_without_a_trace(folder: Path, lent: list[str]) -> None:
    events, matches = folder / "null.parquet", folder / "matches.csv"
    pa.parquet.write_table(pa.table({"time": [1, None], "type": ["A", "B"], "v": [1, 2]}), events)
    matches.write_text("old\n")
    done = run_here("run", "timed.sql", "-i", str(events), *SPARK, "-o", str(matches))
    assert (done.code, done.out, lent) == (1, b"", ["local[2]"])
    assert done.err.decode() == (
        "error: the time column 'time' has a NULL value: an event without a time has no place in the stream\n"
    )
    assert matches.read_text() == "old\n"
