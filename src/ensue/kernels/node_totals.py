"""What the matches that end at an event come to, from the nodes that they share, each visited once.

The matches of an end are the paths through the nodes of the match structure. So the element of a node, as in
`lane_values.py`, follows from those of its parts: a cell extends what it leads to with its event, and lists, groups and
trees add up. That holds for runs with registers too, which no matrix moves, as long as no match has two paths. What a
window has left behind is in no sum, so elements are made anew at each end; without a window they stay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.arena import CHILD, EVENT, MARK_BITS, MARK_MASK, NOTHING, REST, Arena, Window, alive, own_list
from ensue.kernels.jit import at, inlined, inner, kernel
from ensue.kernels.lane_values import Cells, Lanes, Step, Weights, add, add_extended, clear, set_unit
from ensue.kernels.stack_pools import Ends, write_end
from ensue.kernels.stepping import (
    CURSOR,
    DONE,
    MARK,
    MATCHES,
    NEEDS_OUTPUT,
    NEEDS_STACK,
    NO_BOUND,
    REPORTED,
    SOURCE,
    End,
    State,
)

#: Behind the cells of the nodes: a run without an event, and what is added up at an end.
SPARE_CELLS = 2


class Folds(NamedTuple):
    """What nodes come to, and what their events weigh."""

    cells: Cells  # of each node, and SPARE_CELLS more
    seen: Any  # int64[nodes]: the end for which a node's cell was made; less than NOTHING while it is
    row: Any  # int64[nodes]: the row of its event in the weights, NOTHING where it was not looked up
    lanes: Lanes
    weights: Weights  # of the events of earlier batches that runs have, and of this batch
    position: Any  # int64[events]: of these events
    first: int  # the row of the first event of the batch
    ends: Ends


@kernel
def begin_cells(cells: Cells, lanes: Lanes) -> None:
    """Makes the cell of a run without an event, which is behind those of the nodes."""
    set_unit(cells, len(cells.whole) - SPARE_CELLS, lanes)


@inner
def write_totals(state: State, end: End, window: Window, folds: Folds) -> int:
    """Writes what all complex events that end here come to; begun again from the first where room was short."""
    arena, progress, ends, cells = state.arena, state.progress, folds.ends, folds.cells
    if progress[MATCHES] == len(ends.position):
        return NEEDS_OUTPUT
    total, row = len(cells.whole) - 1, folds.first + progress[CURSOR]
    clear(cells, total)
    for r in range(end.first, end.last):
        source, mark = end.reports[r, SOURCE], end.reports[r, MARK]
        of = total - 1
        if source >= 0:
            of = end.slots[end.row, source]
            if of == NOTHING or not alive(arena, of, window):
                continue
            if not _folded(arena, window, folds, of, end.position, state.stack.node):
                return NEEDS_STACK
        add_extended(cells, total, of, folds.lanes, folds.weights, Step(row, mark, source < 0))
    if cells.whole[total, 0] != 0:
        write_end(ends, progress, end.position, cells, total)
        progress[REPORTED] = 1
    return DONE


@inner
def _folded(arena: Arena, window: Window, folds: Folds, root: int, position: int, stack: Any) -> bool:
    """Makes the cells of a node and of all that it leads to; False where the stack is too short for it."""
    bounded = window.low != NO_BOUND or window.low_second != NO_BOUND
    done = position if bounded else 0
    begun = -done - 2
    seen = folds.seen
    stack[0] = root
    top = 1
    while top > 0:
        node = stack[at(top - 1)]
        if seen[at(node)] == done or seen[at(node)] == begun:
            if seen[at(node)] == begun:
                _fold(arena, window, folds, node)
                seen[at(node)] = done
            top -= 1
            continue
        if top + 3 > len(stack):
            return False
        seen[at(node)] = begun
        for below in (arena.node[at(node), CHILD], own_list(arena, node), arena.node[at(node), REST]):
            if below != NOTHING and seen[at(below)] != done and alive(arena, below, window):
                stack[at(top)] = below
                top += 1
    return True


@inner
def _fold(arena: Arena, window: Window, folds: Folds, node: int) -> None:
    """The cell of a node, from those of its parts in the window."""
    cells, lanes = folds.cells, folds.lanes
    event, child = arena.node[at(node), EVENT], arena.node[at(node), CHILD]
    clear(cells, node)
    if event >= 0:
        of = len(cells.whole) - SPARE_CELLS if child == NOTHING else child
        step = Step(_row(folds, node, event >> MARK_BITS), event & MARK_MASK, child == NOTHING)
        add_extended(cells, node, of, lanes, folds.weights, step)
    elif child != NOTHING and alive(arena, child, window):
        add(cells, node, child, lanes)
    for part in (own_list(arena, node), arena.node[at(node), REST]):
        if part != NOTHING and alive(arena, part, window):
            add(cells, node, part, lanes)


@inlined
def _row(folds: Folds, node: int, position: int) -> int:
    """The row of a node's event in the weights; any where nothing is weighed."""
    row: int = folds.row[at(node)]
    if row == NOTHING and len(folds.position) > 0:
        row, behind = 0, len(folds.position)
        while behind - row > 1:
            middle = (row + behind) >> 1
            if folds.position[at(middle)] <= position:
                row = middle
            else:
                behind = middle
        folds.row[at(node)] = row
    return row
