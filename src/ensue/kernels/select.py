"""The choice that a selector leaves for the end of a match: among the best of each start, those to report.

The automaton has ruled out what is beaten by a run with the same start or a later one. What is left are candidates of
different starts, of which the window or consumption has taken the early ones away. NEXT and LAST compare each with the
best so far before it is written; MAX compares them where they were written, right after the last of an end. So the
output never holds more than the candidates of one end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.arena import MARK_BITS, MARK_MASK
from ensue.kernels.jit import allocating, inlined, inner
from ensue.kernels.stepping import Output
from ensue.language import ast

#: The selectors of a query; with ALL no choice is left.
CHOOSE_ALL, CHOOSE_NEXT, CHOOSE_LAST, CHOOSE_MAX = 0, 1, 2, 3
CHOOSE = {
    None: CHOOSE_ALL,
    ast.Selector.NEXT: CHOOSE_NEXT,
    ast.Selector.LAST: CHOOSE_LAST,
    ast.Selector.MAX: CHOOSE_MAX,
}

_FREE = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Choice(NamedTuple):
    """What a selector has left to choose among the matches of an end."""

    selector: int
    largest: Any  # True for MAX, which compares all matches of an end with each other, else None
    hidden: int  # the mark of events that only this choice looks at
    limit: int  # at most how many matches of an end are reported, 0 for all


@inner
def compare(path: Any, depth: int, position: Any, begin: int, end: int, choose: int) -> int:
    """1 where the support on the path is greater than the one from `begin` to `end`, -1 where it is less, else 0.

    The path runs from the last event to the first. At the first difference, read from the first event (NEXT) or from
    the last (LAST), the greater one has the event that comes first in that direction; where one ends, the other is
    the greater.
    """
    forward = choose == CHOOSE_NEXT
    other = begin if forward else end - 1
    for k in range(depth + 1):
        event = path[depth - k if forward else k]
        if event & MARK_MASK == 0:
            continue
        if other < begin or other == end:
            return 1
        difference = position[other] - (event >> MARK_BITS)
        if difference != 0:
            return 1 if (difference > 0) == forward else -1
        other += 1 if forward else -1
    return 0 if other < begin or other == end else -1


@allocating
def keep_best(output: Output, first: int, last: int, choice: Choice, largest: Any) -> int:
    """Keeps what is to be reported of the matches from `first` up to `last`, which are all of one end.

    Events with the mark `hidden` were only there to be compared: they are left out, and matches that are the same then
    are one. Gives where the kept ones end. `largest` is that of the choice: as an argument, the compiler can leave out
    what it is not needed for.
    """
    offset, position, mark = output.offset, output.position, output.mark
    chosen = np.empty(last - first, dtype=np.bool_)
    chosen[:] = True
    if largest is not None:
        _choose_largest(offset, position, first, chosen)
    # Only MAX keeps several supports, of which two can become the same. The table has what is left of those kept.
    table = _new_table(last - first if largest is not None and choice.hidden > 0 else 0)
    kept, begin = first, offset[first]
    for m in range(first, last):
        stop = offset[m + 1]  # read before a kept match, which moves to the front, can overwrite it
        if chosen[m - first]:
            place = offset[kept]
            for k in range(begin, stop):
                if mark[k] != choice.hidden:
                    position[place], mark[place] = position[k], mark[k]
                    place += 1
            output.start[kept], output.end[kept], offset[kept + 1] = output.start[m], output.end[m], place
            if _is_another(output, kept, table, largest):
                kept += 1
                if kept - first == choice.limit:
                    break
        begin = stop
    return kept


@inlined
def _is_another(output: Output, kept: int, table: Any, largest: Any) -> bool:
    """Whether no match that was kept before is the same."""
    if largest is None:
        return True
    return len(table) == 0 or _is_new(output, kept, table)


@allocating
def _new_table(matches: int) -> Any:
    """An empty table for so many matches; without a place where there are none."""
    size = 1 if matches > 0 else 0
    while size < 2 * matches:
        size *= 2
    table = np.empty(size, dtype=np.int64)
    table[:] = _FREE
    return table


@allocating
def find_best(end: Any, offset: Any, position: Any, choose: int, best: Any) -> None:
    """Says of each match whether it is to be reported; those of an end follow each other."""
    first = 0
    while first < len(end):
        last = first + 1
        while last < len(end) and end[last] == end[first]:
            last += 1
        best[first:last] = True
        if choose == CHOOSE_MAX:
            _choose_largest(offset, position, first, best[first:last])
        else:
            top = first
            for m in range(first + 1, last):
                order = _order(offset, position, m, top, choose == CHOOSE_NEXT)
                if order > 0:
                    best[top:m] = False  # and with it all that were as good
                    top = m
                best[m] = order >= 0
        first = last


@inner
def _order(offset: Any, position: Any, a: int, b: int, forward: bool) -> int:
    """As `compare`, of two matches that are written."""
    count_a, count_b = offset[a + 1] - offset[a], offset[b + 1] - offset[b]
    for k in range(min(count_a, count_b)):
        if forward:
            difference = position[offset[b] + k] - position[offset[a] + k]
        else:
            difference = position[offset[a + 1] - 1 - k] - position[offset[b + 1] - 1 - k]
        if difference != 0:
            return 1 if difference > 0 else -1
    return int(count_a > count_b) - int(count_a < count_b)


@allocating
def find_distinct(output: Output, first: Any) -> None:
    """Says of each match whether no earlier one is the same."""
    table = _new_table(len(output.start))
    for m in range(len(output.start)):
        first[m] = _is_new(output, m, table)


@inner
def _is_new(output: Output, m: int, table: Any) -> bool:
    """Whether match `m` is none of those in the table; then it is put there."""
    start, end, offset, position, mark = output.start, output.end, output.offset, output.position, output.mark
    length = offset[m + 1] - offset[m]
    number = np.uint64(start[m]) ^ np.uint64(end[m]) * _MIX
    for k in range(offset[m], offset[m + 1]):
        number = (number ^ np.uint64(position[k] << 16 | mark[k])) * _MIX
        number ^= number >> np.uint64(29)
    slot = number & np.uint64(len(table) - 1)
    while table[slot] != _FREE:
        other = table[slot]
        same = start[other] == start[m] and end[other] == end[m] and offset[other + 1] - offset[other] == length
        k = 0
        while same and k < length:
            a, b = offset[m] + k, offset[other] + k
            same = position[a] == position[b] and mark[a] == mark[b]
            k += 1
        if same:
            return False
        slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
    table[slot] = m
    return True


@allocating
def _choose_largest(offset: Any, position: Any, first: int, chosen: Any) -> None:
    """MAX chooses what is in no other's support. If a match is in another's, it is in that of a longer, chosen one."""
    count = len(chosen)
    longest = 0
    for m in range(count):
        longest = max(longest, offset[first + m + 1] - offset[first + m])
    # The matches in the order of their lengths, the longest first; `end` says where those of each length end.
    order, end = np.empty(count, dtype=np.int64), np.empty(longest + 2, dtype=np.int64)
    _sort_by_length(offset, first, order, end)
    for i in range(end[longest], count):
        m = order[i]
        length = offset[first + m + 1] - offset[first + m]
        for k in range(end[length + 1]):
            other = order[k]
            if chosen[other] and _inside(offset, position, first + m, first + other):
                chosen[m] = False
                break


@inner
def _sort_by_length(offset: Any, first: int, order: Any, end: Any) -> None:
    """Puts the numbers of matches into order, the longest first, and into `end` where those of each length end."""
    for n in range(len(end)):
        end[n] = 0
    for m in range(len(order)):
        end[offset[first + m + 1] - offset[first + m]] += 1
    before = 0
    for n in range(len(end) - 1, -1, -1):
        count = end[n]
        end[n] = before  # where those of the length begin, for now
        before += count
    for m in range(len(order)):
        n = offset[first + m + 1] - offset[first + m]
        order[end[n]] = m
        end[n] += 1


@inner
def _inside(offset: Any, position: Any, a: int, b: int) -> bool:
    """Whether the support of `a` is a part of that of `b`."""
    j = offset[b]
    for i in range(offset[a], offset[a + 1]):
        while j < offset[b + 1] and position[j] < position[i]:
            j += 1
        if j == offset[b + 1] or position[j] != position[i]:
            return False
        j += 1
    return True
