"""Partial matches of runs with one clock: lists that carry what was asked of the clock, and when it was reset.

It is the clock-aware enumerable compact set of Garcia and Riveros, appendix C, for conditions `z <= c`, with fewer
kinds of nodes (see docs/decisions/0014). Each run has a time at which its clock was reset; a check asks that it be no
earlier than some bound. A node is a row of four integers and a bound:

    cell    child, rest, stamp, event    the complex events of `child` extended with the event, then those of `rest`
    link    left,  rest, stamp, LINK     those of `left`, then those of `rest`, which is the next entry of the list
    last    left,  rest, stamp, LAST     the same, but all of `rest` is one entry

Of the child or the left side only the runs count whose clock was reset at the bound or later: a check costs one
number and no node of its own. A child that is written as `reset_in(child)` says besides that the clock is reset here,
to the node's stamp, so that what is asked later on does not concern what is below. `stamp` is the latest reset of the
node's runs, and none behind it is later: what fails a check is a tail, and is skipped without being visited.

A list is a first node and at most as many entries behind it as a configuration has slots, each with an earlier stamp
than the one before. What stands first in a list is a cell, or a node whose left side is a cell; from every other node
it is a few steps to a cell. Nodes are only ever added, children before parents.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, STAMP, USED, renumber
from ensue.kernels.jit import kernel

LINK = -1
LAST = -2
#: Of a run whose clock does not run every check holds; and the bound that no check has set.
STOPPED = np.iinfo(np.int64).max
NO_CHECK = np.iinfo(np.int64).min
#: The most entries of a list that are told apart; beyond, the answer is the same and only the delay grows.
MOST_ENTRIES = 32
#: The most nodes that one move can add: a cell or a checked list, and a union.
NODES_A_MOVE = 2 * MOST_ENTRIES + 4


@njit(cache=True, nogil=True, inline="always")
def reset_in(child: int) -> int:
    """How a child is written whose runs have their clock reset; the same way back."""
    return -2 - child


@njit(cache=True, nogil=True, inline="always")
def _new(
    nodes: Any, bounds: Any, used: Any, child: int, rest: int, stamp: int, event: int, bound: int, resets: bool
) -> int:
    node: int = used[USED]
    used[USED] = node + 1
    nodes[node, CHILD] = reset_in(child) if resets else child
    nodes[node, REST] = rest
    nodes[node, STAMP] = stamp
    nodes[node, EVENT] = event
    bounds[node] = bound
    return node


@njit(cache=True, nogil=True, inline="always")
def new_start(nodes: Any, bounds: Any, used: Any, event: int, stamp: int) -> int:
    """A run that starts at the event."""
    node: int = _new(nodes, bounds, used, NOTHING, NOTHING, stamp, event, NO_CHECK, False)
    return node


@njit(cache=True, nogil=True, inline="always")
def new_cell(nodes: Any, bounds: Any, used: Any, child: int, event: int, bound: int, resets: bool, stamp: int) -> int:
    """Those complex events of `child` that pass the bound, of which there are some, extended with the event."""
    node: int = _new(nodes, bounds, used, child, NOTHING, stamp, event, bound, resets)
    return node


@njit(cache=True, nogil=True, inline="always")
def _is_one(nodes: Any, node: int) -> bool:
    """Whether the node, with all that is behind it, can only be taken as a whole: as one entry of a list."""
    event: int = nodes[node, EVENT]
    return bool(event >= 0 or (event == LAST and nodes[node, REST] != NOTHING))


@kernel
def _gated(nodes: Any, bounds: Any, used: Any, entry: int, bound: int, resets: bool, now: int, rest: int) -> int:
    """An entry of a list whose runs must pass the bound, as a link; -2 - node stands for a node that is taken whole.

    Two gates one after the other are one: what was reset in the inner one has passed the outer one altogether.
    """
    if entry < 0:
        left, inner, had_reset, stamp = reset_in(entry), NO_CHECK, False, nodes[reset_in(entry), STAMP]
    else:
        left, inner, stamp = nodes[entry, CHILD], bounds[entry], nodes[entry, STAMP]
        had_reset = left < NOTHING
        left = reset_in(left) if had_reset else left
    if not had_reset:
        inner = max(inner, bound)
    node: int = _new(nodes, bounds, used, left, rest, now if resets else stamp, LINK, inner, had_reset or resets)
    return node


@kernel
def passed(nodes: Any, bounds: Any, used: Any, entries: Any, list_: int, bound: int, resets: bool, now: int) -> int:
    """The runs of a list that pass the bound, of which there are some; with `resets`, their clock is reset now."""
    count, node = 0, list_
    while node != NOTHING and nodes[node, STAMP] >= bound:
        first_of_two = count == 0 and nodes[node, EVENT] == LAST
        if (_is_one(nodes, node) and not first_of_two) or count == MOST_ENTRIES - 1:
            entries[count] = reset_in(node)
            count += 1
            break
        entries[count] = node
        count += 1
        node = nodes[node, REST]
        if first_of_two and node != NOTHING and nodes[node, STAMP] >= bound:
            entries[count] = reset_in(node)
            count += 1
            break
    made: int = NOTHING
    if resets:
        # All are equal then, and those behind the first become one entry. The one that came last is put first: it is
        # the one with the shortest way to a cell.
        for k in range(1, count):
            made = _gated(nodes, bounds, used, entries[k], bound, True, now, made)
            nodes[made, EVENT] = LAST
        count = 1
    for k in range(count - 1, -1, -1):
        made = _gated(nodes, bounds, used, entries[k], bound, resets, now, made)
    return made


@njit(cache=True, nogil=True, inline="always")
def _may_precede(nodes: Any, node: int, rest: int, fresh: int) -> bool:
    """Whether `rest` may be put behind the node itself: it was made at this event and nothing points to it yet."""
    return bool(node >= fresh and nodes[node, REST] == NOTHING and rest < node)


@njit(cache=True, nogil=True, inline="always")
def _put_behind(nodes: Any, node: int, rest: int) -> None:
    nodes[node, REST] = rest
    if nodes[node, EVENT] < 0:
        nodes[node, EVENT] = LAST


@kernel
def join(nodes: Any, bounds: Any, used: Any, entries: Any, a: int, b: int, fresh: int) -> int:
    """The union of two disjoint lists; what was made at this event has a number from `fresh` on."""
    x, y = nodes[a, STAMP], nodes[b, STAMP]
    if y > x or (y == x and _may_precede(nodes, b, a, fresh)):
        a, b = b, a
    if _may_precede(nodes, a, b, fresh):
        _put_behind(nodes, a, b)
        return a
    # The entries of `a` that are later than all of `b`, which becomes one entry with all that is not.
    stamp = nodes[b, STAMP]
    count, node = 0, a
    while node != NOTHING and (count == 0 or nodes[node, STAMP] > stamp):
        first_of_two = count == 0 and nodes[node, EVENT] == LAST
        if (_is_one(nodes, node) and not first_of_two) or count == MOST_ENTRIES - 1:
            entries[count] = reset_in(node)
            count += 1
            node = NOTHING
            break
        entries[count] = node
        count += 1
        node = nodes[node, REST]
        if first_of_two and node != NOTHING and nodes[node, STAMP] > stamp:
            entries[count] = reset_in(node)
            count += 1
            node = NOTHING
    if _may_precede(nodes, b, node, fresh):
        _put_behind(nodes, b, node)
    elif node != NOTHING or (nodes[b, EVENT] == LINK and nodes[b, REST] != NOTHING):
        b = _new(nodes, bounds, used, b, node, stamp, LAST, NO_CHECK, False)
    for k in range(count - 1, -1, -1):
        b = _gated(nodes, bounds, used, entries[k], NO_CHECK, False, 0, b)
    return b


@njit(cache=True, nogil=True)
def collect(nodes: Any, bounds: Any, used: Any, slots: Any, low: Any) -> None:
    """Keeps the nodes that the slots reach, in their order, and renumbers the slots.

    `low[k, s]` is the earliest reset that anything can still come of in slot `s` of row `k`.
    """
    count = used[USED]
    unreached = STOPPED
    asked = np.full(count, unreached, dtype=np.int64)  # of each node the earliest reset that counts
    reached = np.zeros(count, dtype=np.bool_)
    for k in range(slots.shape[0]):
        for s in range(slots.shape[1]):
            node = slots[k, s]
            if node != NOTHING and nodes[node, STAMP] >= low[k, s]:
                asked[node] = min(asked[node], low[k, s])
                reached[node] = True
            else:
                slots[k, s] = NOTHING
    for node in range(count - 1, -1, -1):
        if not reached[node]:
            continue
        rest, child = nodes[node, REST], nodes[node, CHILD]
        if rest != NOTHING:
            if nodes[rest, STAMP] >= asked[node]:
                asked[rest] = min(asked[rest], asked[node])
                reached[rest] = True
            else:
                nodes[node, REST] = NOTHING
        if child != NOTHING:
            below = max(asked[node], bounds[node])
            if child < NOTHING:
                child, below = reset_in(child), bounds[node]
            asked[child] = min(asked[child], below)
            reached[child] = True
    place = asked  # from here on: where a kept node has gone
    kept = 0
    for node in range(count):
        if not reached[node]:
            continue
        rest, child = nodes[node, REST], nodes[node, CHILD]
        nodes[kept, REST] = NOTHING if rest == NOTHING else place[rest]
        if child < NOTHING:
            nodes[kept, CHILD] = reset_in(place[reset_in(child)])
        else:
            nodes[kept, CHILD] = NOTHING if child == NOTHING else place[child]
        nodes[kept, STAMP] = nodes[node, STAMP]
        nodes[kept, EVENT] = nodes[node, EVENT]
        bounds[kept] = bounds[node]
        place[node] = kept
        kept += 1
    used[USED] = kept
    renumber(slots, place)
