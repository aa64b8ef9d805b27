"""Which events took part in the matches that end at an event, without writing the matches out.

The matches of an end share their parts in the match structure: of a thousand matches there may be ten nodes. So the
nodes are visited instead, each once, and the positions of their events are the union of all supports. What the window
has left behind is skipped as an enumeration skips it: a node is inside it exactly if some match through it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.arena import CHILD, EVENT, MARK_BITS, MARK_MASK, NOTHING, REST, Arena, Window, alive, own_list
from ensue.kernels.jit import inlined, inner
from ensue.kernels.stepping import (
    DONE,
    MARK,
    MATCHES,
    NEEDS_OUTPUT,
    NEEDS_STACK,
    POSITIONS,
    REPORTED,
    SOURCE,
    WALK,
    End,
    Output,
    State,
)


class Walk(NamedTuple):
    """A visit to all nodes that some match of an end goes through."""

    pending: Any  # int64[]: a stack of the nodes to visit
    seen: Any  # int64[nodes]: the last walk that came by each node
    number: int  # of this walk: none had it before


@inner
def write_participants(state: State, end: End, window: Window, seen: Any) -> int:
    """Writes the events of all complex events that end here as one; begun again from the first where room was short."""
    arena, progress, output, pending = state.arena, state.progress, state.output, state.stack.node
    match, place = progress[MATCHES], progress[POSITIONS]
    if match == len(output.start) or place == len(output.position):
        return NEEDS_OUTPUT
    progress[WALK] += 1
    walk = Walk(pending, seen, progress[WALK])
    ends = marks = False
    stacked = 0
    for r in range(end.first, end.last):
        source = end.reports[r, SOURCE]
        if source >= 0:
            node = end.slots[end.row, source]
            if node == NOTHING or not alive(arena, node, window):
                continue
            if stacked == len(pending):
                return NEEDS_STACK
            stacked = _noted(walk, stacked, node)
        ends = True
        marks |= end.reports[r, MARK] != 0
    if not ends:
        return DONE
    if marks:
        output.position[place] = end.position
        place += 1
    output.start[match] = end.position
    place, status = _walked(arena, window, walk, stacked, output, match, place)
    if status == DONE:
        place = _in_order(output.position, progress[POSITIONS], place)
        output.end[match] = end.position
        output.offset[match + 1] = place
        progress[MATCHES], progress[POSITIONS], progress[REPORTED] = match + 1, place, 1
    return status


@inlined
def _noted(walk: Walk, stacked: int, node: int) -> int:
    """The height of the stack with the node on it, unless this walk has been there."""
    if walk.seen[node] == walk.number:
        return stacked
    walk.seen[node] = walk.number
    walk.pending[stacked] = node
    return stacked + 1


@inner
def _walked(
    arena: Arena, window: Window, walk: Walk, stacked: int, output: Output, match: int, place: int
) -> tuple[int, int]:
    """Writes the marked positions of the nodes that the stack leads to, in any order and maybe several times.

    The earliest start goes to the `match`. Gives where the positions end, and what there was not enough of.
    """
    earliest = output.start[match]
    while stacked > 0:
        stacked -= 1
        node = walk.pending[stacked]
        event, child = arena.node[node, EVENT], arena.node[node, CHILD]
        if event >= 0:
            if child == NOTHING:
                earliest = min(earliest, event >> MARK_BITS)
            if event & MARK_MASK != 0:
                if place == len(output.position):
                    return place, NEEDS_OUTPUT
                output.position[place] = event >> MARK_BITS
                place += 1
        if stacked + 3 > len(walk.pending):
            return place, NEEDS_STACK
        for part in (arena.node[node, REST], own_list(arena, node), child):
            if part != NOTHING and alive(arena, part, window):
                stacked = _noted(walk, stacked, part)
    output.start[match] = earliest
    return place, DONE


@inner
def _in_order(marked: Any, begin: int, end: int) -> int:
    """Sorts the positions from `begin` up to `end` and leaves each once; gives where they end then.

    It is a heap sort: never slow, and Numba's own sort takes a second to compile.
    """
    count = end - begin
    for top in range(count // 2 - 1, -1, -1):
        _sift(marked, begin, top, count)
    for last in range(count - 1, 0, -1):
        marked[begin], marked[begin + last] = marked[begin + last], marked[begin]
        _sift(marked, begin, 0, last)
    kept = begin
    for k in range(begin, end):
        if k == begin or marked[k] != marked[kept - 1]:
            marked[kept] = marked[k]
            kept += 1
    return kept


@inlined
def _sift(marked: Any, begin: int, top: int, count: int) -> None:
    """Lets the position at the top of a heap sink to where none below it is greater."""
    sinking = marked[begin + top]
    below = 2 * top + 1
    while below < count:
        if below + 1 < count and marked[begin + below + 1] > marked[begin + below]:
            below += 1
        if marked[begin + below] <= sinking:
            break
        marked[begin + top] = marked[begin + below]
        top, below = below, 2 * below + 1
    marked[begin + top] = sinking
