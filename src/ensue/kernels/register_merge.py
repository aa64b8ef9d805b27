"""Moves the runs of one tree into another in time linear in both, where what they store keeps their order."""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import NOTHING, REST, Arena, Window, added_to, new_cell, own_list
from ensue.kernels.jit import at, inlined
from ensue.kernels.register_checks import descend, has_room, held_list, passes, store
from ensue.kernels.register_data import ACTION, Move, RegisterData, Spine
from ensue.kernels.value_trees import compare, new_tree, weight


@inlined
def merged(
    arena: Arena, registers: RegisterData, spine: Any, root: int, target: int, move: Move, window: Window
) -> int:
    """The tree of the target with all runs that pass; each node is made once.

    What the runs have stored after the move must be in the order of what they had before. The nodes come in order; a
    node is made when nothing can come under it any more, so that its children are made before it. Where the query has
    no such move, `spine` is None.
    """
    if spine is None:
        return target
    key, first, way = registers.key, registers.first, registers.way
    count = len(key)
    height = 0
    there, above = descend(arena, target, first, 0, way, 0, window)
    node, depth = _next_passing(arena, registers, root, move, 0, window)
    if node != NOTHING:
        store(arena, registers, node, move)
    while there != NOTHING or node != NOTHING:
        if not has_room(arena):
            return NOTHING
        order = -1 if node == NOTHING else (1 if there == NOTHING else compare(arena.values, there, key, count))
        own = NOTHING
        if order <= 0:
            own = held_list(arena, there, window)
            for r in range(count + 1):
                spine.key[at(height), at(r)] = arena.values[at(there), at(r)]
            there, above = descend(arena, arena.node[at(there), REST], first, 0, way, above, window)
        else:
            for r in range(count):
                spine.key[at(height), at(r)] = key[at(r)]
            spine.key[at(height), at(count)] = weight(key, count)
        while order >= 0 and node != NOTHING:  # several runs may store the same now
            added = own_list(arena, node)
            added = new_cell(arena, added, move.event) if move.marks else added
            own = added if own == NOTHING else added_to(arena, own, added, move.marks)
            node, depth = _next_passing(arena, registers, arena.node[at(node), REST], move, depth, window)
            if node == NOTHING or not has_room(arena):
                break
            store(arena, registers, node, move)
            if compare(spine.key, height, key, count) != 0:
                break
        if own != NOTHING:
            height = _pushed(arena, spine, height, own, count)
    made: int = _closed(arena, spine, height, 0, count)
    return made


@inlined
def _next_passing(
    arena: Arena, registers: RegisterData, node: int, move: Move, depth: int, window: Window
) -> tuple[int, int]:
    """The next node whose runs pass the checks, and how many are still to visit."""
    action, first, walk = registers.moves[at(move.number), ACTION], registers.first, registers.walk
    node, depth = descend(arena, node, first, 0, walk, depth, window)
    while node != NOTHING:
        if held_list(arena, node, window) != NOTHING and passes(arena, registers, node, action, move.row):
            break
        node, depth = descend(arena, arena.node[at(node), REST], first, 0, walk, depth, window)
    return node, depth


@inlined
def _pushed(arena: Arena, spine: Spine, height: int, own: int, count: int) -> int:
    """Puts the key in row `height` at the end of the spine, above those that weigh less; gives the spine's height."""
    keep = height
    while keep > 0 and spine.key[at(keep - 1), at(count)] < spine.key[at(height), at(count)]:
        keep -= 1
    left = _closed(arena, spine, height, keep, count)
    if keep != height:
        for r in range(count + 1):
            spine.key[at(keep), at(r)] = spine.key[at(height), at(r)]
    spine.own[at(keep)], spine.left[at(keep)] = own, left
    return keep + 1


@inlined
def _closed(arena: Arena, spine: Spine, height: int, keep: int, count: int) -> int:
    """Makes the nodes of the spine from row `keep` on; gives the uppermost."""
    made: int = NOTHING
    for d in range(height - 1, keep - 1, -1):
        made = new_tree(arena, NOTHING, spine.left[at(d)], spine.own[at(d)], made)
        for r in range(count + 1):
            arena.values[at(made), at(r)] = spine.key[at(d), at(r)]
    return made
