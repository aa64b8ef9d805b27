"""The processor time of this process and of those that it started. Other work on the machine hardly changes it."""

from __future__ import annotations

import os
from pathlib import Path

#: The ticks of every process seen so far, by its number and start time. Processes that have ended still count.
_seen: dict[tuple[int, str], int] = {}


def cpu_seconds() -> float:
    """The seconds so far; 0 if there is no /proc. What a process did after the last call and before its end is lost."""
    if not Path("/proc/self/stat").exists():
        return 0.0
    parents: dict[int, int] = {}
    spent: dict[tuple[int, str], int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:  # the process has just ended
                continue
            fields = text[text.rindex(")") + 2 :].split()
            parents[int(entry.name)] = int(fields[1])
            # Its own time, and the time of ended children for which it has waited.
            spent[int(entry.name), fields[19]] = sum(map(int, fields[11:15]))
    _seen.update({process: ticks for process, ticks in spent.items() if _is_ours(process[0], parents)})
    return sum(_seen.values()) / os.sysconf("SC_CLK_TCK")


def _is_ours(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()
