"""The match structure: partial matches shared in a compact set of nodes, kept in flat arrays.

It is the enumerable compact set of Garcia and Riveros, appendix C, without clocks, laid out as lists. A node is a row
of four integers:

    cell    child, rest, stamp, event      the complex events of `child` extended with the event, then those of `rest`
    group   left,  rest, stamp, GROUP      those of the list `left`, then those of `rest`

A cell without child is the start of a run. `event` packs the position and the number of its marks. `stamp` is the
latest start in the node, and no list has a later start behind its head, so that what a window has left behind is
skipped without being visited. Left sides of groups are lists of cells: an enumeration takes at most two steps to the
next complex event's event, whatever the size of the set.

Two kinds more are for runs with registers (`ordered.py`):

    fork    left,  right, stamp, FORK      those of `left`, then those of `right`, in whatever order they start
    tree    left,  right, stamp, list      a node of an ordered tree: those of `left`, of its own list, of `right`

Nodes are only ever added, children before parents; `collect` keeps those that a window still holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ensue.kernels.jit import at, kernel

NOTHING = -1
GROUP = -1
FORK = -2
TREE = -3  # without a list of its own; less by one more than its number with one
CHILD, REST, STAMP, EVENT = 0, 1, 2, 3
USED = 0
#: How far `join` follows a list; beyond, the answer is the same and only the delay grows.
_MAX_GROUPS = 32
#: The most nodes that one move can add.
NODES_A_MOVE = _MAX_GROUPS + 2

MARK_BITS = 16
MARK_MASK = (1 << MARK_BITS) - 1


class Arena(NamedTuple):
    """`second` is the other stamp of each node where a query has a window in events and one in time."""

    node: Any  # int64[capacity, 4]
    second: Any  # int64[capacity], or of one element where unused
    used: Any  # int64[1]: how many nodes there are
    groups: Any  # int64[_MAX_GROUPS]: where `join` writes down the nodes that it follows
    values: Any  # int64[capacity, registers + 1], or of one row where unused: what is stored, and a tree node's weight


def new_arena(capacity: int, *, second: bool, registers: int = 0) -> Arena:
    return Arena(
        np.empty((capacity, 4), dtype=np.int64),
        np.empty(capacity if second else 1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(_MAX_GROUPS, dtype=np.int64),
        np.empty((capacity if registers else 1, registers + 1), dtype=np.int64),
    )


def bytes_a_node(arena: Arena) -> int:
    """What room for a node takes, with what `collect` notes of it."""
    parts = (part for part in arena if len(part) == len(arena.node))
    return int(sum(part.nbytes for part in parts)) // len(arena.node) + 8


def grown(arena: Arena, capacity: int) -> Arena:
    """The same nodes with room for more."""
    used = arena.used[USED]
    larger = new_arena(capacity, second=len(arena.second) > 1, registers=arena.values.shape[1] - 1)
    for new, old in zip(larger, arena, strict=True):
        if len(old) == len(arena.node):
            new[:used] = old[:used]
    larger.used[USED] = used
    return larger


# The functions below take the arrays themselves: an array that is read out of a tuple in a hot loop is counted up and
# down at every access, which costs more than the work (measured: three and a half times the time of an event).


@njit(cache=True, nogil=True, inline="always")
def alive(nodes: Any, seconds: Any, node: int, low: int, low_second: int) -> bool:
    """Whether the node holds a complex event that starts inside the window."""
    return nodes[at(node), STAMP] >= low and (len(seconds) == 1 or seconds[at(node)] >= low_second)


@njit(cache=True, nogil=True, inline="always")
def starts_later(nodes: Any, seconds: Any, a: int, b: int) -> bool:
    """Whether the latest start of `a` is not before that of `b`; where times tie, the count of events decides."""
    x, y = nodes[at(a), STAMP], nodes[at(b), STAMP]
    return x > y or (x == y and (len(seconds) == 1 or seconds[a] >= seconds[b]))


@njit(cache=True, nogil=True, inline="always")
def new_start(nodes: Any, seconds: Any, used: Any, event: int, stamp: int, second: int) -> int:
    """A run that starts at the event."""
    node: int = used[USED]
    used[USED] = node + 1
    nodes[at(node), CHILD] = NOTHING
    nodes[at(node), REST] = NOTHING
    nodes[at(node), STAMP] = stamp
    nodes[at(node), EVENT] = event
    if len(seconds) > 1:
        seconds[node] = second
    return node


@njit(cache=True, nogil=True, inline="always")
def new_cell(nodes: Any, seconds: Any, used: Any, child: int, event: int) -> int:
    """The complex events of `child` extended with the event."""
    node: int = used[USED]
    used[USED] = node + 1
    nodes[at(node), CHILD] = child
    nodes[at(node), REST] = NOTHING
    nodes[at(node), STAMP] = nodes[at(child), STAMP]
    nodes[at(node), EVENT] = event
    if len(seconds) > 1:
        seconds[node] = seconds[child]
    return node


@kernel
def _new_group(nodes: Any, seconds: Any, used: Any, left: int, rest: int) -> int:
    node: int = used[USED]
    used[USED] = node + 1
    nodes[node, CHILD] = left
    nodes[node, REST] = rest
    nodes[node, STAMP] = nodes[left, STAMP]
    nodes[node, EVENT] = GROUP
    if len(seconds) > 1:
        seconds[node] = seconds[left]
    return node


@kernel
def _copied(nodes: Any, seconds: Any, used: Any, original: int, rest: int) -> int:
    """The same cell or group in front of another list."""
    node: int = used[USED]
    used[USED] = node + 1
    for part in (CHILD, STAMP, EVENT):
        nodes[node, part] = nodes[original, part]
    nodes[node, REST] = rest
    if len(seconds) > 1:
        seconds[node] = seconds[original]
    return node


@kernel
def join(nodes: Any, seconds: Any, used: Any, groups: Any, a: int, b: int, merging: bool) -> int:
    """The union of two disjoint lists, the later starts first.

    A list that is put in front becomes a group whatever it holds, so that the order of what the window holds does not
    depend on whether what it has left behind was collected already. With `merging`, cells are put in order one by one
    as groups are, so that the list stays a flat one that can be searched (`earliest.py`).
    """
    count = 0
    while True:
        if not starts_later(nodes, seconds, a, b):
            a, b = b, a
        if not (merging or nodes[a, EVENT] == GROUP) or count == _MAX_GROUPS:
            break
        groups[count] = a
        count += 1
        a = nodes[a, REST]
        if a == NOTHING:
            break
    joined = b if a == NOTHING else _new_group(nodes, seconds, used, a, b)
    for k in range(count - 1, -1, -1):
        joined = _copied(nodes, seconds, used, groups[k], joined)
    return joined


@njit(cache=True, nogil=True, inline="always")
def added_to(nodes: Any, seconds: Any, used: Any, groups: Any, list_: int, added: int, new: bool) -> int:
    """The union of a list and what is added; a new cell, to which nothing points yet, is put in front if it may be."""
    if new and starts_later(nodes, seconds, added, list_):
        nodes[added, REST] = list_
        return added
    joined: int = join(nodes, seconds, used, groups, list_, added, False)
    return joined


@njit(cache=True, nogil=True, inline="always")
def own_list(nodes: Any, node: int) -> int:
    """The list of a tree's node; NOTHING where it has none, and of every other node."""
    event: int = nodes[at(node), EVENT]
    return TREE - 1 - event if event < TREE else NOTHING


@kernel
def renumber(slots: Any, place: Any) -> None:
    """Lets the slots point to where their nodes have gone."""
    for k in range(slots.shape[0]):
        for s in range(slots.shape[1]):
            if slots[k, s] != NOTHING:
                slots[k, s] = place[slots[k, s]]


@njit(cache=True, nogil=True)
def collect(nodes: Any, seconds: Any, used: Any, values: Any, slots: Any, low: Any, low_second: Any) -> None:
    """Keeps the nodes that the slots reach inside their windows, in their order, and renumbers the slots.

    `low[k]` and `low_second[k]` are the earliest starts that row `k` of the slots may still report.
    """
    count = used[USED]
    row_of = np.full(count, NOTHING, dtype=np.int64)
    for k in range(slots.shape[0]):
        for s in range(slots.shape[1]):
            node = slots[k, s]
            if node != NOTHING and alive(nodes, seconds, node, low[k], low_second[k]):
                row_of[node] = k
            else:
                slots[k, s] = NOTHING
    for node in range(count - 1, -1, -1):
        k = row_of[node]
        if k == NOTHING:
            continue
        own = own_list(nodes, node)
        if own != NOTHING:
            if alive(nodes, seconds, own, low[k], low_second[k]):
                row_of[own] = k
            else:
                nodes[node, EVENT] = TREE
        for part in (CHILD, REST):
            old = nodes[node, part]
            if old == NOTHING:
                continue
            # A cell's or a group's child is as alive as itself.
            if alive(nodes, seconds, old, low[k], low_second[k]):
                row_of[old] = k
            else:
                nodes[node, part] = NOTHING
    place = row_of  # from here on: where a kept node has gone
    kept = 0
    for node in range(count):
        if row_of[node] == NOTHING:
            continue
        for part in (CHILD, REST):
            old = nodes[node, part]
            nodes[kept, part] = NOTHING if old == NOTHING else place[old]
        own = own_list(nodes, node)
        nodes[kept, STAMP] = nodes[node, STAMP]
        nodes[kept, EVENT] = nodes[node, EVENT] if own == NOTHING else TREE - 1 - place[own]
        if len(seconds) > 1:
            seconds[kept] = seconds[node]
        if len(values) > 1:
            values[kept] = values[node]
        place[node] = kept
        kept += 1
    used[USED] = kept
    renumber(slots, place)
