"""What `two_stacks.py` keeps of all partitions: vectors and events in pools, which are taken and given back."""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.jit import at, inlined, inner
from ensue.kernels.lane_values import Cells, Weights, clear
from ensue.kernels.stepping import MATCHES

NOTHING = -1
# The row of a partition: its vector of own runs, the first vector on the front, the last event kept, how many of them
# start runs, the stamps of the first of these and of the last of all, the slots at mid, the slots now, and the vectors
# of the product.
OWN, FRONT, BACK, STARTS, FIRST, FIRST_SECOND, LAST, LAST_SECOND, MID, NOW, PRODUCT = range(11)
# The pools: which item is free first, how many were ever used, and how many are free again.
FREE, USED, AGAIN = range(3)
# Scratch vectors, by number: one whose first cell is the unit, one for what is added up, one for new own runs, and then
# two sets of one for each slot.
UNITS, SUM, NEW_OWN, SETS = range(4)


def scratch_vectors(width: int) -> int:
    """How many vectors are no partition's."""
    return SETS + 2 * width


class Stacks(NamedTuple):
    """All partitions, with vectors and events in pools."""

    configuration: Any  # int32[partitions]
    count: Any  # int64[partitions]
    epoch: Any  # int64[partitions]
    row: Any  # int64[partitions, PRODUCT + width]
    cells: Cells  # `width` of them are a vector
    width: int
    link: Any  # int64[vectors]: the next on the front, or the next that is free
    stamp: Any  # int64[vectors, 2]
    vectors: Any  # int64[3]
    scratch: Any  # int64[scratch vectors]
    event: Any  # int64[events, 5]: the one before, program, both stamps, whether it starts runs
    kept: Weights  # of these events
    events: Any  # int64[3]


class Ends(NamedTuple):
    """What ends, a cell for each."""

    position: Any  # int64[n]
    cells: Cells


@inner
def write_end(ends: Ends, progress: Any, position: int, cells: Cells, cell: int) -> None:
    """Writes what ends at a position, and the cell of that."""
    n = progress[MATCHES]
    ends.position[at(n)] = position
    for c in range(cells.whole.shape[1]):
        ends.cells.whole[at(n), at(c)] = cells.whole[at(cell), at(c)]
    for c in range(cells.size.shape[1]):
        ends.cells.size[at(n), at(c)] = cells.size[at(cell), at(c)]
    progress[MATCHES] = n + 1


@inlined
def take(pool: Any, link: Any) -> int:
    """An item that is free; there is one."""
    found: int = pool[FREE]
    if found == NOTHING:
        found = pool[USED]
        pool[USED] = found + 1
    else:
        pool[FREE] = link[at(found)]
        pool[AGAIN] -= 1
    return found


@inlined
def give_back(pool: Any, link: Any, item: int) -> None:
    link[at(item)] = pool[FREE]
    pool[FREE] = item
    pool[AGAIN] += 1


@inner
def new_vector(stacks: Stacks) -> int:
    found: int = take(stacks.vectors, stacks.link)
    for s in range(stacks.width):
        clear(stacks.cells, found * stacks.width + s)
    return found


@inner
def drop(stacks: Stacks, k: int) -> None:
    """No run is open."""
    row = stacks.row
    if row[at(k), OWN] != NOTHING:
        give_back(stacks.vectors, stacks.link, row[at(k), OWN])
    row[at(k), OWN] = NOTHING
    front = row[at(k), FRONT]
    while front != NOTHING:
        after = stacks.link[at(front)]
        give_back(stacks.vectors, stacks.link, front)
        front = after
    row[at(k), FRONT] = NOTHING
    drop_product(stacks, k)
    e = row[at(k), BACK]
    while e != NOTHING:
        before = stacks.event[at(e), 0]
        stacks.event[at(e), 0] = stacks.events[FREE]
        stacks.events[FREE] = e
        stacks.events[AGAIN] += 1
        e = before
    row[at(k), BACK] = NOTHING
    row[at(k), STARTS] = row[at(k), NOW] = 0
    stacks.configuration[at(k)] = 0


@inner
def drop_product(stacks: Stacks, k: int) -> None:
    for s in range(stacks.width):
        vector = stacks.row[at(k), at(PRODUCT + s)]
        if vector != NOTHING:
            give_back(stacks.vectors, stacks.link, vector)
            stacks.row[at(k), at(PRODUCT + s)] = NOTHING
    stacks.row[at(k), MID] = 0
