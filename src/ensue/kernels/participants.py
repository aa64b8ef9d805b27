"""Which events took part in the matches that end at an event, without writing the matches out.

The matches of an end share their parts in the match structure: of a thousand matches there may be ten nodes. So the
nodes are visited instead, each once, and the positions of their events are the union of all supports. What the window
has left behind is skipped as an enumeration skips it: a node is inside it exactly if some match through it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.arena import CHILD, EVENT, MARK_BITS, MARK_MASK, NOTHING, REST, Arena, Window, alive, own_list
from ensue.kernels.jit import at, inlined, inner
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

#: More runs of positions than that are sorted otherwise.
_MOST_RUNS = 16


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
        output.position[at(place)] = end.position
        place += 1
    output.start[match] = end.position
    status: int
    place, status = _walked(arena, window, walk, stacked, output, match, place)
    if status == DONE:
        place = _in_order(output.position, progress[POSITIONS], place, pending)
        output.end[match] = end.position
        output.offset[match + 1] = place
        progress[MATCHES], progress[POSITIONS], progress[REPORTED] = match + 1, place, 1
    return status


@inlined
def _noted(walk: Walk, stacked: int, node: int) -> int:
    """The height of the stack with the node on it, unless this walk has been there."""
    if walk.seen[at(node)] == walk.number:
        return stacked
    walk.seen[at(node)] = walk.number
    walk.pending[at(stacked)] = node
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
        node = walk.pending[at(stacked)]
        event, child = arena.node[at(node), EVENT], arena.node[at(node), CHILD]
        if event >= 0:
            if child == NOTHING:
                earliest = min(earliest, event >> MARK_BITS)
            if event & MARK_MASK != 0:
                if place == len(output.position):
                    return place, NEEDS_OUTPUT
                output.position[at(place)] = event >> MARK_BITS
                place += 1
        if stacked + 3 > len(walk.pending):
            return place, NEEDS_STACK
        for part in (arena.node[at(node), REST], own_list(arena, node), child):
            if part != NOTHING and alive(arena, part, window):
                stacked = _noted(walk, stacked, part)
    output.start[match] = earliest
    return place, DONE


@inner
def _in_order(marked: Any, begin: int, end: int, room: Any) -> int:
    """Sorts the positions from `begin` up to `end` and leaves each once; gives where they end then.

    A walk writes few runs that are in order, one way or the other, so each is merged with those before it; `room` is
    used for that. (Numba's own sort would take a second to compile.)
    """
    first = begin
    runs = 0
    while first < end:
        last = _end_of_run(marked, first, end)
        runs += 1
        if runs > _MOST_RUNS or last - first > len(room):
            _sort(marked, begin, end - begin)
            break
        _merge(marked, begin, first, last, room)
        first = last
    kept = begin
    for k in range(begin, end):
        if k == begin or marked[at(k)] != marked[at(kept - 1)]:
            marked[at(kept)] = marked[at(k)]
            kept += 1
    return kept


@inlined
def _end_of_run(marked: Any, first: int, end: int) -> int:
    """Where the positions end that are in order from `first` on; if they fall, they are turned round."""
    last = first + 1
    while last < end and marked[at(last)] < marked[at(last - 1)]:
        last += 1
    for k in range((last - first) // 2):
        marked[at(first + k)], marked[at(last - 1 - k)] = marked[at(last - 1 - k)], marked[at(first + k)]
    while last < end and marked[at(last)] >= marked[at(last - 1)]:
        last += 1
    return last


@inlined
def _merge(marked: Any, begin: int, first: int, last: int, room: Any) -> None:
    """Merges the positions from `first` up to `last` with those before them; both are in order."""
    left = last - first
    for k in range(left):
        room[at(k)] = marked[at(first + k)]
    place, before = last, first
    while left > 0:
        place -= 1
        if before > begin and marked[at(before - 1)] > room[at(left - 1)]:
            before -= 1
            marked[at(place)] = marked[at(before)]
        else:
            left -= 1
            marked[at(place)] = room[at(left)]


@inner
def _sort(marked: Any, begin: int, count: int) -> None:
    """A heap sort, which is never slow."""
    for top in range(count // 2 - 1, -1, -1):
        _sift(marked, begin, top, count)
    for last in range(count - 1, 0, -1):
        marked[at(begin)], marked[at(begin + last)] = marked[at(begin + last)], marked[at(begin)]
        _sift(marked, begin, 0, last)


@inlined
def _sift(marked: Any, begin: int, top: int, count: int) -> None:
    """Lets the position at the top of a heap sink to where none below it is greater."""
    sinking = marked[at(begin + top)]
    below = 2 * top + 1
    while below < count:
        if below + 1 < count and marked[at(begin + below + 1)] > marked[at(begin + below)]:
            below += 1
        if marked[at(begin + below)] <= sinking:
            break
        marked[at(begin + top)] = marked[at(begin + below)]
        top, below = below, 2 * below + 1
    marked[at(begin + top)] = sinking
