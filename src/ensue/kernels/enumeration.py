"""Writes the matches of an end: all of them, or those that a selector may choose.

They are read off the match structure one after the other, with a delay that is as long as a match. Where there is no
room, the enumeration stops, and goes on there when it is called again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.arena import (
    CHILD,
    EVENT,
    GROUP,
    MARK_BITS,
    MARK_MASK,
    NOTHING,
    REST,
    Arena,
    Window,
    alive,
    own_list,
)
from ensue.kernels.earliest import with_start
from ensue.kernels.jit import at, inlined
from ensue.kernels.match_weights import begin, enough, passing, step
from ensue.kernels.select import compare
from ensue.kernels.stepping import (
    CURSOR,
    DEPTH,
    DONE,
    MARK,
    MATCHES,
    NEEDS_OUTPUT,
    NEEDS_STACK,
    NODE,
    POSITIONS,
    REPORTED,
    REPORTING,
    SOURCE,
    STACKED,
    START,
    TOO_MANY,
    End,
    Output,
    Stack,
    State,
    list_of,
)

#: A choice at the end of a match looks at each candidate, and at most at so many of one end: that takes seconds.
MOST_CANDIDATES = 1 << 26


class Written(NamedTuple):
    """How far the output is written: in all, and of this end."""

    matches: int
    positions: int
    of_end: int


@inlined
def write_matches(state: State, end: End, window: Window, limit: int, choice: Any, ladder: Any, bounds: Any) -> int:
    """Writes every complex event that ends here; resumes an enumeration that was cut short.

    Its state is put into `progress` when it is left: REPORTING counts the reports that were begun, NODE is the list to
    visit next. A choice leaves out what is beaten, a ladder what does not start at START, bounds what is too light.
    """
    arena, stack, output, progress = state.arena, state.stack, state.output, state.progress
    nodes, path = arena.node, stack.path
    start = NOTHING if ladder is None else progress[START]
    report, node, depth, stacked = end.first + progress[REPORTING], progress[NODE], progress[DEPTH], progress[STACKED]
    written = Written(progress[MATCHES], progress[POSITIONS], progress[REPORTED])
    status, candidates = DONE, 0
    while True:
        if node == NOTHING and stacked > 0:
            stacked -= 1
            node, depth = stack.node[at(stacked)], stack.depth[at(stacked)]
        if node == NOTHING:
            if report == end.last or (limit > 0 and written.of_end == limit):
                report = end.first
                break
            path[0] = (end.position << MARK_BITS) | end.reports[at(report), MARK]
            begin(bounds, progress[CURSOR], end.reports[at(report), MARK])
            if end.reports[at(report), SOURCE] >= 0:
                node, depth = passing(bounds, _inside(arena, list_of(end, report), window, ladder, start), 0), 1
            elif not has_room(output, written, 0):
                status = NEEDS_OUTPUT
                break
            elif enough(bounds, 0):
                written = _taken(output, path, 0, end.position, written, choice)
            report += 1
            continue
        event, child = nodes[at(node), EVENT], nodes[at(node), CHILD]
        complete = child == NOTHING and event >= 0
        if complete and not has_room(output, written, depth):
            status = NEEDS_OUTPUT
        elif stacked + 3 > len(stack.node) or depth + 2 > len(path):
            status = NEEDS_STACK
        if status != DONE:
            break
        rest = passing(bounds, _inside(arena, nodes[at(node), REST], window, ladder, start), depth - 1)
        stacked = _pushed(stack, stacked, rest, depth)
        if event < 0:
            stacked = _pushed(stack, stacked, _inside(arena, own_list(arena, node), window, ladder, start), depth)
        if ladder is not None or (event < 0 and event != GROUP):
            child = _inside(arena, child, window, ladder, start)
        if event >= 0:
            step(bounds, node, depth)
            path[at(depth)] = event
            depth += 1
        node = passing(bounds, child, depth - 1)
        if complete and enough(bounds, depth - 1):
            candidates += 1
            if choice is not None and candidates > MOST_CANDIDATES:
                status = TOO_MANY
                break
            written = _taken(output, path, depth - 1, end.position, written, choice)
            stacked = 0 if limit > 0 and written.of_end == limit else stacked
    progress[REPORTING], progress[NODE], progress[DEPTH], progress[STACKED] = report - end.first, node, depth, stacked
    progress[MATCHES], progress[POSITIONS], progress[REPORTED] = written.matches, written.positions, written.of_end
    return status


@inlined
def _inside(arena: Arena, node: int, window: Window, ladder: Any, start: int) -> int:
    """The list from this node on, without what is left out at its head; NOTHING if nothing stays.

    Of a cell or a group the child is as alive as itself; a fork or a tree may hold something dead.

    With a ladder, that is what has another start, and without one, what is outside of the window.
    """
    if ladder is not None:
        found: int = with_start(arena.node, ladder, node, start) if start != NOTHING else NOTHING
        return found
    if node != NOTHING and alive(arena, node, window):
        return node
    return NOTHING


@inlined
def _pushed(stack: Stack, stacked: int, node: int, depth: int) -> int:
    """The height of the stack with the list on it, if there is one."""
    if node == NOTHING:
        return stacked
    stack.node[at(stacked)] = node
    stack.depth[at(stacked)] = depth
    return stacked + 1


@inlined
def has_room(output: Output, written: Written, depth: int) -> bool:
    """Whether there is room for one match more, whose path is so long."""
    return written.matches < len(output.start) and written.positions + depth < len(output.position)


@inlined
def _taken(output: Output, path: Any, depth: int, position: int, written: Written, choice: Any) -> Written:
    """The output with the match on the path, unless the best of this end so far beats it; what it beats itself goes.

    MAX compares matches when all of an end are written.
    """
    if choice is not None and choice.largest is None and written.of_end > 0:
        best = written.matches - written.of_end
        begin, stop = output.offset[at(best)], output.offset[at(best + 1)]
        order = compare(path, depth, output.position, begin, stop, choice.selector)
        if order < 0:
            return written
        if order > 0:
            written = Written(best, begin, 0)
    longer: Written = write(output, path, depth, position, written)
    return longer


@inlined
def write(output: Output, path: Any, depth: int, position: int, written: Written) -> Written:
    """Writes the complex event on the path, which runs from its last event to its first."""
    match, place = written.matches, written.positions
    for d in range(depth, -1, -1):
        event = path[at(d)]
        if event & MARK_MASK != 0:
            output.position[at(place)] = event >> MARK_BITS
            output.mark[at(place)] = event & MARK_MASK
            place += 1
    output.start[at(match)] = path[at(depth)] >> MARK_BITS
    output.end[at(match)] = position
    output.offset[at(match + 1)] = place
    return Written(match + 1, place, written.of_end + 1)
