"""The streaming application of the examples: started, stopped while it runs, started again; nothing lost or doubled."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

APP = Path(__file__).parents[2] / "examples" / "streaming" / "app.py"


def put(folder, name, lines):
    """A file that is complete when it appears."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    part = folder / name
    part.write_text("time,type,user,address\n" + "".join(f"2024-01-01 {line}\n" for line in lines))
    part.rename(folder / "in" / name)


def logins(minute, user):
    failed = [f"10:{minute:02}:0{k},failed,{user},x" for k in range(3)]
    return [*failed, f"10:{minute:02}:09,succeeded,{user},y"]


def found(folder, name):
    """The rows of the files that the sink has committed; others may be half written."""
    log = (folder / name / "_spark_metadata").glob("[0-9]*")
    committed = [json.loads(line)["path"] for part in log for line in part.read_text().splitlines()[1:]]
    files = [folder / name / path.rpartition("/")[2] for path in committed]
    return sorted((r for f in files for r in pq.read_table(f).to_pylist()), key=str)


@contextmanager
def started(folder, *more):
    """The application as a process, which ends with the test."""
    program = [sys.executable, str(APP), str(folder), *more]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_stopped_and_started_again(tmp_path):
    put(tmp_path, "1.csv", [*logins(0, "ada"), *logins(5, "bob")])
    with started(tmp_path) as process:
        deadline = time.monotonic() + 400
        while not found(tmp_path, "matches") and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        told, wrong = process.communicate(timeout=200)
        assert process.returncode == 0, wrong
    assert told.splitlines() == [f"running; {tmp_path}/page.html shows it", "stopped"]
    assert [r["user"] for r in found(tmp_path, "matches")] == ["ada"]
    page = (tmp_path / "page.html").read_text()
    assert "matches: stopped" in page
    assert "refresh" not in page

    put(tmp_path, "2.csv", ["10:00:30,failed,eve,z", *logins(20, "eve")])
    put(tmp_path, "3.csv", ["10:40:00,failed,dan,z"])
    with started(tmp_path, "--until-empty") as process:
        told, wrong = process.communicate(timeout=400)
        assert process.returncode == 0, wrong
    matches = found(tmp_path, "matches")
    assert sorted(r["user"] for r in matches) == ["ada", "bob", "eve"]
    assert {(r["failures"], r["address"]) for r in matches} == {(3, "y")}
    assert [(r["user"], r["address"]) for r in found(tmp_path, "late")] == [("eve", "z")]
