"""The evaluator: steps over the events of a batch, driven by tables; it is compiled once, not once a query.

It stops and says why when something is missing that is made outside: a program, room for nodes, room for output, a
deeper stack. Called again it goes on exactly where it was, in the middle of an enumeration if need be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from ensue.kernels.arena import (
    CHILD,
    EVENT,
    GROUP,
    MARK_BITS,
    MARK_MASK,
    NODES_A_MOVE,
    NOTHING,
    REST,
    USED,
    Arena,
    alive,
    join,
    new_cell,
    new_start,
    own_list,
    starts_later,
)
from ensue.kernels.counting import VISITED, Counts, count_reports
from ensue.kernels.earliest import TOO_DEEP as TOO_DEEP_TO_FIND
from ensue.kernels.earliest import add_rungs, earliest_start, with_start
from ensue.kernels.jit import at, kernel
from ensue.kernels.participants import ENDS_NOTHING, NO_ROOM, TOO_DEEP, put_in_order, walk
from ensue.kernels.register_steps import Columns, Memory, prepare
from ensue.kernels.select import CHOOSE_ALL, CHOOSE_MAX, compare, keep_best
from ensue.kernels.value_trees import NODES_A_CALL

# Why the evaluator stopped.
DONE, NEEDS_PROGRAM, NEEDS_NODES, NEEDS_OUTPUT, NEEDS_STACK, TOO_MANY = 0, 1, 2, 3, 4, 5

#: A choice at the end of a match looks at each candidate, and at most at so many of one end: that takes seconds.
MOST_CANDIDATES = 1 << 26

# Entries of the program table that are no program.
UNKNOWN, NO_CHANGE = -1, 0

# The progress of the evaluator: where it is in a batch.
CURSOR, REPORTING, NODE, DEPTH, STACKED, REPORTED, EPOCH, MATCHES, POSITIONS, NEEDED, PREPARED, WALK = range(12)
RUNGS, START, COUNTED = 12, 13, 14
PROGRESS = 15

# CONSUME BY
CONSUME_NONE, CONSUME_PARTITION, CONSUME_ANY = 0, 1, 2

NO_BOUND = np.iinfo(np.int64).min


class Tables(NamedTuple):
    """Programs in flat arrays: the moves of program `p` are those from `first[p]` to `first[p + 1]`."""

    program: Any  # int32[configurations, classes]
    after: Any  # int32[programs]: the configuration after it
    width: Any  # int32[programs]: how many slots that configuration has
    first_move: Any  # int32[programs + 1]
    move_slot: Any  # int32[moves]
    move_source: Any
    move_mark: Any
    first_report: Any  # int32[programs + 1]
    report_source: Any  # int32[reports]
    report_mark: Any


class Partitions(NamedTuple):
    """The state of each partition: its configuration, the node of each slot, its count of events, its epoch."""

    configuration: Any  # int32[partitions]
    slots: Any  # int64[partitions, width]
    count: Any  # int64[partitions]
    epoch: Any  # int64[partitions]


class Batch(NamedTuple):
    """The events of a batch as the evaluator sees them."""

    classes: Any  # uint16[n]
    partitions: Any  # int64[n], where the query has partitions
    times: Any  # int64[n], where a window is in time
    positions: Any  # int64[n], where events that change nothing were left out
    base: int  # where none were: the position of the first event
    columns: Columns  # what registers are checked against, and what is stored in them


class Rules(NamedTuple):
    """The query's window, and its rules of reporting; NO_BOUND and 0 stand for none."""

    keyed: bool
    counted: bool  # whether each partition counts its events
    share: int  # of the partitions, those whose number has these last bits ...
    share_mask: int  # ... under this mask; a division would cost as much as the step itself
    events: int
    ticks: int
    limit: int
    consume: int
    choose: int  # the selector that has a choice left at the end of a match
    earliest: bool  # whether the match that starts first is the one to choose
    hidden: int  # the mark of events that only this choice looks at
    union: bool  # whether the matches of an end are reported as one: all events that took part
    counting: bool  # whether matches are counted instead of written


class Output(NamedTuple):
    """Match `m` has the marked events from `offset[m]` to `offset[m + 1]`, in stream order.

    Where the matches of an end are reported as one, `start` is that of the earliest, and `mark` is not written.
    """

    start: Any  # int64[matches]
    end: Any
    offset: Any  # int64[matches + 1]
    position: Any  # int64[marked events]
    mark: Any  # uint16[marked events]


class Stack(NamedTuple):
    """The enumeration's own memory: lists still to visit, and the events of the complex event so far."""

    node: Any  # int64[]
    depth: Any
    path: Any
    seen: Any  # int64[nodes], where matches are reported as one: the last walk that came by each node
    ladder: Any  # int64[nodes, 6], where the earliest start is looked for
    counts: Counts  # where matches are counted


@kernel
def advance(
    tables: Tables,
    arena: Arena,
    partitions: Partitions,
    scratch: Any,
    stack: Stack,
    output: Output,
    progress: Any,
    batch: Batch,
    rules: Rules,
    report_from: int,
    memory: Memory | None,
) -> int:
    """Steps from the cursor to the end of the batch, or to where something is missing.

    What ends before the position `report_from` is not reported: the evaluator of a slice of the stream starts earlier.
    `scratch` has room for a node for each slot. `memory` is that of a query with registers; the compiler makes one
    evaluator for these and one for the others.
    """
    program, after, width, first_move = tables.program, tables.after, tables.width, tables.first_move
    move_slot, move_source, move_mark = tables.move_slot, tables.move_source, tables.move_mark
    first_report = tables.first_report
    nodes, seconds, used, groups = arena.node, arena.second, arena.used, arena.groups
    configuration, slots, count, epoch = (
        partitions.configuration,
        partitions.slots,
        partitions.count,
        partitions.epoch,
    )
    classes, keys, times = batch.classes, batch.partitions, batch.times
    positions, base, sparse = batch.positions, batch.base, len(batch.positions) > 0
    keyed, share, share_mask, consume = rules.keyed, rules.share, rules.share_mask, rules.consume
    counted = rules.counted
    total = len(classes)
    i = progress[CURSOR]
    while i < total:
        k = keys[at(i)] if keyed else 0
        if k & share_mask != share:
            i += 1
            continue
        if consume == CONSUME_ANY and epoch[k] != progress[EPOCH]:
            restart(configuration, slots, k)
            epoch[k] = progress[EPOCH]
        p = program[at(configuration[at(k)]), at(classes[at(i)])]
        if p == NO_CHANGE:
            if counted:
                count[at(k)] += 1
            i += 1
            continue
        if p == UNKNOWN:
            progress[CURSOR] = i
            return NEEDS_PROGRAM
        first, last = first_move[at(p)], first_move[at(p + 1)]
        if memory is None and used[USED] + (last - first) * NODES_A_MOVE > len(nodes):
            progress[NEEDED] = (last - first) * NODES_A_MOVE
            progress[CURSOR] = i
            return NEEDS_NODES

        position = positions[at(i)] if sparse else base + i
        rank = count[at(k)] if counted else position
        stamp, second, low, low_second = _window(times, rules.events, rules.ticks, i, rank)
        if memory is not None and progress[PREPARED] == 0:
            prepared = prepare(
                nodes,
                seconds,
                used,
                groups,
                arena.values,
                slots,
                k,
                scratch,
                memory,
                move_slot,
                move_source,
                move_mark,
                first,
                last,
                tables.report_source,
                first_report[p],
                first_report[p + 1],
                i,
                position,
                stamp,
                second,
                low,
                low_second,
            )
            if not prepared:
                progress[NEEDED] = max(2 * progress[NEEDED], 2 * NODES_A_CALL)
                progress[CURSOR] = i
                return NEEDS_NODES
            progress[PREPARED] = 1
        if first_report[at(p + 1)] > first_report[at(p)] and position >= report_from:
            if memory is None:
                report_source, sources, row = tables.report_source, slots, k
            else:
                report_source, sources, row = memory.report_place, memory.selected, 0
            status: int
            if rules.counting:
                status = _count(
                    report_source,
                    sources,
                    row,
                    tables,
                    nodes,
                    seconds,
                    used,
                    stack,
                    progress,
                    rules,
                    p,
                    low,
                    low_second,
                )
            elif rules.union:
                status = _report_union(
                    report_source,
                    sources,
                    row,
                    tables,
                    nodes,
                    seconds,
                    stack,
                    output,
                    progress,
                    p,
                    position,
                    low,
                    low_second,
                )
            else:
                status = _report(
                    report_source,
                    sources,
                    row,
                    tables,
                    nodes,
                    seconds,
                    used,
                    stack,
                    output,
                    progress,
                    rules,
                    p,
                    position,
                    low,
                    low_second,
                )
            if status != DONE:
                progress[CURSOR] = i
                return status
            if rules.choose != CHOOSE_ALL and progress[REPORTED] > 0:
                matches = progress[MATCHES]
                done = matches - progress[REPORTED]
                kept = keep_best(
                    output.start,
                    output.end,
                    output.offset,
                    output.position,
                    output.mark,
                    done,
                    matches,
                    rules.choose,
                    rules.hidden,
                    rules.limit,
                )
                progress[REPORTED] = kept - done
                progress[MATCHES], progress[POSITIONS] = kept, output.offset[kept]
        if consume != CONSUME_NONE and progress[REPORTED] > 0:
            # All open runs started at or before this event: none may be reported any more.
            if consume == CONSUME_ANY:
                progress[EPOCH] += 1
            restart(configuration, slots, k)
            epoch[k] = progress[EPOCH]
        else:
            # The update: extends and joins the partial matches as the program says; constant time an event.
            # Whether a list is still alive is as good as random, and a wrong guess of the processor costs more than
            # the move: a new cell is written in any case, and stays only if what it extends is alive.
            previous = NOTHING
            for m in range(first, last if memory is None else first):
                slot, source, mark = move_slot[at(m)], move_source[at(m)], move_mark[at(m)]
                if slot != previous:
                    scratch[at(slot)] = NOTHING
                    previous = slot
                event = (position << MARK_BITS) | mark
                before = scratch[at(slot)]
                new = source < 0 or mark != 0
                if source < 0:
                    held = True
                    found = new_start(nodes, seconds, used, event, stamp, second)
                else:
                    found = slots[at(k), at(source)]
                    held = found != NOTHING
                    found = max(found, 0)
                    held &= alive(nodes, seconds, found, low, low_second)
                    if mark != 0:
                        found = new_cell(nodes, seconds, used, found, event)
                        used[USED] -= not held
                first_in_slot = before == NOTHING
                if first_in_slot | (not held) | (new & starts_later(nodes, seconds, found, max(before, 0))):
                    if new:
                        nodes[at(found), REST] = before  # the cell is new: nothing else points to it yet
                    scratch[at(slot)] = found if held else before
                else:
                    scratch[at(slot)] = join(nodes, seconds, used, groups, before, found, rules.earliest)
            previous = NOTHING
            for m in range(first, last):
                slot = move_slot[at(m)]
                if slot != previous:
                    slots[at(k), at(slot)] = scratch[at(slot)]
                    previous = slot
            if configuration[at(k)] != after[at(p)]:
                configuration[at(k)] = after[at(p)]
                slots[k, width[p] :] = NOTHING
        progress[REPORTED] = 0
        if memory is not None:
            progress[PREPARED] = progress[NEEDED] = 0
        if counted:
            count[at(k)] += 1
        i += 1
    progress[CURSOR] = i
    return DONE


@njit(cache=True, nogil=True, inline="always")
def _window(times: Any, events: int, ticks: int, i: int, rank: int) -> tuple[int, int, int, int]:
    """The stamp of a run that starts here, and the stamp from which on a start is inside the window."""
    if ticks == NO_BOUND:
        return rank, 0, (rank - events + 1 if events != NO_BOUND else NO_BOUND), NO_BOUND
    time = times[at(i)]
    # Far times must not wrap around: nothing is earlier than the earliest time.
    low = time - ticks if time >= NO_BOUND + ticks else NO_BOUND
    if events == NO_BOUND:
        return time, 0, low, NO_BOUND
    return time, rank, low, rank - events + 1


@kernel
def restart(configuration: Any, slots: Any, k: int) -> None:
    """No run is open: the empty configuration has the number 0."""
    configuration[k] = 0
    slots[k, :] = NOTHING


@njit(cache=True, nogil=True, inline="always")
def _report(
    report_source: Any,
    slots: Any,
    k: int,
    tables: Tables,
    nodes: Any,
    seconds: Any,
    used: Any,
    stack: Stack,
    output: Output,
    progress: Any,
    rules: Rules,
    p: int,
    position: int,
    low: int,
    low_second: int,
) -> int:
    """Writes every complex event that ends here; resumes an enumeration that was cut short.

    REPORTING counts the reports of the program that were begun, NODE is the list to visit next; they and the rest of
    the enumeration's state are kept in local variables and put into `progress` when it is left.
    """
    choose = rules.choose
    limit = rules.limit if choose == CHOOSE_ALL else 0  # a choice comes before it
    one_support = choose != CHOOSE_ALL and choose != CHOOSE_MAX
    first = tables.first_report[at(p)]
    reports = tables.first_report[at(p + 1)] - first
    pending, pending_depth, path = stack.node, stack.depth, stack.path
    start, end, offset, marked, mark = output.start, output.end, output.offset, output.position, output.mark
    reporting, node, depth = progress[REPORTING], progress[NODE], progress[DEPTH]
    stacked, reported = progress[STACKED], progress[REPORTED]
    match, place = progress[MATCHES], progress[POSITIONS]
    if (
        rules.earliest
        and reporting == 0
        and not _found_start(
            report_source, first, first + reports, slots, k, nodes, seconds, used, stack, progress, low, low_second
        )
    ):
        return NEEDS_STACK
    only, ladder = progress[START], stack.ladder
    candidates = 0
    status = DONE
    while True:
        if node == NOTHING:
            if stacked > 0:
                stacked -= 1
                node, depth = pending[at(stacked)], pending_depth[at(stacked)]
            elif reporting == reports or (limit > 0 and reported == limit):
                reporting = 0
                break
            else:
                r = first + reporting
                source, own_mark = report_source[at(r)], tables.report_mark[at(r)]
                path[0] = (position << MARK_BITS) | own_mark
                if source >= 0:
                    node, depth = slots[at(k), at(source)], 1
                    if rules.earliest:
                        node = with_start(nodes, ladder, node, only) if only != NOTHING else NOTHING
                    elif node != NOTHING and not alive(nodes, seconds, node, low, low_second):
                        node = NOTHING
                elif match < len(start) and place < len(marked):
                    beaten = False
                    if one_support:
                        match, place, reported, beaten = _weigh(path, 0, offset, marked, match, place, reported, choose)
                    if not beaten:
                        match, place = write(path, start, end, offset, marked, mark, match, place, 0, position)
                        reported += 1
                else:
                    status = NEEDS_OUTPUT
                    break
                reporting += 1
            continue
        event, child = nodes[at(node), EVENT], nodes[at(node), CHILD]
        complete = child == NOTHING and event >= 0
        if complete and (match == len(start) or place + depth >= len(marked)):
            status = NEEDS_OUTPUT
            break
        if stacked + 3 > len(pending) or depth + 2 > len(path):
            status = NEEDS_STACK
            break
        rest = nodes[at(node), REST]
        if rules.earliest:
            rest, child = with_start(nodes, ladder, rest, only), with_start(nodes, ladder, child, only)
        if rest != NOTHING and alive(nodes, seconds, rest, low, low_second):
            pending[at(stacked)] = rest
            pending_depth[at(stacked)] = depth
            stacked += 1
        if event < 0:
            # Of a group the left side is as alive as itself; a fork or a tree may hold something dead.
            own = own_list(nodes, node)
            if own != NOTHING and alive(nodes, seconds, own, low, low_second):
                pending[at(stacked)] = own
                pending_depth[at(stacked)] = depth
                stacked += 1
            node = child
            if event != GROUP and child != NOTHING and not alive(nodes, seconds, child, low, low_second):
                node = NOTHING
            continue
        path[at(depth)] = event
        if complete:
            node = NOTHING
            if one_support:
                candidates += 1
                if candidates > MOST_CANDIDATES:
                    status = TOO_MANY
                    break
                match, place, reported, beaten = _weigh(path, depth, offset, marked, match, place, reported, choose)
                if beaten:
                    continue
            match, place = write(path, start, end, offset, marked, mark, match, place, depth, position)
            reported += 1
            if limit > 0 and reported == limit:
                stacked = 0
        else:
            node = child
            depth += 1
    progress[REPORTING], progress[NODE], progress[DEPTH] = reporting, node, depth
    progress[STACKED], progress[REPORTED] = stacked, reported
    progress[MATCHES], progress[POSITIONS] = match, place
    return status


@kernel
def _found_start(
    report_source: Any,
    first: int,
    last: int,
    slots: Any,
    k: int,
    nodes: Any,
    seconds: Any,
    used: Any,
    stack: Stack,
    progress: Any,
    low: int,
    low_second: int,
) -> bool:
    """Puts into START where the earliest match of this end starts; False where the stack is too short for it."""
    add_rungs(nodes, stack.ladder, progress[RUNGS], used[USED])
    progress[RUNGS] = used[USED]
    start = NOTHING
    for r in range(first, last):
        source = report_source[r]
        if source >= 0:
            start = earliest_start(
                nodes, seconds, stack.ladder, slots[k, source], start, low, low_second, stack.node, 0
            )
            if start == TOO_DEEP_TO_FIND:
                return False
    progress[START] = start
    return True


@kernel
def _report_union(
    report_source: Any,
    slots: Any,
    k: int,
    tables: Tables,
    nodes: Any,
    seconds: Any,
    stack: Stack,
    output: Output,
    progress: Any,
    p: int,
    position: int,
    low: int,
    low_second: int,
) -> int:
    """Writes the events of all complex events that end here as one; begun again from the first where room was short."""
    match, place = progress[MATCHES], progress[POSITIONS]
    if match == len(output.start):
        return NEEDS_OUTPUT
    progress[WALK] += 1
    end = walk(
        report_source,
        tables.report_mark,
        tables.first_report[p],
        tables.first_report[p + 1],
        slots,
        k,
        nodes,
        seconds,
        stack.node,
        stack.seen,
        progress[WALK],
        output.start,
        match,
        output.position,
        place,
        position,
        low,
        low_second,
    )
    if end == NO_ROOM:
        return NEEDS_OUTPUT
    if end == TOO_DEEP:
        return NEEDS_STACK
    if end != ENDS_NOTHING:
        end = put_in_order(output.position, place, end)
        output.end[match] = position
        output.offset[match + 1] = end
        progress[MATCHES], progress[POSITIONS], progress[REPORTED] = match + 1, end, 1
    return DONE


@kernel
def _count(
    report_source: Any,
    slots: Any,
    k: int,
    tables: Tables,
    nodes: Any,
    seconds: Any,
    used: Any,
    stack: Stack,
    progress: Any,
    rules: Rules,
    p: int,
    low: int,
    low_second: int,
) -> int:
    """Counts the complex events that end here; stops when it has visited as many nodes as it may."""
    # What a window leaves behind changes the counts of all nodes; without one, those of earlier nodes stay.
    counted = progress[COUNTED] if low == NO_BOUND and low_second == NO_BOUND else 0
    ends = count_reports(
        report_source,
        tables.report_mark,
        tables.first_report[p],
        tables.first_report[p + 1],
        slots,
        k,
        nodes,
        seconds,
        counted,
        used[USED],
        stack.counts,
        low,
        low_second,
        rules.limit,
    )
    progress[COUNTED] = used[USED]
    progress[REPORTED] = int(ends)
    return NEEDS_OUTPUT if stack.counts.totals[VISITED] > stack.counts.visits else DONE


@kernel
def _weigh(
    path: Any, depth: int, offset: Any, marked: Any, match: int, place: int, reported: int, choose: int
) -> tuple[int, int, int, bool]:
    """Compares what is on the path with the best of this end so far; what it beats is taken back.

    Gives where to write next, how many of this end are written, and whether it is beaten itself.
    """
    if reported == 0:
        return match, place, reported, False
    best = match - reported
    order = compare(path, depth, marked, offset[best], offset[best + 1], choose)
    if order > 0:
        return best, offset[best], 0, False
    return match, place, reported, order < 0


@njit(cache=True, nogil=True, inline="always")
def write(
    path: Any,
    start: Any,
    end: Any,
    offset: Any,
    marked: Any,
    mark: Any,
    match: int,
    place: int,
    depth: int,
    position: int,
) -> tuple[int, int]:
    """The complex event on the path, which runs from its last event to its first."""
    for d in range(depth, -1, -1):
        event = path[at(d)]
        if event & MARK_MASK != 0:
            marked[at(place)] = event >> MARK_BITS
            mark[at(place)] = event & MARK_MASK
            place += 1
    start[at(match)] = path[at(depth)] >> MARK_BITS
    end[at(match)] = position
    offset[at(match + 1)] = place
    return match + 1, place
