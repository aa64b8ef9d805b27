"""Windows of a fixed number of events, as `ANY:{100}`: a ring of where windows may start, instead of a state an event.

Of each partition, a row of the slots holds the positions of its last events, NOTHING for those where no window starts,
and behind them two numbers, each less by one so that NOTHING says 0: how many events in a row there are, up to the last
one, that can be in one window, and the place in the ring that is written next.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import NOTHING
from ensue.kernels.jit import at, kernel
from ensue.kernels.stepping import CONSUME_NONE, Batch, Rules

#: What the class of an event says: a window may start with it, and it may be in one behind another event.
BEGINS, FOLLOWS = 1, 2
#: How many numbers are behind the ring.
BEHIND = 2


@kernel
def find_counted(batch: Batch, rules: Rules, slots: Any, count: int, says: Any, start: Any, end: Any) -> int:
    """Writes the windows of `count` events that end in the batch, and says how many there are."""
    found = 0
    together, place = count, count + 1
    for row in range(len(batch.classes)):
        k = batch.partitions[at(row)] if rules.keyed else 0
        if k & rules.share_mask != rules.share:
            continue
        said = says[at(batch.classes[at(row)])]
        in_a_row = slots[at(k), at(together)] + 1
        in_a_row = min(in_a_row + 1, count) if said & FOLLOWS else 1
        here = slots[at(k), at(place)] + 1
        position = batch.base + row
        slots[at(k), at(here)] = position if said & BEGINS else NOTHING
        here = here + 1 if here + 1 < count else 0
        slots[at(k), at(place)] = here - 1
        first = slots[at(k), at(here)]
        if in_a_row == count and first != NOTHING and position >= batch.report_from:
            start[at(found)], end[at(found)] = first, position
            found += 1
            if rules.consume != CONSUME_NONE:
                in_a_row = 0
        slots[at(k), at(together)] = in_a_row - 1
    return found


@kernel
def open_begins(slots: Any, count: int, found: Any) -> int:
    """Writes the positions where windows began that are open, and says how many there are."""
    written = 0
    for k in range(len(slots)):
        in_a_row, here = slots[k, count] + 1, slots[k, count + 1] + 1
        for back in range(1, min(in_a_row, count - 1) + 1):
            position = slots[k, (here - back) % count]
            if position != NOTHING:
                found[written] = position
                written += 1
    return written
