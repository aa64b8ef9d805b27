"""The match structure: partial matches shared in a compact set of nodes, kept in flat arrays.

It is the enumerable compact set of Garcia and Riveros, appendix C, without clocks, laid out as lists. A node is a row
of four integers:

    cell    child, rest, stamp, event      the complex events of `child` extended with the event, then those of `rest`
    group   left,  rest, stamp, GROUP      those of the list `left`, then those of `rest`

A cell without child is the start of a run. `event` packs the position and the number of its marks. `stamp` is the
latest start in the node, and no list has a later start behind its head, so that what a window has left behind is
skipped without being visited. Left sides of groups are lists of cells: an enumeration takes at most two steps to the
next complex event's event, whatever the size of the set.

Two kinds more are for runs with registers (`value_trees.py`):

    fork    left,  right, stamp, FORK      those of `left`, then those of `right`, in whatever order they start
    tree    left,  right, stamp, list      a node of an ordered tree: those of `left`, of its own list, of `right`

Nodes are only ever added, children before parents; `collect` keeps those that a window still holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.jit import at, inlined, inner, kernel

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
    """The bytes that a node takes, with those that `collect` needs for it."""
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


class Window(NamedTuple):
    """At an event: the stamps of a run that starts there, and the earliest stamps that are inside the window."""

    stamp: int
    second: int  # the other stamp, of a query with a window in events and one in time
    low: int
    low_second: int


@inlined
def alive(arena: Arena, node: int, window: Window) -> bool:
    """Whether the node holds a complex event that starts inside the window."""
    return arena.node[at(node), STAMP] >= window.low and (
        len(arena.second) == 1 or arena.second[at(node)] >= window.low_second
    )


@inlined
def starts_later(arena: Arena, a: int, b: int) -> bool:
    """Whether the latest start of `a` is not before that of `b`; where times tie, the count of events decides."""
    x, y = arena.node[at(a), STAMP], arena.node[at(b), STAMP]
    return x > y or (x == y and (len(arena.second) == 1 or arena.second[at(a)] >= arena.second[at(b)]))


@inlined
def _added(arena: Arena, child: int, rest: int, event: int) -> int:
    """A new node, without its stamps."""
    node: int = arena.used[USED]
    arena.used[USED] = node + 1
    arena.node[at(node), CHILD] = child
    arena.node[at(node), REST] = rest
    arena.node[at(node), EVENT] = event
    return node


@inlined
def _stamped_as(arena: Arena, node: int, other: int) -> int:
    """The node with the stamps of the other."""
    arena.node[at(node), STAMP] = arena.node[at(other), STAMP]
    if len(arena.second) > 1:
        arena.second[at(node)] = arena.second[at(other)]
    return node


@inlined
def new_start(arena: Arena, event: int, window: Window) -> int:
    """A run that starts at the event."""
    node: int = _added(arena, NOTHING, NOTHING, event)
    arena.node[at(node), STAMP] = window.stamp
    if len(arena.second) > 1:
        arena.second[at(node)] = window.second
    return node


@inlined
def new_cell(arena: Arena, child: int, event: int) -> int:
    """The complex events of `child` extended with the event."""
    node: int = _stamped_as(arena, _added(arena, child, NOTHING, event), child)
    return node


@inner
def join(arena: Arena, a: int, b: int, merging: bool) -> int:
    """The union of two disjoint lists, the later starts first.

    A list that is put in front becomes a group whatever it holds, so that the order of what the window holds does not
    depend on whether what it has left behind was collected already. With `merging`, cells are put in order one by one
    as groups are, so that the list stays a flat one that can be searched (`earliest.py`).
    """
    nodes, groups = arena.node, arena.groups
    count = 0
    while True:
        if not starts_later(arena, a, b):
            a, b = b, a
        if not (merging or nodes[at(a), EVENT] == GROUP) or count == _MAX_GROUPS:
            break
        groups[at(count)] = a
        count += 1
        a = nodes[at(a), REST]
        if a == NOTHING:
            break
    joined: int = b if a == NOTHING else _stamped_as(arena, _added(arena, a, b, GROUP), a)
    for k in range(count - 1, -1, -1):  # the same cells or groups again, in front of another list
        copied = groups[at(k)]
        joined = _stamped_as(arena, _added(arena, nodes[at(copied), CHILD], joined, nodes[at(copied), EVENT]), copied)
    return joined


@inlined
def added_to(arena: Arena, list_: int, added: int, new: bool) -> int:
    """The union of a list and what is added; a new cell, to which nothing points yet, is put in front if it may be."""
    if new and starts_later(arena, added, list_):
        arena.node[at(added), REST] = list_
        return added
    joined: int = join(arena, list_, added, False)
    return joined


@inlined
def own_list(arena: Arena, node: int) -> int:
    """The list of a tree's node; NOTHING where it has none, and of every other node."""
    event: int = arena.node[at(node), EVENT]
    return TREE - 1 - event if event < TREE else NOTHING


@inner
def renumber(slots: Any, place: Any) -> None:
    """Lets the slots point to where their nodes have gone."""
    for k in range(slots.shape[0]):
        for s in range(slots.shape[1]):
            if slots[k, s] != NOTHING:
                slots[k, s] = place[slots[k, s]]


@kernel
def collect(arena: Arena, slots: Any, low: Any, low_second: Any, place: Any) -> None:
    """Keeps the nodes that the slots reach inside their windows, in their order, and renumbers the slots.

    `low[k]` and `low_second[k]` are the earliest starts that row `k` of the slots may still report. `place` is NOTHING
    for each node; afterwards it says where each kept node has gone.
    """
    for k in range(slots.shape[0]):
        window = Window(0, 0, low[k], low_second[k])
        for s in range(slots.shape[1]):
            node = slots[k, s]
            if node != NOTHING and alive(arena, node, window):
                place[node] = k
            else:
                slots[k, s] = NOTHING
    _reach(arena, low, low_second, place)
    _close_ranks(arena, place)
    renumber(slots, place)


@inner
def _reach(arena: Arena, low: Any, low_second: Any, row_of: Any) -> None:
    """Says of each node that is reached which row of the slots reaches it, and cuts off what is outside its window."""
    nodes = arena.node
    for node in range(arena.used[USED] - 1, -1, -1):
        k = row_of[node]
        if k == NOTHING:
            continue
        window = Window(0, 0, low[k], low_second[k])
        own = own_list(arena, node)
        if own != NOTHING:
            if alive(arena, own, window):
                row_of[own] = k
            else:
                nodes[node, EVENT] = TREE
        for part in (CHILD, REST):
            old = nodes[node, part]
            if old == NOTHING:
                continue
            # A cell's or a group's child is as alive as itself.
            if alive(arena, old, window):
                row_of[old] = k
            else:
                nodes[node, part] = NOTHING


@inner
def _close_ranks(arena: Arena, place: Any) -> None:
    """Moves the nodes that are reached to the front; `place` says of each where it has gone."""
    nodes, seconds, values = arena.node, arena.second, arena.values
    kept = 0
    for node in range(arena.used[USED]):
        if place[node] == NOTHING:
            continue
        own = own_list(arena, node)
        for part in (CHILD, REST):
            old = nodes[node, part]
            nodes[kept, part] = NOTHING if old == NOTHING else place[old]
        nodes[kept, STAMP] = nodes[node, STAMP]
        nodes[kept, EVENT] = nodes[node, EVENT] if own == NOTHING else TREE - 1 - place[own]
        if len(seconds) > 1:
            seconds[kept] = seconds[node]
        if len(values) > 1:
            for r in range(values.shape[1]):
                values[kept, r] = values[node, r]
        place[node] = kept
        kept += 1
    arena.used[USED] = kept
