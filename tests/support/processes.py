"""Processes that a test starts and kills, found through /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(true: Callable[[], object], seconds: float = 120, *, every: float = 0.05) -> bool:
    """Whether it came true before the time was over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(every)
    return bool(true())


def in_session(leader: int) -> list[int]:
    """The processes of the session that we started with `start_new_session`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(entry.name)) == leader:
                found.append(int(entry.name))
        except ProcessLookupError:
            continue
    return found


def command_of(pid: int) -> bytes:
    """The command line; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def parent_of(pid: int) -> int:
    """The parent; 0 if the process has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def kill(pid: int) -> bool:
    """kill -9 of one process; whether it was still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_all(leader: subprocess.Popen[bytes]) -> None:
    """kill -9 of a process that `start` started, and of all processes of its session."""
    for pid in in_session(leader.pid):
        kill(pid)
    leader.wait()
