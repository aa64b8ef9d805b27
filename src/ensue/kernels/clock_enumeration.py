"""Writes the matches of an end of a query with one clock, read off the lists and trees that hold its runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.arena import CHILD, EVENT, MARK_BITS, NOTHING, REST, STAMP, Arena
from ensue.kernels.clock_lists import NO_CHECK, reset_in
from ensue.kernels.clock_programs import CHECK, ClockSteps
from ensue.kernels.enumeration import Written, has_room, write
from ensue.kernels.jit import at, inlined, inner
from ensue.kernels.stepping import (
    DONE,
    MARK,
    MATCHES,
    NEEDS_OUTPUT,
    NEEDS_STACK,
    POSITIONS,
    REPORTED,
    REPORTING,
    SOURCE,
    STACKED,
    Columns,
    End,
    State,
    list_of,
)
from ensue.kernels.waiting_lists import ripe
from ensue.kernels.waiting_trees import bound_of


class ClockStack(NamedTuple):
    """The enumeration's own memory: lists still to visit, and the events of the complex event so far."""

    node: Any  # int64[]
    depth: Any
    low: Any  # the earliest reset of what is still to be visited of the list
    path: Any


@inner
def write_clock_matches(state: State, steps: ClockSteps, end: End, columns: Columns, row: int, limit: int) -> int:
    """Writes every complex event that ends here; resumes an enumeration that was cut short.

    Every node that is visited holds a run whose clock was reset at `low` or later, so no step is in vain; of a tree, at
    most as many are as it is high. Where there is no room, what was to be visited next is put back on the stack.
    """
    arena, stack, output, progress = state.arena, state.stack, state.output, state.progress
    nodes = arena.node
    report, stacked = end.first + progress[REPORTING], progress[STACKED]
    written = Written(progress[MATCHES], progress[POSITIONS], progress[REPORTED])
    node, depth, low, status = NOTHING, 0, NO_CHECK, DONE
    while True:
        if node == NOTHING and stacked > 0:
            stacked -= 1
            node, depth, low = stack.node[at(stacked)], stack.depth[at(stacked)], stack.low[at(stacked)]
        if node == NOTHING:
            if report == end.last or (limit > 0 and written.of_end == limit):
                report = end.first
                break
            stack.path[0] = (end.position << MARK_BITS) | end.reports[at(report), MARK]
            if end.reports[at(report), SOURCE] >= 0:
                depth, low = 1, _asked(steps, columns, report, row)
                node = _reaching(arena, _root(arena, steps, end, columns, report, row), low)
            elif has_room(output, written, 0):
                written = write(output, stack.path, 0, end.position, written)
            else:
                status = NEEDS_OUTPUT
                break
            report += 1
            continue
        event, child, rest = nodes[at(node), EVENT], nodes[at(node), CHILD], nodes[at(node), REST]
        if child == NOTHING and not has_room(output, written, depth):
            status = NEEDS_OUTPUT
        elif stacked + 2 > len(stack.node) or depth + 2 > len(stack.path):
            status = NEEDS_STACK
        if status != DONE:
            stacked = _pushed(stack, stacked, node, depth, low)
            break
        stacked = _pushed(stack, stacked, _reaching(arena, rest, low), depth, low)
        if event >= 0:
            stack.path[at(depth)] = event
            depth += 1
        if child == NOTHING:
            written = write(output, stack.path, depth - 1, end.position, written)
            if limit > 0 and written.of_end == limit:
                stacked = 0
        elif child < NOTHING:
            child, low = reset_in(child), arena.second[at(node)]
        elif not steps.queues:
            low = max(low, arena.second[at(node)])
        node = _reaching(arena, child, low)  # of a list it always is; of a tree one side may be
    progress[REPORTING], progress[STACKED] = report - end.first, stacked
    progress[MATCHES], progress[POSITIONS], progress[REPORTED] = written.matches, written.positions, written.of_end
    return status


@inlined
def _asked(steps: ClockSteps, columns: Columns, report: int, row: int) -> int:
    """The earliest reset that the report asks for."""
    check = steps.reports[at(report), CHECK]
    if check < 0 or steps.queues:
        return NO_CHECK
    least: int = bound_of(columns, check, row) if steps.trees else columns.least[at(check), at(row)]
    return least


@inlined
def _root(arena: Arena, steps: ClockSteps, end: End, columns: Columns, report: int, row: int) -> int:
    """The list whose runs the report asks for, as far as its queue tells; NOTHING where it has none."""
    node: int = list_of(end, report)
    check = steps.reports[at(report), CHECK]
    if steps.queues and check >= 0 and node != NOTHING:
        node = ripe(arena, node, columns.greatest[at(check), at(row)])
    return node


@inlined
def _reaching(arena: Arena, node: int, low: int) -> int:
    """The list from this node on if it has runs whose clock was reset at `low` or later, else NOTHING."""
    return node if node != NOTHING and arena.node[at(node), STAMP] >= low else NOTHING


@inlined
def _pushed(stack: ClockStack, stacked: int, node: int, depth: int, low: int) -> int:
    """The height of the stack with the list on it, if there is one."""
    if node == NOTHING:
        return stacked
    stack.node[at(stacked)], stack.depth[at(stacked)], stack.low[at(stacked)] = node, depth, low
    return stacked + 1
