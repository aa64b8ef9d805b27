"""Which events took part in the matches that end at an event, without writing the matches out.

The matches of an end share their parts in the match structure: of a thousand matches there may be ten nodes. So the
nodes are visited instead, each once, and the positions of their events are the union of all supports. What the window
has left behind is skipped as an enumeration skips it: a node is inside it exactly if some match through it is.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import CHILD, EVENT, MARK_BITS, MARK_MASK, NOTHING, REST, alive, own_list
from ensue.kernels.jit import allocating, kernel

#: What `walk` gives instead of the place where it has stopped writing.
ENDS_NOTHING, NO_ROOM, TOO_DEEP = -1, -2, -3


@kernel
def walk(
    report_source: Any,
    report_mark: Any,
    first: int,
    last: int,
    slots: Any,
    k: int,
    nodes: Any,
    seconds: Any,
    pending: Any,
    seen: Any,
    number: int,
    starts: Any,
    match: int,
    marked: Any,
    place: int,
    position: int,
    low: int,
    low_second: int,
) -> int:
    """Writes the marked positions of all matches that the reports from `first` to `last` have at this position.

    They go to `marked`, from `place` on, in any order and maybe several times; the earliest start goes to
    `starts[match]`. `seen` holds the number of the last walk that came by each node, and no walk has had this `number`.
    Gives where the positions end, or why there are none; a walk that had no room is begun again with another number.
    """
    stacked = 0
    ends = marks = False
    earliest = position
    for r in range(first, last):
        source = report_source[r]
        if source >= 0:
            node = slots[k, source]
            if node == NOTHING or not alive(nodes, seconds, node, low, low_second):
                continue
            if seen[node] != number:
                if stacked == len(pending):
                    return TOO_DEEP
                seen[node] = number
                pending[stacked] = node
                stacked += 1
        ends = True
        marks |= report_mark[r] != 0
    if not ends:
        return ENDS_NOTHING
    if marks:
        if place == len(marked):
            return NO_ROOM
        marked[place] = position
        place += 1
    while stacked > 0:
        stacked -= 1
        node = pending[stacked]
        event, child = nodes[node, EVENT], nodes[node, CHILD]
        if event >= 0:
            if child == NOTHING:
                earliest = min(earliest, event >> MARK_BITS)
            if event & MARK_MASK != 0:
                if place == len(marked):
                    return NO_ROOM
                marked[place] = event >> MARK_BITS
                place += 1
        if stacked + 3 > len(pending):
            return TOO_DEEP
        for part in (nodes[node, REST], own_list(nodes, node), child):
            if part != NOTHING and seen[part] != number and alive(nodes, seconds, part, low, low_second):
                seen[part] = number
                pending[stacked] = part
                stacked += 1
    starts[match] = earliest
    return place


@allocating
def put_in_order(marked: Any, begin: int, end: int) -> int:
    """Sorts the positions from `begin` up to `end` and leaves each once; gives where they end then."""
    part = marked[begin:end]
    part.sort()
    kept = begin
    for k in range(begin, end):
        if k == begin or marked[k] != marked[kept - 1]:
            marked[kept] = marked[k]
            kept += 1
    return kept
