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

from ensue.kernels.arena import CHILD, EVENT, NOTHING, REST, STAMP, USED, Arena, renumber
from ensue.kernels.jit import at, inlined, inner, kernel

LINK = -1
LAST = -2
#: When a clock was reset that does not run, so that every check of it holds; and the bound where there was no check.
STOPPED = np.iinfo(np.int64).max
NO_CHECK = np.iinfo(np.int64).min
#: The most entries of a list that are told apart; beyond, the answer is the same and only the delay grows.
MOST_ENTRIES = 32
#: The most nodes that one move can add: a cell or a checked list, and a union.
NODES_A_MOVE = 2 * MOST_ENTRIES + 4


@inlined
def reset_in(child: int) -> int:
    """How a child is written whose runs have their clock reset; the same way back."""
    return -2 - child


@inlined
def _new(arena: Arena, child: int, rest: int, stamp: int, event: int, bound: int, resets: bool) -> int:
    node: int = arena.used[USED]
    arena.used[USED] = node + 1
    arena.node[at(node), CHILD] = reset_in(child) if resets else child
    arena.node[at(node), REST] = rest
    arena.node[at(node), STAMP] = stamp
    arena.node[at(node), EVENT] = event
    arena.second[at(node)] = bound
    return node


@inlined
def new_start(arena: Arena, event: int, stamp: int) -> int:
    """A run that starts at the event."""
    node: int = _new(arena, NOTHING, NOTHING, stamp, event, NO_CHECK, False)
    return node


@inlined
def new_cell(arena: Arena, child: int, event: int, bound: int, resets: bool, stamp: int) -> int:
    """Extends the complex events of `child` that pass the bound with the event; there must be some."""
    node: int = _new(arena, child, NOTHING, stamp, event, bound, resets)
    return node


@inlined
def _is_one(arena: Arena, node: int) -> bool:
    """Whether the node, with all that is behind it, can only be taken as a whole: as one entry of a list."""
    event: int = arena.node[at(node), EVENT]
    return bool(event >= 0 or (event == LAST and arena.node[at(node), REST] != NOTHING))


@inner
def _gated(arena: Arena, entry: int, bound: int, resets: bool, now: int, rest: int) -> int:
    """An entry of a list whose runs must pass the bound, as a link; -2 - node stands for a node that is taken whole.

    Two gates one after the other are one: what was reset in the inner one has passed the outer one altogether.
    """
    nodes, bounds = arena.node, arena.second
    if entry < 0:
        left, inner, had_reset, stamp = reset_in(entry), NO_CHECK, False, nodes[reset_in(entry), STAMP]
    else:
        left, inner, stamp = nodes[entry, CHILD], bounds[entry], nodes[entry, STAMP]
        had_reset = left < NOTHING
        left = reset_in(left) if had_reset else left
    if not had_reset:
        inner = max(inner, bound)
    node: int = _new(arena, left, rest, now if resets else stamp, LINK, inner, had_reset or resets)
    return node


@inner
def passed(arena: Arena, list_: int, bound: int, resets: bool, now: int) -> int:
    """The runs of a list that pass the bound; there must be some. With `resets`, their clock is reset now."""
    nodes, entries = arena.node, arena.groups
    count, node = 0, list_
    while node != NOTHING and nodes[node, STAMP] >= bound:
        first_of_two = count == 0 and nodes[node, EVENT] == LAST
        if (_is_one(arena, node) and not first_of_two) or count == MOST_ENTRIES - 1:
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
            made = _gated(arena, entries[k], bound, True, now, made)
            nodes[made, EVENT] = LAST
        count = 1
    for k in range(count - 1, -1, -1):
        made = _gated(arena, entries[k], bound, resets, now, made)
    return made


@inlined
def _may_precede(arena: Arena, node: int, rest: int, fresh: int) -> bool:
    """Whether `rest` may be put behind the node itself: it was made at this event and nothing points to it yet."""
    return bool(node >= fresh and arena.node[at(node), REST] == NOTHING and rest < node)


@inlined
def _put_behind(arena: Arena, node: int, rest: int) -> None:
    arena.node[at(node), REST] = rest
    if arena.node[at(node), EVENT] < 0:
        arena.node[at(node), EVENT] = LAST


@inner
def join(arena: Arena, a: int, b: int, fresh: int) -> int:
    """The union of two disjoint lists; what was made at this event has a number from `fresh` on."""
    nodes, entries = arena.node, arena.groups
    x, y = nodes[a, STAMP], nodes[b, STAMP]
    if y > x or (y == x and _may_precede(arena, b, a, fresh)):
        a, b = b, a
    if _may_precede(arena, a, b, fresh):
        _put_behind(arena, a, b)
        return a
    # The entries of `a` that are later than all of `b`, which becomes one entry with all that is not.
    stamp = nodes[b, STAMP]
    count, node = 0, a
    while node != NOTHING and (count == 0 or nodes[node, STAMP] > stamp):
        first_of_two = count == 0 and nodes[node, EVENT] == LAST
        if (_is_one(arena, node) and not first_of_two) or count == MOST_ENTRIES - 1:
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
    if _may_precede(arena, b, node, fresh):
        _put_behind(arena, b, node)
    elif node != NOTHING or (nodes[b, EVENT] == LINK and nodes[b, REST] != NOTHING):
        b = _new(arena, b, node, stamp, LAST, NO_CHECK, False)
    for k in range(count - 1, -1, -1):
        b = _gated(arena, entries[k], NO_CHECK, False, 0, b)
    return b


@kernel
def collect(arena: Arena, slots: Any, low: Any, asked: Any, place: Any) -> None:
    """Keeps the nodes that the slots reach, in their order, and renumbers the slots.

    `low[k, s]` is the earliest reset of a run in slot `s` of row `k` that may still become a match. For each node
    `asked` is STOPPED and `place` is NOTHING; afterwards `place` says where each kept node has gone.
    """
    for k in range(slots.shape[0]):
        for s in range(slots.shape[1]):
            node = slots[k, s]
            if node != NOTHING and arena.node[node, STAMP] >= low[k, s]:
                _note(asked, place, node, low[k, s])
            else:
                slots[k, s] = NOTHING
    _reach(arena, asked, place)
    _close_ranks(arena, place)
    renumber(slots, place)


@inlined
def _note(asked: Any, place: Any, node: int, low: int) -> None:
    """Notes that the node is reached, and that its runs count whose clock was reset at `low` or later."""
    asked[node] = min(asked[node], low)
    place[node] = 0


@inner
def _reach(arena: Arena, asked: Any, place: Any) -> None:
    """Says of each node whether it is reached and the earliest reset that counts; cuts off what is too early."""
    nodes, bounds = arena.node, arena.second
    for node in range(arena.used[USED] - 1, -1, -1):
        if place[node] == NOTHING:
            continue
        rest, child = nodes[node, REST], nodes[node, CHILD]
        if rest != NOTHING:
            if nodes[rest, STAMP] >= asked[node]:
                _note(asked, place, rest, asked[node])
            else:
                nodes[node, REST] = NOTHING
        if child != NOTHING:
            below = max(asked[node], bounds[node])
            if child < NOTHING:
                child, below = reset_in(child), bounds[node]
            _note(asked, place, child, below)


@inner
def _close_ranks(arena: Arena, place: Any) -> None:
    """Moves the nodes that are reached to the front; `place` says of each where it has gone."""
    nodes, bounds = arena.node, arena.second
    kept = 0
    for node in range(arena.used[USED]):
        if place[node] == NOTHING:
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
    arena.used[USED] = kept
