"""The processor time of this process and all that it has started: it says more than the clock on a busy machine."""

from __future__ import annotations

import os
from pathlib import Path


def cpu_seconds() -> dict[str, float]:
    """So far, by what the processes are: `java`, `python`. Empty where there is no /proc."""
    if not Path("/proc/self/stat").exists():
        return {}
    parents: dict[int, int] = {}
    spent: dict[int, tuple[str, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            parents[int(entry.name)] = int(rest[1])
            # The third and fourth are those of children that have ended and were waited for.
            spent[int(entry.name)] = ("java" if "java" in name else "python", sum(map(int, rest[11:15])))
    found = {"java": 0.0, "python": 0.0}
    for pid, (name, ticks) in spent.items():
        ancestor = pid
        while ancestor in parents and ancestor != os.getpid():
            ancestor = parents[ancestor]
        if ancestor == os.getpid():
            found[name] += ticks / os.sysconf("SC_CLK_TCK")
    return found
