"""NEXT and LAST of a whole query: the best support among the complex events that end at an event.

Both orders compare supports at their first difference, read from the first event (NEXT) or from the last (LAST), and a
common continuation does not change how two of them compare. So the best complex event of a list of nodes is the best
of its cells, each continued by the best of its child (Grez, chapter 8, keeps one such match for each state; a window
that moves on asks for the next best, so here it is found among the nodes that the window holds). The time is that of
the open partial matches, not of the complex events that they make up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ensue.kernels.arena import CHILD, EVENT, GROUP, MARK_BITS, MARK_MASK, NOTHING, REST, alive
from ensue.kernels.jit import allocating

# The selectors of a query; MAX is chosen among all complex events, once they are written out.
CHOOSE_ALL, CHOOSE_NEXT, CHOOSE_LAST = 0, 1, 2

# The words of `Choice.state`.
LENGTH, VISIT, COUNT, WORDS = 0, 1, 2, 3


class Choice(NamedTuple):
    """Room to find the best support in, as large as the match structure."""

    support: Any  # int64[]: the best support, from its last event to its first
    other: Any  # int64[]: one to compare it with
    best: Any  # int64[nodes]: the cell that begins the best complex event of a list
    seen: Any  # int64[nodes]: the visit in which a node was last reached
    fit: Any  # int64[nodes]: the visit in which a cell was last found to begin a complex event of the best support
    order: Any  # int64[nodes]: the nodes to work on
    state: Any  # int64[WORDS]


def new_choice(nodes: int) -> Choice:
    room = nodes + 2
    support, other, best, order = (np.empty(room, dtype=np.int64) for _ in range(4))
    seen, fit = (np.zeros(room, dtype=np.int64) for _ in range(2))
    return Choice(support, other, best, seen, fit, order, np.zeros(WORDS, dtype=np.int64))


@allocating
def find_best(
    nodes: Any,
    seconds: Any,
    slots: Any,
    sources: Any,
    marks: Any,
    position: int,
    low: int,
    low_second: int,
    wanted: int,
    choice: Choice,
) -> None:
    """Puts the best support among the reports of an event into `choice.support`."""
    support, other, best, state = choice.support, choice.other, choice.best, choice.state
    _work_out(nodes, seconds, slots, sources, low, low_second, wanted, choice)
    length = NOTHING
    for r in range(len(sources)):
        source = sources[r]
        cell = NOTHING
        if source >= 0:
            head = slots[source]
            if head == NOTHING or not alive(nodes, seconds, head, low, low_second):
                continue
            cell = best[head]
        count = 0
        if marks[r] != 0:
            other[0] = position
            count = 1
        count = _path(nodes, best, cell, other, count)
        if length == NOTHING or _compare(other, count, support, length, wanted) > 0:
            support[:count] = other[:count]
            length = count
    state[LENGTH] = length
    _find_fitting(nodes, seconds, low, low_second, choice)


@njit(cache=True, nogil=True)
def _find_fitting(nodes: Any, seconds: Any, low: int, low_second: int, choice: Choice) -> None:
    """Which cells begin a complex event with the rest of the best support: no others need be tried."""
    support, fit, order, state = choice.support, choice.fit, choice.order, choice.state
    length, visit = state[LENGTH], state[VISIT]
    for node in order[: state[COUNT]]:
        event = nodes[node, EVENT]
        if event == GROUP or event & MARK_MASK == 0:
            continue
        place = _place(support, length, event >> MARK_BITS)
        if place == NOTHING:
            continue
        child = nodes[node, CHILD]
        if child == NOTHING:
            if place + 1 == length:
                fit[node] = visit
        elif _has_fitting(nodes, seconds, low, low_second, support, length, fit, visit, child, place + 1):
            fit[node] = visit


@njit(cache=True, nogil=True)
def _place(support: Any, length: int, position: int) -> int:
    """Where the position stands in the support, which runs downwards."""
    first, last = 0, length
    while first < last:
        middle = (first + last) // 2
        if support[middle] > position:
            first = middle + 1
        else:
            last = middle
    return first if first < length and support[first] == position else NOTHING


@njit(cache=True, nogil=True)
def _has_fitting(
    nodes: Any,
    seconds: Any,
    low: int,
    low_second: int,
    support: Any,
    length: int,
    fit: Any,
    visit: int,
    head: int,
    place: int,
) -> bool:
    """Whether a list has a cell that goes on with the support from `place` on."""
    waiting = [head]
    while len(waiting) > 0:
        node = waiting.pop()
        rest = nodes[node, REST]
        if rest != NOTHING and alive(nodes, seconds, rest, low, low_second):
            waiting.append(rest)
        event = nodes[node, EVENT]
        if event == GROUP:
            waiting.append(nodes[node, CHILD])
        elif event & MARK_MASK == 0:
            if place == length:
                return True
        elif place < length and support[place] == event >> MARK_BITS and fit[node] == visit:
            return True
    return False


@njit(cache=True, nogil=True)
def _work_out(
    nodes: Any,
    seconds: Any,
    slots: Any,
    sources: Any,
    low: int,
    low_second: int,
    wanted: int,
    choice: Choice,
) -> None:
    """The best cell of every list that the reports reach: parts before wholes, as nodes are numbered."""
    support, other, best, seen, order = choice.support, choice.other, choice.best, choice.seen, choice.order
    choice.state[VISIT] += 1
    epoch = choice.state[VISIT]
    count = 0
    for source in sources:
        if source >= 0:
            node = slots[source]
            if node != NOTHING and alive(nodes, seconds, node, low, low_second) and seen[node] != epoch:
                seen[node] = epoch
                order[count] = node
                count += 1
    done = 0
    while done < count:
        node = order[done]
        done += 1
        for part in (nodes[node, CHILD], nodes[node, REST]):
            if part != NOTHING and seen[part] != epoch and alive(nodes, seconds, part, low, low_second):
                seen[part] = epoch
                order[count] = part
                count += 1
    order[:count] = np.sort(order[:count])
    choice.state[COUNT] = count
    for node in order[:count]:
        first = best[nodes[node, CHILD]] if nodes[node, EVENT] == GROUP else node
        rest = nodes[node, REST]
        if rest != NOTHING and alive(nodes, seconds, rest, low, low_second):
            second = best[rest]
            a = _path(nodes, best, first, support, 0)
            b = _path(nodes, best, second, other, 0)
            if _compare(other, b, support, a, wanted) > 0:
                first = second
        best[node] = first


@njit(cache=True, nogil=True)
def _path(nodes: Any, best: Any, cell: int, into: Any, count: int) -> int:
    """Adds the marked events of the best complex event that begins with the cell, the last one first."""
    while cell != NOTHING:
        event = nodes[cell, EVENT]
        if event & MARK_MASK != 0:
            into[count] = event >> MARK_BITS
            count += 1
        child = nodes[cell, CHILD]
        cell = NOTHING if child == NOTHING else best[child]
    return count


@njit(cache=True, nogil=True)
def _compare(a: Any, length_a: int, b: Any, length_b: int, wanted: int) -> int:
    """1 where the support `a` is the greater, -1 where `b` is, 0 where they are the same.

    At the first difference the better one has the event that comes first in the direction of reading; where one ends,
    the other has more.
    """
    for i in range(min(length_a, length_b)):
        if wanted == CHOOSE_NEXT:
            x, y = a[length_a - 1 - i], b[length_b - 1 - i]
            if x != y:
                return 1 if x < y else -1
        elif a[i] != b[i]:
            return 1 if a[i] > b[i] else -1
    if length_a == length_b:
        return 0
    return 1 if length_a > length_b else -1
