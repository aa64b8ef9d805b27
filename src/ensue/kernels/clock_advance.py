"""The evaluator of queries with one clock and bounds on one side: constant time an event, output-linear delay.

It is driven by the same tables as `evaluate.advance` and stops for the same reasons. Its partial matches are the lists
of `clock_lists.py` for upper bounds, the queues of `waiting_lists.py` for lower ones. Windows need nothing of their own
here: they are checks of the clock.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.arena import CHILD, EVENT, MARK_BITS, NOTHING, REST, STAMP, USED, Arena
from ensue.kernels.clock_lists import NO_CHECK, NODES_A_MOVE, STOPPED, join, new_cell, new_start, passed, reset_in
from ensue.kernels.clock_programs import ClockSteps
from ensue.kernels.evaluate import (
    CONSUME_ANY,
    CONSUME_NONE,
    CURSOR,
    DONE,
    EPOCH,
    MATCHES,
    NEEDED,
    NEEDS_NODES,
    NEEDS_OUTPUT,
    NEEDS_PROGRAM,
    NEEDS_STACK,
    NO_CHANGE,
    POSITIONS,
    REPORTED,
    REPORTING,
    STACKED,
    UNKNOWN,
    Batch,
    Output,
    Partitions,
    Rules,
    Tables,
    restart,
    write,
)
from ensue.kernels.jit import kernel
from ensue.kernels.register_steps import Columns
from ensue.kernels.waiting_lists import queued, ripe


class ClockStack(NamedTuple):
    """The enumeration's own memory: lists still to visit, and the events of the complex event so far."""

    node: Any  # int64[]
    depth: Any
    low: Any  # the earliest reset of what is still to be visited of the list
    path: Any


@kernel
def advance(
    tables: Tables,
    steps: ClockSteps,
    arena: Arena,
    partitions: Partitions,
    scratch: Any,
    stack: ClockStack,
    output: Output,
    progress: Any,
    batch: Batch,
    rules: Rules,
    report_from: int,
) -> int:
    """Steps from the cursor to the end of the batch, or to where something is missing."""
    program, after, width, first_move = tables.program, tables.after, tables.width, tables.first_move
    move_slot, move_source, move_mark = tables.move_slot, tables.move_source, tables.move_mark
    first_report = tables.first_report
    move_check, move_resets = steps.move_check, steps.move_resets
    nodes, bounds, used, entries = arena.node, arena.second, arena.used, arena.groups
    configuration, slots, epoch = partitions.configuration, partitions.slots, partitions.epoch
    move_waits, lower = steps.move_waits, steps.lower
    classes, keys, times = batch.classes, batch.partitions, batch.times
    least, greatest = batch.columns.least, batch.columns.greatest
    positions, base, sparse = batch.positions, batch.base, len(batch.positions) > 0
    keyed, share, share_mask, consume = rules.keyed, rules.share, rules.share_mask, rules.consume
    total = len(classes)
    i = progress[CURSOR]
    while i < total:
        k = keys[i] if keyed else 0
        if k & share_mask != share:
            i += 1
            continue
        if consume == CONSUME_ANY and epoch[k] != progress[EPOCH]:
            restart(configuration, slots, k)
            epoch[k] = progress[EPOCH]
        p = program[configuration[k], classes[i]]
        if p == NO_CHANGE:
            i += 1
            continue
        if p == UNKNOWN:
            progress[CURSOR] = i
            return NEEDS_PROGRAM
        first, last = first_move[p], first_move[p + 1]
        if used[USED] + (last - first) * NODES_A_MOVE > len(nodes):
            progress[NEEDED] = (last - first) * NODES_A_MOVE
            progress[CURSOR] = i
            return NEEDS_NODES
        position = positions[i] if sparse else base + i
        if first_report[p + 1] > first_report[p] and position >= report_from:
            status: int = _report(
                tables,
                steps,
                slots,
                k,
                nodes,
                bounds,
                stack,
                output,
                progress,
                batch.columns,
                rules.limit,
                p,
                i,
                position,
            )
            if status != DONE:
                progress[CURSOR] = i
                return status
        if consume != CONSUME_NONE and progress[REPORTED] > 0:
            if consume == CONSUME_ANY:
                progress[EPOCH] += 1
            restart(configuration, slots, k)
            epoch[k] = progress[EPOCH]
        else:
            fresh = used[USED]
            previous = NOTHING
            for m in range(first, last):
                slot, source, mark, check = move_slot[m], move_source[m], move_mark[m], move_check[m]
                resets = move_resets[m] != 0
                if slot != previous:
                    scratch[slot] = NOTHING
                    previous = slot
                event = (position << MARK_BITS) | mark
                if source < 0:
                    added = new_start(nodes, bounds, used, event, times[i] if resets else STOPPED)
                elif lower:
                    added = slots[k, source]
                    if added != NOTHING and check >= 0:
                        added = ripe(nodes, bounds, added, greatest[check, i])
                    if added == NOTHING:
                        continue
                    if mark != 0:
                        stamp = times[i] if resets else STOPPED
                        added = new_cell(nodes, bounds, used, added, event, NO_CHECK, False, stamp)
                else:
                    added = slots[k, source]
                    bound = least[check, i] if check >= 0 else NO_CHECK
                    if added == NOTHING or nodes[added, STAMP] < bound:
                        continue
                    if mark != 0:
                        stamp = times[i] if resets else nodes[added, STAMP]
                        added = new_cell(nodes, bounds, used, added, event, bound, resets, stamp)
                    elif resets or check >= 0:
                        added = passed(nodes, bounds, used, entries, added, bound, resets, times[i])
                before = scratch[slot]
                if lower and move_waits[m] != 0 and added >= fresh:
                    nodes[added, REST] = before
                elif before != NOTHING:
                    added = join(nodes, bounds, used, entries, before, added, fresh)
                scratch[slot] = added
            previous = NOTHING
            for m in range(first, last):
                slot = move_slot[m]
                if slot != previous:
                    if lower and move_waits[m] != 0 and scratch[slot] >= fresh:
                        queued(nodes, bounds, scratch[slot], fresh)
                    slots[k, slot] = scratch[slot]
                    previous = slot
            if configuration[k] != after[p]:
                configuration[k] = after[p]
                slots[k, width[p] :] = NOTHING
        progress[REPORTED] = 0
        i += 1
    progress[CURSOR] = i
    return DONE


@kernel
def _report(
    tables: Tables,
    steps: ClockSteps,
    slots: Any,
    k: int,
    nodes: Any,
    bounds: Any,
    stack: ClockStack,
    output: Output,
    progress: Any,
    columns: Columns,
    limit: int,
    p: int,
    i: int,
    position: int,
) -> int:
    """Writes every complex event that ends here; resumes an enumeration that was cut short.

    Every node that is visited holds a run whose clock was reset at `low` or later, so no step is in vain. Where there
    is no room, what was to be visited next is put back on the stack.
    """
    first = tables.first_report[p]
    reports = tables.first_report[p + 1] - first
    pending, pending_depth, pending_low, path = stack.node, stack.depth, stack.low, stack.path
    start, end, offset, marked, mark = output.start, output.end, output.offset, output.position, output.mark
    lower = steps.lower
    reporting, stacked, reported = progress[REPORTING], progress[STACKED], progress[REPORTED]
    match, place = progress[MATCHES], progress[POSITIONS]
    status = DONE
    while status == DONE:
        if stacked == 0:
            if reporting == reports or (limit > 0 and reported == limit):
                reporting = 0
                break
            source, check = tables.report_source[first + reporting], steps.report_check[first + reporting]
            path[0] = (position << MARK_BITS) | tables.report_mark[first + reporting]
            if source >= 0:
                node = slots[k, source]
                low = NO_CHECK
                if check >= 0 and not lower:
                    low = columns.least[check, i]
                elif check >= 0 and node != NOTHING:
                    node = ripe(nodes, bounds, node, columns.greatest[check, i])
                if node != NOTHING and nodes[node, STAMP] >= low:
                    pending[0], pending_depth[0], pending_low[0] = node, 1, low
                    stacked = 1
            elif match < len(start) and place < len(marked):
                match, place = write(path, start, end, offset, marked, mark, match, place, 0, position)
                reported += 1
            else:
                status = NEEDS_OUTPUT
                break
            reporting += 1
            continue
        stacked -= 1
        node, depth, low = pending[stacked], pending_depth[stacked], pending_low[stacked]
        while True:
            event, child, rest = nodes[node, EVENT], nodes[node, CHILD], nodes[node, REST]
            if child == NOTHING and (match == len(start) or place + depth >= len(marked)):
                status = NEEDS_OUTPUT
            elif stacked + 2 > len(pending) or depth + 2 > len(path):
                status = NEEDS_STACK
            if status != DONE:
                pending[stacked], pending_depth[stacked], pending_low[stacked] = node, depth, low
                stacked += 1
                break
            if rest != NOTHING and nodes[rest, STAMP] >= low:
                pending[stacked], pending_depth[stacked], pending_low[stacked] = rest, depth, low
                stacked += 1
            if event >= 0:
                path[depth] = event
                if child == NOTHING:
                    match, place = write(path, start, end, offset, marked, mark, match, place, depth, position)
                    reported += 1
                    if limit > 0 and reported == limit:
                        stacked = 0
                    break
                depth += 1
            if child < NOTHING:
                child, low = reset_in(child), bounds[node]
            elif not lower:
                low = max(low, bounds[node])
            node = child
    progress[REPORTING], progress[STACKED], progress[REPORTED] = reporting, stacked, reported
    progress[MATCHES], progress[POSITIONS] = match, place
    return status
