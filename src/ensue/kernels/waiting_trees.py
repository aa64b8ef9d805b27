"""Partial matches of runs with one clock and lower bounds, where these do not wait in line: piles of balanced trees.

An event that is marked while the clock runs makes one cell of runs that were reset at many times, and all of them go on
from there. So nothing is in the order of the resets, as the queues of `waiting_lists.py` are. Here a slot holds full
binary trees of cells, of which no two have the same height, and each node knows the earliest reset below it. Runs that
have waited long enough are found from the roots down, past at most as many others as the trees are high.

The nodes are those of `clock_lists.py`, with these kinds instead of links:

    union   left, right, stamp, UNION           two trees of the same height
    pile    tree, rest,  stamp, PILE - height   a tree, and behind it those that are higher

Stamps and bounds are times with the other sign: what was reset *early* has a late stamp. So it is asked of runs here,
too, that their stamp be no earlier than some bound, and enumeration and collection are those of the lists.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, STAMP, USED, Arena
from ensue.kernels.clock_lists import NO_CHECK
from ensue.kernels.jit import at, inlined, inner

UNION = -1
PILE = -2


@inlined
def bound_of(columns: Any, check: int, row: int) -> int:
    """The earliest stamp that passes a check at the event: times are never so early that the sign cannot change."""
    found: int = -max(columns.greatest[at(check), at(row)], NO_CHECK + 1)
    return found


@inlined
def _added(arena: Arena, left: int, right: int, event: int) -> int:
    node: int = arena.used[USED]
    arena.used[USED] = node + 1
    stamp = arena.node[at(left), STAMP]
    if right != NOTHING:
        stamp = max(stamp, arena.node[at(right), STAMP])
    arena.node[at(node), CHILD] = left
    arena.node[at(node), REST] = right
    arena.node[at(node), STAMP] = stamp
    arena.node[at(node), EVENT] = event
    arena.second[at(node)] = NO_CHECK
    return node


@inlined
def pile_of(arena: Arena, cell: int) -> int:
    """A pile of one cell."""
    node: int = _added(arena, cell, NOTHING, PILE)
    return node


@inlined
def _is_as_high(arena: Arena, pile: int, height: int) -> bool:
    """Whether the first tree of a pile has this height."""
    return bool(pile != NOTHING and arena.node[at(pile), EVENT] == PILE - height)


@inner
def united(arena: Arena, a: int, b: int) -> int:
    """The union of two piles, as two binary numbers are added: two trees of the same height are one that is higher.

    So a pile that grows by one cell at a time takes two nodes for it on average.
    """
    nodes, trees = arena.node, arena.groups
    carried, height = NOTHING, 0
    while carried != NOTHING or (a != NOTHING and b != NOTHING):
        x = y = NOTHING
        if _is_as_high(arena, a, height):
            x, a = nodes[a, CHILD], nodes[a, REST]
        if _is_as_high(arena, b, height):
            y, b = nodes[b, CHILD], nodes[b, REST]
        if x == NOTHING:
            x, y = y, NOTHING
        trees[height] = carried
        carried = NOTHING
        if y != NOTHING:
            carried = _added(arena, x, y, UNION)
        elif x != NOTHING and trees[height] != NOTHING:
            carried = _added(arena, x, trees[height], UNION)
            trees[height] = NOTHING
        elif x != NOTHING:
            trees[height] = x
        height += 1
    pile = b if a == NOTHING else a
    for h in range(height - 1, -1, -1):
        if trees[h] != NOTHING:
            pile = _added(arena, trees[h], pile, PILE - h)
    return pile
