"""The processor time of this process and all that it has started: it says more than the clock on a busy machine."""

from __future__ import annotations

import os
from pathlib import Path

#: The ticks of every process seen so far, by its number and the time of its start: what has ended still counts.
_seen: dict[tuple[int, str], int] = {}


def cpu_seconds() -> float:
    """So far; 0 where there is no /proc. What a process did after the last call before it ended is lost."""
    if not Path("/proc/self/stat").exists():
        return 0.0
    parents: dict[int, int] = {}
    spent: dict[tuple[int, str], int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            fields = text[text.rindex(")") + 2 :].split()
            parents[int(entry.name)] = int(fields[1])
            # Its own, and of its children that have ended and were waited for.
            spent[int(entry.name), fields[19]] = sum(map(int, fields[11:15]))
    _seen.update({process: ticks for process, ticks in spent.items() if _is_ours(process[0], parents)})
    return sum(_seen.values()) / os.sysconf("SC_CLK_TCK")


def _is_ours(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()
