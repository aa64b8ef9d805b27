"""kill -9 in the middle of a stream, several times: after a restart no match is lost, and none is doubled.

Rounds differ in whom they kill (the driver with all it has started, or one Python worker, whose task Spark runs again)
and when: at a random moment, or when a new file has appeared in the sink's folder, which is between the output of a
micro-batch and its commit. Streams that tell matches at once are killed there each time: a change that is lost or
doubled would make the others add up to something else.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import kill_stream
import processes
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from processes import command_of, in_session, kill_all, parent_of

import ensue

T0 = datetime(2024, 1, 1, tzinfo=UTC)
FILES, EVENTS_A_FILE = 24, 40
#: Of the kills these hit a Python worker; the others the driver with all it has started.
WORKERS = {2, 5, 8}
#: Both the daemon of Python workers and the workers have this in their command line.
DAEMON = b"ensue.spark.daemon"
PROGRAM = Path(kill_stream.__file__)


def write_source(folder: Path, rng: Random, files: int = FILES) -> pa.Table:
    """Files with events up to a second out of order; all events together."""
    events: list[dict[str, Any]] = [
        {
            "time": T0 + timedelta(milliseconds=100 * n),
            "type": rng.choice("ABC"),
            "k": rng.randrange(8),
            "n": n,
        }
        for n in range(files * EVENTS_A_FILE)
    ]
    schema = pa.schema(
        [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int32()), ("n", pa.int64())]
    )
    sent = sorted(events, key=lambda e: e["time"] + timedelta(seconds=rng.random()))
    last = {"time": T0 + timedelta(days=1), "type": "C", "k": 0, "n": -1}
    batches = [sent[i : i + EVENTS_A_FILE] for i in range(0, len(sent), EVENTS_A_FILE)]
    folder.mkdir()
    for i, batch in enumerate([*batches, [last]]):
        path = folder / f"{i:03}.parquet"
        pq.write_table(pa.Table.from_pylist(batch, schema), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    return pa.Table.from_pylist(events, schema)


def start(folder: Path, disorder: str) -> subprocess.Popen[bytes]:
    (folder / "running").unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-W", "ignore", str(PROGRAM), str(folder), disorder]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def wait_until(true, child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it came true before the child ended and the time was over."""
    processes.wait_until(lambda: true() or child.poll() is not None, seconds, every=0.005)
    return bool(true())


def sink_files(folder: Path) -> int:
    return len(list((folder / "sink").glob("*.parquet"))) if (folder / "sink").exists() else 0


def commits(folder: Path) -> int:
    there = folder / "checkpoint" / "commits"
    return max([int(p.name) + 1 for p in there.glob("[0-9]*")] or [0]) if there.exists() else 0


def a_worker(leader: int) -> int | None:
    """One Python worker of the session: a child of the daemon that Spark starts."""
    for pid in in_session(leader):
        if DAEMON in command_of(pid) and DAEMON in command_of(parent_of(pid)):
            return pid
    return None


def killed_often(
    folder: Path, rng: Random, disorder: str = "wait", kills: int = 10, files: int = FILES
) -> Counter[str]:
    """Kills the stream and starts it again until it has ended, and compares its matches; gives what was killed when."""
    events = write_source(folder / "source", rng, files)
    expected = ensue.match(events, kill_stream.QUERIES[disorder]).to_arrow()
    killed: Counter[str] = Counter()
    child = start(folder, disorder)
    try:
        for kill in range(kills):
            if child.poll() is not None:
                killed["restart"] += 1  # the death of a worker failed the query
                child = start(folder, disorder)
            assert wait_until((folder / "running").exists, child, 240), (folder / "log").read_text()[-3000:]
            before, done = sink_files(folder), commits(folder)
            # A step on, so that the kills are spread over the stream and each finds work done since the last.
            assert wait_until(lambda done=done: commits(folder) > done, child, 240), (folder / "log").read_text()
            if kill in WORKERS:
                assert wait_until(lambda child=child: a_worker(child.pid) is not None, child, 60)
                worker = a_worker(child.pid)
                assert worker is not None
                os.kill(worker, signal.SIGKILL)
                killed["worker"] += 1
                continue
            if kill % 2 or disorder == "revise":
                before = sink_files(folder)
                assert wait_until(lambda before=before: sink_files(folder) > before, child, 240)
                killed["after output"] += 1
            else:
                time.sleep(rng.uniform(0, 1.5))
                killed["at random"] += 1
            assert child.poll() is None, "the stream ended before it was killed"
            kill_all(child)
            child = start(folder, disorder)
        assert child.wait(timeout=400) == 0, (folder / "log").read_text()[-3000:]
    finally:
        if child.poll() is None:
            kill_all(child)
    changes = Counter(map(tuple, json.loads((folder / "matches").read_text())))
    assert {change for change, *_ in changes} == ({"insert", "delete"} if disorder == "revise" else {"insert"})
    assert set(changes.values()) == {1}  # what has come too late comes once, so a match is told once and gone once
    gone, told = ({row[1:] for row in changes if row[0] == change} for change in ("delete", "insert"))
    assert gone <= told
    wanted = [tuple(kill_stream.told(row)[1:]) for row in expected.to_pylist()]
    assert sorted(told - gone) == sorted(wanted)
    assert len(wanted) > 4 * files
    return killed


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found through /proc")
def test_no_match_is_lost_and_none_is_doubled(tmp_path: Path) -> None:
    killed = killed_often(tmp_path, Random("kill"), kills=6)
    assert killed["after output"] >= 2
    assert killed["worker"] == 2


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found through /proc")
def test_no_change_is_lost_and_none_is_doubled(tmp_path: Path) -> None:
    killed = killed_often(tmp_path, Random("kill"), "revise", kills=4)
    assert killed["after output"] == 3


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found through /proc")
def test_each_group_is_told_once_with_all_its_matches(tmp_path: Path) -> None:
    killed = killed_often(tmp_path, Random("groups"), "groups", kills=2, files=8)
    assert killed == {"at random": 1, "after output": 1}
