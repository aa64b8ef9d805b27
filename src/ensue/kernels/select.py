"""NEXT, LAST and MAX of a whole query: the best supports among the complex events with the same end (section 5).

The candidates of an end are compared as they come out of the match structure, so the time is that of enumerating
them; memory is kept for those of one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from ensue.found import Found, Variables
from ensue.language import ast

_NEXT, _LAST, _MAX = 0, 1, 2
_ORDER = {ast.Selector.NEXT: _NEXT, ast.Selector.LAST: _LAST, ast.Selector.MAX: _MAX}


def select(found: Found, selector: ast.Selector, sets: Sequence[Variables], limit: int | None) -> Found:
    """Those that the selector keeps, projected onto the variables of `sets`, and at most `limit` for each end."""
    chosen = np.zeros(len(found), dtype=np.bool_)
    _choose(found.end, found.offset, found.position, _ORDER[selector], chosen)
    best = found.in_order(np.flatnonzero(chosen))
    return _limited(_projected(best, sets), limit)


def _projected(found: Found, sets: Sequence[Variables]) -> Found:
    """With only the marks of the variables in `sets`; complex events that are the same then are one."""
    if list(sets) == list(found.sets):
        return found
    kept = frozenset().union(*sets)
    seen: dict[Any, None] = {}
    for m in range(len(found)):
        inside = slice(found.offset[m], found.offset[m + 1])
        events = zip(found.position[inside].tolist(), found.mark[inside].tolist(), strict=True)
        marks = tuple((x, k) for k, number in events for x in sorted(found.sets[number] & kept))
        seen[(int(found.start[m]), int(found.end[m]), marks)] = None
    return Found.of(seen).numbered(sets)


def _limited(found: Found, limit: int | None) -> Found:
    if limit is None or not len(found):
        return found
    first = np.searchsorted(found.end, found.end)  # the first match with the same end
    return found.in_order(np.flatnonzero(np.arange(len(found)) - first < limit))


@njit(cache=True, nogil=True)
def _choose(end: Any, offset: Any, position: Any, order: int, chosen: Any) -> None:
    first = 0
    while first < len(end):
        last = first + 1
        while last < len(end) and end[last] == end[first]:
            last += 1
        if order == _MAX:
            for m in range(first, last):
                chosen[m] = True
                for other in range(first, last):
                    if _inside(offset, position, m, other):
                        chosen[m] = False
                        break
        else:
            best = first
            for m in range(first + 1, last):
                if _compare(offset, position, m, best, order) > 0:
                    best = m
            for m in range(first, last):
                chosen[m] = _compare(offset, position, m, best, order) == 0
        first = last


@njit(cache=True, nogil=True)
def _compare(offset: Any, position: Any, a: int, b: int, order: int) -> int:
    """1 where the support of `a` is the greater, -1 where that of `b` is, 0 where they are the same.

    The supports are read from their first event (NEXT) or from their last (LAST). At the first difference the better
    one has the event that comes first in that direction; where one ends, the other has more.
    """
    length_a, length_b = offset[a + 1] - offset[a], offset[b + 1] - offset[b]
    for i in range(min(length_a, length_b)):
        if order == _NEXT:
            x, y = position[offset[a] + i], position[offset[b] + i]
            if x != y:
                return 1 if x < y else -1
        else:
            x, y = position[offset[a + 1] - 1 - i], position[offset[b + 1] - 1 - i]
            if x != y:
                return 1 if x > y else -1
    if length_a == length_b:
        return 0
    return 1 if length_a > length_b else -1


@njit(cache=True, nogil=True)
def _inside(offset: Any, position: Any, a: int, b: int) -> bool:
    """Whether the support of `a` is a proper part of that of `b`."""
    if offset[a + 1] - offset[a] >= offset[b + 1] - offset[b]:
        return False
    j = offset[b]
    for i in range(offset[a], offset[a + 1]):
        while j < offset[b + 1] and position[j] < position[i]:
            j += 1
        if j == offset[b + 1] or position[j] != position[i]:
            return False
        j += 1
    return True
