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

from ensue.kernels.arena import (
    CHILD,
    EVENT,
    FORK,
    NOTHING,
    REST,
    STAMP,
    TREE,
    USED,
    Arena,
    Window,
    added_to,
    alive,
    own_list,
)
from ensue.kernels.jit import at, inlined, inner

#: What a register holds for NULL, with which no check holds, and before anything is stored, when all checks hold.
NULL = np.iinfo(np.int64).min
UNSET = NULL + 1
LEAST = NULL + 2
#: Deeper than any tree becomes: weights are as good as random.
DEEPEST = 256
#: The most nodes that one call below makes.
NODES_A_CALL = 4 * DEEPEST


@inlined
def compare(values: Any, node: int, key: Any, count: int) -> int:
    """How the first values of the node compare with a key: less, equal or greater than 0."""
    for r in range(count):
        if values[node, r] != key[r]:
            return -1 if values[node, r] < key[r] else 1
    return 0


@inlined
def weight(key: Any, count: int) -> int:
    mixed = 0
    for r in range(count):
        mixed = (mixed ^ key[r]) * -7046029254386353131
        mixed ^= mixed >> 32
    return mixed


@inlined
def _held(arena: Arena, node: int, window: Window) -> bool:
    return node != NOTHING and alive(arena, node, window)


@inner
def new_tree(arena: Arena, old: int, left: int, own: int, right: int) -> int:
    """A node of a tree with the values of an old one; its stamp is the latest of its parts."""
    node: int = _added(arena, left, right, TREE - 1 - own, own)
    if old != NOTHING:
        for r in range(arena.values.shape[1]):
            arena.values[at(node), at(r)] = arena.values[at(old), at(r)]
    return node


@inlined
def _added(arena: Arena, left: int, right: int, event: int, own: int) -> int:
    """A new node, whose stamp is the latest of its parts."""
    nodes, seconds = arena.node, arena.second
    node: int = arena.used[USED]
    arena.used[USED] = node + 1
    nodes[at(node), CHILD] = left
    nodes[at(node), REST] = right
    nodes[at(node), EVENT] = event
    stamp = second = NULL
    for part in (left, right, own):
        if part != NOTHING:
            stamp = max(stamp, nodes[at(part), STAMP])
            if len(seconds) > 1:
                second = max(second, seconds[at(part)])
    nodes[at(node), STAMP] = stamp
    if len(seconds) > 1:
        seconds[at(node)] = second
    return node


@inner
def fork(arena: Arena, a: int, b: int, window: Window) -> int:
    """The union of two sets, without what the window has left behind."""
    if not _held(arena, a, window):
        return b if _held(arena, b, window) else NOTHING
    if not _held(arena, b, window):
        return a
    node: int = _added(arena, a, b, FORK, NOTHING)
    return node


@inner
def _copy(arena: Arena, old: int, left: int, own: int, right: int, window: Window) -> int:
    """The node with other parts, without those that the window has left behind; a part itself if it is all there is."""
    left = left if _held(arena, left, window) else NOTHING
    right = right if _held(arena, right, window) else NOTHING
    if not _held(arena, own, window):
        own = NOTHING
        if left == NOTHING or right == NOTHING:
            return left if right == NOTHING else right
    node: int = new_tree(arena, old, left, own, right)
    return node


@inner
def put(arena: Arena, root: int, key: Any, added: int, new: bool, window: Window, way: Any) -> int:
    """The tree with one more list under the key, which may be a new cell; `way` has room for DEEPEST nodes."""
    nodes, values = arena.node, arena.values
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
        own = own_list(arena, node)
        if _held(arena, own, window):
            added = added_to(arena, own, added, new)
        made: int = new_tree(arena, node, nodes[node, CHILD], added, nodes[node, REST])
        above = depth
    else:
        above = depth if above == NOTHING else above
        left = right = NOTHING
        for d in range(depth - 1, above - 1, -1):
            old = way[d]
            own = own_list(arena, old)
            if compare(values, old, key, count) < 0:
                left = _copy(arena, old, nodes[old, CHILD], own, left, window)
            else:
                right = _copy(arena, old, right, own, nodes[old, REST], window)
        made = new_tree(arena, NOTHING, left, added, right)
        for r in range(count):
            values[made, r] = key[r]
        values[made, count] = own_weight
    whole: int = _below_copies(arena, made, key, window, way, above)
    return whole


@inner
def without(arena: Arena, root: int, key: Any, window: Window, way: Any) -> int:
    """The tree without the list under the key, which is there; `way` has room for DEEPEST nodes."""
    nodes, values = arena.node, arena.values
    count = len(key)
    depth, node = 0, root
    order = compare(values, node, key, count)
    while order != 0:
        way[depth] = node
        depth += 1
        node = nodes[node, CHILD] if order > 0 else nodes[node, REST]
        order = compare(values, node, key, count)
    made: int = _joined(arena, nodes[node, CHILD], nodes[node, REST], count, window, way, depth)
    whole: int = _below_copies(arena, made, key, window, way, depth)
    return whole


@inner
def _below_copies(arena: Arena, made: int, key: Any, window: Window, way: Any, depth: int) -> int:
    """The tree with `made` at the end of the first `depth` nodes of the way to the key, which are copied for it."""
    nodes = arena.node
    for d in range(depth - 1, -1, -1):
        old = way[d]
        own = own_list(arena, old)
        if compare(arena.values, old, key, len(key)) > 0:
            made = _copy(arena, old, made, own, nodes[old, REST], window)
        else:
            made = _copy(arena, old, nodes[old, CHILD], own, made, window)
    return made


@inner
def _joined(arena: Arena, left: int, right: int, count: int, window: Window, way: Any, begin: int) -> int:
    """One tree of two of which all keys of the one come before those of the other; `way` is free from `begin` on.

    The heavier root stands above, so both are followed down their inner sides; nodes of the right one are written down
    as what is less than -1.
    """
    nodes, values = arena.node, arena.values
    depth = begin
    while _held(arena, left, window) and _held(arena, right, window):
        if values[left, count] >= values[right, count]:
            way[depth] = left
            left = nodes[left, REST]
        else:
            way[depth] = -2 - right
            right = nodes[right, CHILD]
        depth += 1
    made: int = left if _held(arena, left, window) else right if _held(arena, right, window) else NOTHING
    for d in range(depth - 1, begin - 1, -1):
        if way[d] >= 0:
            old = way[d]
            made = _copy(arena, old, nodes[old, CHILD], own_list(arena, old), made, window)
        else:
            old = -2 - way[d]
            made = _copy(arena, old, made, own_list(arena, old), nodes[old, REST], window)
    return made


@inner
def between(arena: Arena, root: int, first: Any, last: Any, count: int, window: Window, way: Any) -> int:
    """The union of all lists of the tree whose first `count` values lie between the two keys, in the tree's order."""
    nodes, values = arena.node, arena.values
    node = root if _held(arena, root, window) else NOTHING
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
        found = fork(arena, own_list(arena, way[d]), found, window)
        found = fork(arena, nodes[way[d], CHILD], found, window)
    found = fork(arena, own_list(arena, node), found, window)
    place = nodes[node, CHILD]
    while place != NOTHING:
        if compare(values, place, first, count) >= 0:
            found = fork(arena, nodes[place, REST], found, window)
            found = fork(arena, own_list(arena, place), found, window)
            place = nodes[place, CHILD]
        else:
            place = nodes[place, REST]
    return found
