"""How much memory this process may use: the least of what the machine, its container and the process's limits allow."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_ROOT = Path("/")
#: The memory that is assumed if the system does not say how much there is.
_ASSUMED = 8 << 30
#: A control group without a limit gives a number near 2^63, or a word.
_NO_LIMIT = 1 << 60
#: By default, a query may take a quarter of all memory, and at most half of what is free now.
_PART_OF_ALL, _PART_OF_THE_REST = 4, 2
_LEAST = 32 << 20


def usual_budget(root: Path = _ROOT, *, shared_by: int = 1) -> int:
    """A quarter of the memory that this process may use, and at most half of what is free of it now.

    `shared_by` processes share the memory of the machine. None of them shares its own limit with the others.
    """
    sizes, left = _sizes(root)
    parts = [min(sizes or [_ASSUMED]) // _PART_OF_ALL // shared_by]
    parts += [rest // _PART_OF_THE_REST // shared_by for rest in left]
    limit, taken = _address_space(root)
    if limit is not None:
        parts += [limit // _PART_OF_ALL, (limit - taken) // _PART_OF_THE_REST]
    return max(_LEAST, min(parts))


def budget_now() -> int:
    """The usual budget of this process. Looking takes as long as a small query, so one look does for a second."""
    return _budget_in(int(time.monotonic()))


@lru_cache(maxsize=1)
def _budget_in(_second: int) -> int:
    return usual_budget()


def physical_memory(root: Path = _ROOT) -> int:
    """All memory of the machine or the container."""
    return min(_sizes(root)[0] or [_ASSUMED])


def _sizes(root: Path) -> tuple[list[int], list[int]]:
    """The known sizes of all memory, and of the memory that is free."""
    said = _numbers_of(root / "proc/meminfo")
    sizes = [said["MemTotal"] << 10] if "MemTotal" in said else _from_sysconf()
    left = [said["MemAvailable"] << 10] if "MemAvailable" in said else []
    return [*sizes, *_limits_of_groups(root)], left


def _from_sysconf() -> list[int]:
    try:
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):  # there is none on Windows
        return []


def _limits_of_groups(root: Path) -> Iterator[int]:
    """The limits of the process's control groups and of the groups around them, in versions 1 and 2 of these groups."""
    for line in _text_of(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, file = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, file = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = top / path.strip("/")
        # The path is the one outside the container. Inside the container, the group is at the top.
        for folder in dict.fromkeys([group, *group.parents, top]):
            text = _text_of(folder / file).strip() if folder.is_relative_to(top) else ""
            if text.isdigit() and int(text) < _NO_LIMIT:
                yield int(text)


def _address_space(root: Path) -> tuple[int | None, int]:
    """The address space that the process may have, None without a limit; and what it has of it."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return None, 0
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    limit = None if soft in (resource.RLIM_INFINITY, -1) else soft
    return limit, _numbers_of(root / "proc/self/status").get("VmSize", 0) << 10


def _numbers_of(path: Path) -> dict[str, int]:
    """The entries of a file with lines such as `MemTotal:  24663852 kB`."""
    found = {}
    for line in _text_of(path).splitlines():
        name, _, value = line.partition(":")
        first = value.split()[0] if value.split() else ""
        if first.isdigit():
            found[name] = int(first)
    return found


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
