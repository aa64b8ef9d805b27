"""Numbers the matches that end at an event, exactly, and finds the one of a number without the others.

The matches of an end are the paths through the nodes of the match structure. How many go on from a node is a whole
number of any size, in limbs, the lowest first; a rank says at each node which way its path takes.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, USED, Arena, Window, alive, own_list
from ensue.kernels.jit import inner, kernel
from ensue.kernels.stepping import NO_BOUND

#: A limb has so many bits, so that two of them and a carry can be added up.
LIMB_BITS = 62
_LIMB = (1 << LIMB_BITS) - 1


@kernel
def find_reached(arena: Arena, low: int, low_second: int, place: Any) -> int:
    """Gives a row to each node inside the window to which those lead that have one; says how many there are.

    `place` is NOTHING for the others.
    """
    window = Window(NO_BOUND, NO_BOUND, low, low_second)
    for node in range(arena.used[USED] - 1, -1, -1):
        if place[node] == NOTHING:
            continue
        for part in (arena.node[node, CHILD], own_list(arena, node), arena.node[node, REST]):
            if part != NOTHING and alive(arena, part, window):
                place[part] = 0
    rows = 0
    for node in range(arena.used[USED]):
        if place[node] != NOTHING:
            place[node] = rows
            rows += 1
    return rows


@kernel
def count_paths(arena: Arena, place: Any, count: Any) -> bool:
    """Counts the matches of each node that has a row, and of its rest; False where there are too few limbs.

    Behind the rows of nodes there is one more, which is 1.
    """
    for row in range(count.shape[0]):
        for limb in range(count.shape[1]):
            count[row, limb] = 0
    one = count.shape[0] - 1
    count[one, 0] = 1
    for node in range(arena.used[USED]):
        row = place[node]
        if row == NOTHING:
            continue
        child, rest = arena.node[node, CHILD], arena.node[node, REST]
        if child == NOTHING and arena.node[node, EVENT] >= 0 and not _add(count, row, one):
            return False
        for part in (child, own_list(arena, node), rest):
            # What is outside the window has no row, wherever it is reached from.
            if part != NOTHING and place[part] != NOTHING and not _add(count, row, place[part]):
                return False
    return True


@inner
def _add(count: Any, to: int, of: int) -> bool:
    carry = 0
    for limb in range(count.shape[1]):
        total = count[to, limb] + count[of, limb] + carry
        count[to, limb] = total & _LIMB
        carry = total >> LIMB_BITS
    return carry == 0


@inner
def _is_beyond(rank: Any, count: Any, row: int) -> bool:
    """Whether the rank is that of none of the matches of a row; then these are taken off it."""
    for limb in range(count.shape[1] - 1, -1, -1):
        if rank[limb] < count[row, limb]:
            return False
        if rank[limb] > count[row, limb]:
            break
    borrow = 0
    for limb in range(count.shape[1]):
        left = rank[limb] - count[row, limb] - borrow
        rank[limb] = left & _LIMB
        borrow = 1 if left < 0 else 0
    return True


@kernel
def find_path(arena: Arena, place: Any, count: Any, node: int, rank: Any, path: Any) -> int:
    """Writes the events of the match that has this rank among those from a node on, from the last to the first.

    Gives how many these are. The rank, which is used up, is less than the count of the node.
    """
    one, depth = count.shape[0] - 1, 0
    while True:
        event, child, own = arena.node[node, EVENT], arena.node[node, CHILD], own_list(arena, node)
        if child == NOTHING and event >= 0:
            if not _is_beyond(rank, count, one):
                path[depth] = event
                return depth + 1
        elif child != NOTHING and place[child] != NOTHING and not _is_beyond(rank, count, place[child]):
            if event >= 0:
                path[depth] = event
                depth += 1
            node = child
            continue
        if own != NOTHING and place[own] != NOTHING and not _is_beyond(rank, count, place[own]):
            node = own
        else:
            node = arena.node[node, REST]
