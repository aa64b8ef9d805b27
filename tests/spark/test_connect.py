"""Spark Connect: the same queries through a server of Spark's; in a process of its own, for this one has a session."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import connected
import pytest

import ensue


@pytest.mark.slow
def test_batch_and_stream(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, str(Path(connected.__file__)), str(tmp_path)]
    child = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        said, complaints = child.communicate(timeout=300)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    assert child.returncode == 0, complaints[-4000:]
    told = json.loads(said.splitlines()[-1])
    expected = ensue.match(connected.events(), connected.QUERY).to_arrow()
    wanted = sorted(zip(expected["a"].to_pylist(), expected["b"].to_pylist(), strict=True))
    assert sorted(map(tuple, told["batch"])) == wanted
    assert sorted(map(tuple, told["stream"])) == wanted
    assert len(wanted) > 5
    rows = ensue.sql(connected.CLAUSE, t=connected.events()).to_arrow()
    assert [tuple(row) for row in told["rows"]] == [tuple(row.values()) for row in rows.to_pylist()]
    assert len(rows) > 1
    assert "read by     Spark: Spark Connect does not show its plan" in told["rows explained"]
    assert "by k, and by time slices of 64 windows" in told["explained"]
