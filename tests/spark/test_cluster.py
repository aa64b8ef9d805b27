"""A cluster: the same answers as embedded, though executors, Python workers and the driver are killed in the middle.

Master, workers and driver are processes of their own, each in its own folder. Ten kills hit three batches, one for each
way to share out events, and a stream. Tasks wait at gates (see cluster_jobs.py), so each kill finds a task at work.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import cluster_jobs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster, executor_of, start
from processes import command_of, kill, kill_all, wait_until

import ensue

T0 = datetime(2024, 1, 1, tzinfo=UTC)
FILES, EVENTS_A_FILE = 8, 60
#: The gates in the order in which the jobs come to them, and who is killed there.
Kills = tuple[tuple[str, tuple[str, ...]], ...]
KILLS: Kills = (
    ("keyed-before", ("executor",)),
    ("keyed-after", ("worker",)),
    ("slices-before", ("worker",)),
    ("slices-after", ("executor", "driver")),
    ("one_task-after", ("worker", "executor")),
    ("stream-2", ("executor",)),
    ("stream-4", ("worker",)),
    ("stream-6", ("driver",)),
)


def shuffled(rng: Random) -> Kills:
    """As many kills at the same gates, but others are killed there; for `make soak`."""
    victims = [whom for _, some in KILLS for whom in some]
    rng.shuffle(victims)
    return tuple((gate, tuple(victims.pop() for _ in some)) for gate, some in KILLS)


def write_events(folder: Path, rng: Random) -> pa.Table:
    """Files with events up to a second out of order, the last one with a time that the watermark waits for."""
    events: list[dict[str, Any]] = [
        {"time": T0 + timedelta(milliseconds=100 * n), "type": rng.choice("ABC"), "k": rng.randrange(8), "n": n}
        for n in range(FILES * EVENTS_A_FILE)
    ]
    last = {"time": T0 + timedelta(days=1), "type": "C", "k": 0, "n": -1}
    schema = pa.schema(
        [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int32()), ("n", pa.int64())]
    )
    sent = [*sorted(events, key=lambda e: e["time"] + timedelta(seconds=rng.random())), last]
    folder.mkdir()
    for i in range(FILES + 1):
        path = folder / f"{i:03}.parquet"
        pq.write_table(pa.Table.from_pylist(sent[i * EVENTS_A_FILE : (i + 1) * EVENTS_A_FILE], schema), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    return pa.Table.from_pylist([*events, last], schema)


@dataclass
class Fleet:
    """A cluster with the driver that runs the jobs, and what was killed so far."""

    cluster: Cluster
    folder: Path
    rng: Random
    killed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.log = self.folder / "driver.log"
        self.start_driver()

    def start_driver(self) -> None:
        program = [sys.executable, "-W", "ignore", cluster_jobs.__file__, self.cluster.master, str(self.folder)]
        self.driver: subprocess.Popen[bytes] = start(program, self.folder / "driver", self.log)

    def waiting(self, gate: str) -> dict[int, int]:
        """The Python workers of the tasks that wait at a gate, each with its executor, which is still there."""
        at_gate = {int(path.name.split(".")[1]) for path in self.folder.glob(f"at-{gate}.*")}
        found = {pid: executor_of(pid) for pid in self.cluster.python_workers() if pid in at_gate}
        return {pid: executor for pid, executor in found.items() if executor is not None}

    def open(self, gate: str) -> None:
        (self.folder / f"hold-{gate}").unlink()

    def kill_at(self, gate: str, whom: str, *, going_on: bool = False) -> None:
        """Waits until a task of the running driver is at the gate, and kills its worker, its executor or the driver.

        A task that is `going_on` has passed the gate a random moment before.
        """
        assert wait_until(lambda: self.waiting(gate) or self.driver.poll() is not None, 240), self.said()
        assert self.driver.poll() is None, self.said()
        worker, executor = self.rng.choice(list(self.waiting(gate).items()))
        if going_on:
            self.open(gate)
            time.sleep(self.rng.uniform(0, 0.5))
        self.killed[whom] += 1
        if whom == "driver":
            kill_all(self.driver)
            # The executors of a dead driver end: what waits at a gate afterwards is of the next driver.
            assert wait_until(lambda: not self.cluster.executors()), self.said()
            self.start_driver()
            return
        victim = worker if whom == "worker" else executor
        assert kill(victim) or going_on
        assert wait_until(lambda: not command_of(victim)), self.said()

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]


def killed_in_all_jobs(folder: Path, rng: Random, kills: Kills = KILLS, going_on: float = 0) -> Counter[str]:
    """Runs the jobs, kills what is to be killed, and compares all answers; gives how often whom it killed.

    `going_on` is the share of the gates at which the last kill hits a task that goes on.
    """
    events = write_events(folder / "events", rng)
    for gate, _ in kills:
        (folder / f"hold-{gate}").touch()
    with Cluster(folder) as cluster:
        fleet = Fleet(cluster, folder, rng)
        try:
            for gate, (*held, last) in kills:
                for whom in held:
                    fleet.kill_at(gate, whom)
                at_work = gate != kills[-1][0] and rng.random() < going_on
                fleet.kill_at(gate, last, going_on=at_work)
                if not at_work:
                    fleet.open(gate)
            fleet.driver.wait(300)
            assert fleet.driver.returncode == 0, fleet.said()
        finally:
            kill_all(fleet.driver)
    for job, query in cluster_jobs.QUERIES.items():
        expected = rows(ensue.match(events, query).to_arrow())
        found = rows(pq.read_table(folder / ("streamed" if job == "stream" else job)))
        assert found == expected, job
        assert len(expected) > 5, (job, len(expected))
    return fleet.killed


def rows(matches: pa.Table) -> Counter[tuple[int, int]]:
    return Counter(zip(matches["a"].to_pylist(), matches["b"].to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found through /proc")
def test_a_cluster_answers_as_embedded_though_ten_processes_are_killed(tmp_path: Path) -> None:
    assert killed_in_all_jobs(tmp_path, Random("cluster")) == {"executor": 4, "worker": 4, "driver": 2}
