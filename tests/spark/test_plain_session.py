"""A session that the user made without any of our settings: it works, or one line says what to set before any job."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ensue.errors import EngineError
from ensue.spark.prerequisites import PROVIDER, ROCKS_DB, prepare_session

PROGRAM = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
import ensue
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
kind = F.substring(F.lit("AABBABC"), F.col("id").cast("int") + 1, F.lit(1))
second = F.col("id") + 1_700_000_000 + F.when(F.col("id") == 6, 1000).otherwise(0)
events = spark.range(7).select(F.timestamp_seconds(second).alias("time"), kind.alias("type"))
text = "SELECT * FROM S WHERE A ; B WITHIN 5 s"
print("batch", ensue.match(events, text).count())
events.coalesce(1).write.parquet(sys.argv[1])
stream = spark.readStream.schema(events.schema).parquet(sys.argv[1]).withWatermark("time", "0 seconds")
writer = ensue.match(stream, text).writeStream.format("memory").queryName("found").trigger(availableNow=True)
writer.start().awaitTermination()
print("stream", spark.table("found").count())
"""


@pytest.mark.slow
def test_a_session_without_settings_works(tmp_path: Path) -> None:
    """The `python3` of the path is none that has Ensue."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to("/bin/false")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYSPARK")}
    environment |= {"PATH": f"{tmp_path / 'bin'}:{environment['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "events")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["batch", "7", "stream", "7"]


class Settings(dict[str, str]):
    """The settings of a session."""

    def set(self, name: str, value: str) -> None:
        self[name] = value


def session(python: str, master: str = "local[2]", **settings: str) -> Any:
    context = SimpleNamespace(pythonExec=python, master=master)
    return SimpleNamespace(_sc=context, conf=Settings(settings))


@pytest.fixture
def python_is_set(monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "what the context already has")


def lacking(folder: Path, prints: str) -> str:
    """An interpreter that prints this, whatever it is to run."""
    python = folder / "python3"
    python.write_text(f"#!/bin/sh\necho {prints}\n")
    python.chmod(0o755)
    return str(python)


@pytest.mark.usefixtures("python_is_set")
@pytest.mark.parametrize(
    ("prints", "said"),
    [
        (f"{sys.version_info[0]}.{sys.version_info[1]} ensue numba", "which lacks ensue, numba"),
        ("3.1", f"which is Python 3.1 and not {sys.version_info[0]}.{sys.version_info[1]}"),
    ],
)
def test_workers_that_cannot_load_ensue_are_refused(tmp_path: Path, prints: str, said: str) -> None:
    python = lacking(tmp_path, prints)
    with pytest.raises(EngineError, match=f"run {python}, {said}: set PYSPARK_PYTHON to {sys.executable} in the env"):
        prepare_session(session(python), streaming=False)


@pytest.mark.usefixtures("python_is_set")
def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="which cannot be run: set PYSPARK_PYTHON"):
        prepare_session(session(str(tmp_path / "none")), streaming=False)


@pytest.mark.usefixtures("python_is_set")
def test_another_interpreter_that_has_ensue_is_left(tmp_path: Path) -> None:
    python = lacking(tmp_path, f"{sys.version_info[0]}.{sys.version_info[1]}")
    given = session(python)
    prepare_session(given, streaming=False)
    assert given._sc.pythonExec == python


def test_executors_elsewhere_are_not_known(monkeypatch, caplog) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    given = session("python3", "spark://somewhere:7077")
    prepare_session(given, streaming=False)
    assert given._sc.pythonExec == "python3"
    assert "PYSPARK_PYTHON is not set: executors run 'python3', which must have Ensue" in caplog.text


def test_the_state_store_is_set_if_nothing_is() -> None:
    given = session(sys.executable)
    prepare_session(given, streaming=False)
    assert given.conf == {}
    prepare_session(given, streaming=True)
    assert given.conf == {PROVIDER: ROCKS_DB}


def test_another_state_store_is_refused() -> None:
    given = session(sys.executable)
    given.conf[PROVIDER] = "org.example.Other"
    with pytest.raises(EngineError, match=f"{PROVIDER} is org.example.Other: set it to {ROCKS_DB}"):
        prepare_session(given, streaming=True)
