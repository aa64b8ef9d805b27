"""Partial matches of runs with one clock that wait for a lower bound: queues, in the nodes of `clock_lists.py`.

All runs of a cell were reset when it was made, so a list of them is in the order of their resets, the latest first, and
those that have waited long enough are its end. `second` of the first cell is the earliest one that was not found to
have waited long enough; of each other one it is the cell in front of it. So the place where the end begins only ever
moves on, by one step for each cell: constant time on average. What was once taken as such an end stays as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, STAMP, USED, renumber
from ensue.kernels.jit import kernel


@kernel
def queued(nodes: Any, second: Any, first: int, fresh: int) -> None:
    """Makes a queue of a list whose first cells were made at this event: from the number `fresh` on.

    It is done when no move of the event asks for the queue as it was any more.
    """
    cell = first
    while nodes[cell, REST] >= fresh:
        second[nodes[cell, REST]] = cell
        cell = nodes[cell, REST]
    before = nodes[cell, REST]
    waiting = NOTHING
    if before != NOTHING:
        waiting = second[before]
        second[before] = cell
    second[first] = cell if waiting == NOTHING else waiting


@kernel
def ripe(nodes: Any, second: Any, queue: int, latest: int) -> int:
    """The runs of a queue that were reset at `latest` or before; what is asked for is never earlier than before."""
    waiting: int = second[queue]
    while waiting != NOTHING and nodes[waiting, STAMP] <= latest:
        waiting = NOTHING if waiting == queue else second[waiting]
    second[queue] = waiting
    found: int = queue if waiting == NOTHING else nodes[waiting, REST]
    return found


@njit(cache=True, nogil=True)
def collect(nodes: Any, second: Any, used: Any, slots: Any) -> None:
    """Keeps the nodes that the slots reach, in their order, and renumbers the slots."""
    count = used[USED]
    reached = np.zeros(count, dtype=np.bool_)
    for node in slots.flat:
        if node != NOTHING:
            reached[node] = True
    for node in range(count - 1, -1, -1):
        if reached[node]:
            for part in (CHILD, REST):
                if nodes[node, part] != NOTHING:
                    reached[nodes[node, part]] = True
    place = np.cumsum(reached) - 1
    kept = 0
    for node in range(count):
        if not reached[node]:
            continue
        for part in (CHILD, REST):
            old = nodes[node, part]
            nodes[kept, part] = NOTHING if old == NOTHING else place[old]
        old = second[node]
        second[kept] = place[old] if old >= 0 and reached[old] else NOTHING
        nodes[kept, STAMP] = nodes[node, STAMP]
        nodes[kept, EVENT] = nodes[node, EVENT]
        kept += 1
    used[USED] = kept
    renumber(slots, place)
