"""Partial matches of runs with one clock that wait for a lower bound: queues, in the nodes of `clock_lists.py`.

All runs of a cell were reset when it was made, so a list of them is in the order of their resets, the latest first, and
those that have waited long enough are its end. `second` of the first cell is the earliest one that was not found to
have waited long enough; of each other one it is the cell in front of it. So the place where the end begins only ever
moves on, by one step for each cell: constant time on average. What was once taken as such an end stays as it was.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, STAMP, USED, Arena, renumber
from ensue.kernels.jit import inner, kernel


@inner
def queued(arena: Arena, first: int, fresh: int) -> None:
    """Makes a queue of a list whose first cells were made at this event: from the number `fresh` on.

    It is done when no move of the event asks for the queue as it was any more.
    """
    nodes, second = arena.node, arena.second
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


@inner
def ripe(arena: Arena, queue: int, latest: int) -> int:
    """The runs of a queue that were reset at `latest` or before; what is asked for is never earlier than before."""
    nodes, second = arena.node, arena.second
    waiting: int = second[queue]
    while waiting != NOTHING and nodes[waiting, STAMP] <= latest:
        waiting = NOTHING if waiting == queue else second[waiting]
    second[queue] = waiting
    found: int = queue if waiting == NOTHING else nodes[waiting, REST]
    return found


@kernel
def collect(arena: Arena, slots: Any, place: Any) -> None:
    """Keeps the nodes that the slots reach, in their order, and renumbers the slots.

    `place` is NOTHING for each node; afterwards it says where each kept node has gone.
    """
    nodes, second, used = arena.node, arena.second, arena.used
    for k in range(slots.shape[0]):
        for s in range(slots.shape[1]):
            if slots[k, s] != NOTHING:
                place[slots[k, s]] = 0
    for node in range(used[USED] - 1, -1, -1):
        if place[node] != NOTHING:
            for part in (CHILD, REST):
                if nodes[node, part] != NOTHING:
                    place[nodes[node, part]] = 0
    kept = 0
    for node in range(used[USED]):  # a queue may look forward, to a node whose place must be known
        if place[node] != NOTHING:
            place[node] = kept
            kept += 1
    for node in range(used[USED]):
        if place[node] == NOTHING:
            continue
        to = place[node]
        for part in (CHILD, REST):
            old = nodes[node, part]
            nodes[to, part] = NOTHING if old == NOTHING else place[old]
        old = second[node]
        second[to] = place[old] if old >= 0 else NOTHING
        nodes[to, STAMP] = nodes[node, STAMP]
        nodes[to, EVENT] = nodes[node, EVENT]
    used[USED] = kept
    renumber(slots, place)
