"""Partial matches by what they have stored: an ordered tree whose nodes each hold a list of the match structure.

Runs that have stored the same are one list. The tree is ordered by the values of all registers, one after the other,
so that the runs that pass an equality, or an equality and a bound, or a bound on a time, lie next to each other: their
union is made of a few subtrees. What was once taken from a tree stays as it was, so its nodes are never changed: an
insertion copies the way to its place, which is short, since weights drawn from the values keep the tree balanced (a
treap). What a window has left behind is dropped on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ensue.kernels.arena import (
    CHILD,
    EVENT,
    FORK,
    NOTHING,
    REST,
    STAMP,
    TREE,
    USED,
    added_to,
    alive,
    own_list,
)
from ensue.kernels.jit import kernel

#: What stands in a register for NULL, which no check holds for, and for nothing, for which all do.
NULL = np.iinfo(np.int64).min
UNSET = NULL + 1
LEAST = NULL + 2
#: Deeper than any tree becomes: weights are as good as random.
DEEPEST = 256
#: The most nodes that one call below makes.
NODES_A_CALL = 4 * DEEPEST


@njit(cache=True, nogil=True, inline="always")
def compare(values: Any, node: int, key: Any, count: int) -> int:
    """How the first values of the node compare with a key: less, equal or greater than 0."""
    for r in range(count):
        if values[node, r] != key[r]:
            return -1 if values[node, r] < key[r] else 1
    return 0


@njit(cache=True, nogil=True, inline="always")
def weight(key: Any, count: int) -> int:
    mixed = 0
    for r in range(count):
        mixed = (mixed ^ key[r]) * -7046029254386353131
        mixed ^= mixed >> 32
    return mixed


@njit(cache=True, nogil=True, inline="always")
def _held(nodes: Any, seconds: Any, node: int, low: int, low_second: int) -> bool:
    return node != NOTHING and alive(nodes, seconds, node, low, low_second)


@kernel
def new_tree(nodes: Any, seconds: Any, values: Any, used: Any, old: int, left: int, own: int, right: int) -> int:
    """A node of a tree with the values of an old one; its stamp is the latest of its parts."""
    node: int = used[USED]
    used[USED] = node + 1
    nodes[node, CHILD] = left
    nodes[node, REST] = right
    nodes[node, EVENT] = TREE - 1 - own
    _stamp(nodes, seconds, node, left, right, own)
    if old != NOTHING:
        for r in range(values.shape[1]):
            values[node, r] = values[old, r]
    return node


@njit(cache=True, nogil=True, inline="always")
def _stamp(nodes: Any, seconds: Any, node: int, a: int, b: int, c: int) -> None:
    stamp = second = NULL
    for part in (a, b, c):
        if part != NOTHING:
            stamp = max(stamp, nodes[part, STAMP])
            if len(seconds) > 1:
                second = max(second, seconds[part])
    nodes[node, STAMP] = stamp
    if len(seconds) > 1:
        seconds[node] = second


@kernel
def fork(nodes: Any, seconds: Any, used: Any, a: int, b: int, low: int, low_second: int) -> int:
    """The union of two sets, without what the window has left behind."""
    if not _held(nodes, seconds, a, low, low_second):
        return b if _held(nodes, seconds, b, low, low_second) else NOTHING
    if not _held(nodes, seconds, b, low, low_second):
        return a
    node: int = used[USED]
    used[USED] = node + 1
    nodes[node, CHILD] = a
    nodes[node, REST] = b
    nodes[node, EVENT] = FORK
    _stamp(nodes, seconds, node, a, b, NOTHING)
    return node


@kernel
def _copy(
    nodes: Any,
    seconds: Any,
    values: Any,
    used: Any,
    old: int,
    left: int,
    own: int,
    right: int,
    low: int,
    low_second: int,
) -> int:
    """The node with other parts, without those that the window has left behind; a part itself if it is all there is."""
    left = left if _held(nodes, seconds, left, low, low_second) else NOTHING
    right = right if _held(nodes, seconds, right, low, low_second) else NOTHING
    if not _held(nodes, seconds, own, low, low_second):
        own = NOTHING
        if left == NOTHING or right == NOTHING:
            return left if right == NOTHING else right
    node: int = new_tree(nodes, seconds, values, used, old, left, own, right)
    return node


@kernel
def put(
    nodes: Any,
    seconds: Any,
    values: Any,
    used: Any,
    groups: Any,
    root: int,
    key: Any,
    added: int,
    new: bool,
    low: int,
    low_second: int,
    way: Any,
) -> int:
    """The tree with one more list under the key, which may be a new cell; `way` has room for DEEPEST nodes."""
    count = len(key)
    own_weight = weight(key, count)
    depth, above = 0, NOTHING  # the new node stands above those of the way that weigh less
    node, order = root, 0
    while node != NOTHING:
        order = compare(values, node, key, count)
        if order == 0:
            break
        if above == NOTHING and values[node, count] < own_weight:
            above = depth
        way[depth] = node
        depth += 1
        node = nodes[node, CHILD] if order > 0 else nodes[node, REST]
    if node != NOTHING:  # the key is there
        own = own_list(nodes, node)
        if _held(nodes, seconds, own, low, low_second):
            added = added_to(nodes, seconds, used, groups, own, added, new)
        made: int = new_tree(nodes, seconds, values, used, node, nodes[node, CHILD], added, nodes[node, REST])
        above = depth
    else:
        above = depth if above == NOTHING else above
        left = right = NOTHING
        for d in range(depth - 1, above - 1, -1):
            old = way[d]
            own = own_list(nodes, old)
            if compare(values, old, key, count) < 0:
                left = _copy(nodes, seconds, values, used, old, nodes[old, CHILD], own, left, low, low_second)
            else:
                right = _copy(nodes, seconds, values, used, old, right, own, nodes[old, REST], low, low_second)
        made = new_tree(nodes, seconds, values, used, NOTHING, left, added, right)
        for r in range(count):
            values[made, r] = key[r]
        values[made, count] = own_weight
    for d in range(above - 1, -1, -1):
        old = way[d]
        own = own_list(nodes, old)
        if compare(values, old, key, count) > 0:
            made = _copy(nodes, seconds, values, used, old, made, own, nodes[old, REST], low, low_second)
        else:
            made = _copy(nodes, seconds, values, used, old, nodes[old, CHILD], own, made, low, low_second)
    return made


@kernel
def between(
    nodes: Any,
    seconds: Any,
    values: Any,
    used: Any,
    root: int,
    first: Any,
    last: Any,
    count: int,
    low: int,
    low_second: int,
    way: Any,
) -> int:
    """The union of all lists of the tree whose first `count` values lie between the two keys, in the tree's order."""
    node = root if _held(nodes, seconds, root, low, low_second) else NOTHING
    if count == 0:
        return node
    while node != NOTHING:
        if compare(values, node, first, count) < 0:
            node = nodes[node, REST]
        elif compare(values, node, last, count) > 0:
            node = nodes[node, CHILD]
        else:
            break
    if node == NOTHING:
        return NOTHING
    found: int = NOTHING
    # To the right: each node on the way that is not beyond the last key has all of its left side.
    depth, place = 0, nodes[node, REST]
    while place != NOTHING:
        if compare(values, place, last, count) <= 0:
            way[depth] = place
            depth += 1
            place = nodes[place, REST]
        else:
            place = nodes[place, CHILD]
    for d in range(depth - 1, -1, -1):
        found = fork(nodes, seconds, used, own_list(nodes, way[d]), found, low, low_second)
        found = fork(nodes, seconds, used, nodes[way[d], CHILD], found, low, low_second)
    found = fork(nodes, seconds, used, own_list(nodes, node), found, low, low_second)
    place = nodes[node, CHILD]
    while place != NOTHING:
        if compare(values, place, first, count) >= 0:
            found = fork(nodes, seconds, used, nodes[place, REST], found, low, low_second)
            found = fork(nodes, seconds, used, own_list(nodes, place), found, low, low_second)
            place = nodes[place, CHILD]
        else:
            place = nodes[place, REST]
    return found
