"""The earliest start inside the window, found without visiting the later ones.

NEXT prefers, of the matches of an end, those that start first. A list of the match structure has the later starts in
front, so what counts is at its far side, next to what the window has left behind. So each node gets a *rung*:

    first, last    the earliest and the latest start in the list from this node on
    rung           a node further down the list: any one of it is a logarithm of rungs and single steps away
    passed         the earliest start among the elements from this node up to the rung, which it passes over
    height         how many nodes follow it
    first node     one that the earliest runs began with

A start is the position of the event that a run began with: several nodes may stand for it, one for each way to mark it,
and copies. The rungs are those of a skew-binary random access list (Myers): after two equal jumps comes one over both.
They are made when a match ends, for the nodes added since, so that an event still costs constant time. A list is nearly
in order: where its elements do not overlap at all, the search takes a logarithm, and otherwise it looks at those on the
border of the window besides.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import CHILD, EVENT, MARK_BITS, NOTHING, REST, Arena, Window, alive
from ensue.kernels.jit import inner

FIRST, LAST, RUNG, PASSED, HEIGHT, FIRST_NODE = 0, 1, 2, 3, 4, 5
#: The columns of a ladder, which has a row for each node.
WIDTH = 6
#: What `earliest_start` gives where its stack is too short.
TOO_DEEP = -2


@inner
def add_rungs(nodes: Any, ladder: Any, begin: int, end: int) -> None:
    """Gives the nodes from `begin` up to `end` their rungs; what they lead to has smaller numbers."""
    for node in range(begin, end):
        child, rest = nodes[node, CHILD], nodes[node, REST]
        own = nodes[node, EVENT] >> MARK_BITS
        first, last = (own, own) if child == NOTHING else (ladder[child, FIRST], ladder[child, LAST])
        first_node = node if child == NOTHING else ladder[child, FIRST_NODE]
        passed, rung, height = first, NOTHING, 0
        if rest != NOTHING:
            rung, height = rest, ladder[rest, HEIGHT] + 1
            jump = ladder[rest, RUNG]
            if jump != NOTHING and ladder[jump, RUNG] != NOTHING:
                beyond = ladder[jump, RUNG]
                if ladder[rest, HEIGHT] - ladder[jump, HEIGHT] == ladder[jump, HEIGHT] - ladder[beyond, HEIGHT]:
                    rung = beyond
                    passed = min(passed, ladder[rest, PASSED], ladder[jump, PASSED])
            if ladder[rest, FIRST] < first:
                first_node = ladder[rest, FIRST_NODE]
            first, last = min(first, ladder[rest, FIRST]), max(last, ladder[rest, LAST])
        ladder[node, FIRST], ladder[node, LAST], ladder[node, FIRST_NODE] = first, last, first_node
        ladder[node, RUNG], ladder[node, PASSED], ladder[node, HEIGHT] = rung, passed, height


@inner
def earliest_start(arena: Arena, ladder: Any, list_: int, best: int, window: Window, pending: Any) -> int:
    """The earliest start inside the window in the list, or `best` if that is earlier; NOTHING stands for none.

    The stack `pending` is free.
    """
    nodes = arena.node
    pending[0] = list_
    stacked = 1
    while stacked > 0:
        stacked -= 1
        node = pending[stacked]
        if node == NOTHING or not alive(arena, node, window):
            continue
        bound = _latest(nodes, ladder, _last_alive(arena, ladder, node, window))
        best = bound if best == NOTHING else min(best, bound)
        while node != NOTHING and alive(arena, node, window):
            if ladder[node, PASSED] > best:
                node = ladder[node, RUNG]
                continue
            child = nodes[node, CHILD]
            first = nodes[node, EVENT] >> MARK_BITS if child == NOTHING else ladder[child, FIRST]
            first_node = node if child == NOTHING else ladder[child, FIRST_NODE]
            if first <= best:
                if alive(arena, first_node, window):
                    best = first
                elif child != NOTHING:
                    if stacked == len(pending):
                        return TOO_DEEP
                    pending[stacked] = child
                    stacked += 1
            node = nodes[node, REST]
    return best


@inner
def with_start(nodes: Any, ladder: Any, node: int, start: int) -> int:
    """From a node on, the first one of its list whose element has runs with this start; NOTHING where none has."""
    while node != NOTHING and ladder[node, LAST] >= start:
        if ladder[node, PASSED] > start:
            node = ladder[node, RUNG]
            continue
        child = nodes[node, CHILD]
        if child == NOTHING:
            if nodes[node, EVENT] >> MARK_BITS == start:
                return node
        elif ladder[child, FIRST] <= start <= ladder[child, LAST]:
            return node
        node = nodes[node, REST]
    return NOTHING


@inner
def _last_alive(arena: Arena, ladder: Any, node: int, window: Window) -> int:
    """From a node that is alive, the last one of its list that is."""
    nodes = arena.node
    while nodes[node, REST] != NOTHING:
        if alive(arena, ladder[node, RUNG], window):
            node = ladder[node, RUNG]
        elif alive(arena, nodes[node, REST], window):
            node = nodes[node, REST]
        else:
            break
    return node


@inner
def _latest(nodes: Any, ladder: Any, node: int) -> int:
    """The latest start of a node's own element."""
    child = nodes[node, CHILD]
    latest: int = nodes[node, EVENT] >> MARK_BITS if child == NOTHING else ladder[child, LAST]
    return latest
