"""After a selector of a whole query: MAX itself, then the projection onto the items' variables, then LIMIT.

NEXT and LAST come here chosen already (`choose`). MAX compares the complex events of an end with each other as they are
written out, so its time is that of enumerating them; memory is kept for those of one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from ensue.found import Found, Variables
from ensue.language import ast
from ensue.plan import Plan


def select(found: Found, plan: Plan) -> Found:
    """What the query reports of the complex events that the evaluator wrote."""
    if plan.selector is ast.Selector.MAX:
        chosen = np.zeros(len(found), dtype=np.bool_)
        _choose_largest(found.end, found.offset, found.position, chosen)
        found = found.in_order(np.flatnonzero(chosen))
    return _limited(_projected(found, plan.reported_marks), plan.query.limit)


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
def _choose_largest(end: Any, offset: Any, position: Any, chosen: Any) -> None:
    """Those whose support is in no other's support with the same end."""
    first = 0
    while first < len(end):
        last = first + 1
        while last < len(end) and end[last] == end[first]:
            last += 1
        for m in range(first, last):
            chosen[m] = True
            for other in range(first, last):
                if _inside(offset, position, m, other):
                    chosen[m] = False
                    break
        first = last


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
