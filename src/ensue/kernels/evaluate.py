"""The evaluator: steps over the events of a batch, in constant time an event, and reports what ends at each."""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import (
    MARK_BITS,
    NODES_A_MOVE,
    NOTHING,
    REST,
    USED,
    Window,
    alive,
    join,
    new_cell,
    new_start,
    starts_later,
)
from ensue.kernels.counting import count_matches
from ensue.kernels.earliest import TOO_DEEP, add_rungs, earliest_start
from ensue.kernels.enumeration import write_matches
from ensue.kernels.jit import at, evaluator, inlined, inner
from ensue.kernels.match_weights import weigh, weigh_event, weighed_anew
from ensue.kernels.node_totals import write_totals
from ensue.kernels.participants import write_participants
from ensue.kernels.register_steps import prepare
from ensue.kernels.select import keep_best
from ensue.kernels.stepping import (
    CURSOR,
    DONE,
    FIRST_MOVE,
    LAST_MOVE,
    MARK,
    MATCHES,
    NEEDED,
    NEEDS_NODES,
    NEEDS_PROGRAM,
    NEEDS_STACK,
    NO_BOUND,
    POSITIONS,
    PREPARED,
    REPORTED,
    REPORTING,
    RUNGS,
    SLOT,
    SOURCE,
    START,
    UNKNOWN,
    Batch,
    End,
    Event,
    Reporting,
    Rules,
    State,
    Tables,
    consumed,
    end_of,
    ends_here,
    has_room,
    next_event,
    settle,
)
from ensue.kernels.value_trees import NODES_A_CALL


@evaluator
def advance(
    tables: Tables, batch: Batch, rules: Rules, state: State, lists: Any, registers: Any, reporting: Reporting
) -> int:
    """Steps from the cursor to the end of the batch, or to where something is missing.

    The slots hold lists, or, where the query has registers, ordered trees: then `registers` is a RegisterData and
    `lists` None, and else the other way round. The compiler makes one evaluator for each combination of what a query
    needs of these and of `reporting`. Of an argument that is None it leaves out what is done if it is not. Of a part
    of an argument it does not see that, so parts become arguments below.
    """
    progress = state.progress
    row, status = progress[CURSOR], DONE
    while True:
        event = next_event(tables, batch, rules, state, row)
        row, p = event.row, event.program
        if row == len(batch.classes):
            break
        if p == UNKNOWN:
            status = NEEDS_PROGRAM
            break
        window = _window(batch, rules, state, event)
        if lists is not None and not has_room(tables, state, event, NODES_A_MOVE):
            status = NEEDS_NODES
            break
        if registers is not None and progress[PREPARED] == 0:
            # Reports read what the moves make. After a report that was cut short, they are not made again.
            if not prepare(tables, state, registers, event, window):
                progress[NEEDED] = max(2 * progress[NEEDED], 2 * NODES_A_CALL)
                status = NEEDS_NODES
                break
            progress[PREPARED] = 1
        if ends_here(tables, batch, event):
            end = _end(tables, state, event, registers)
            ways = reporting
            progress[CURSOR] = row
            status = _report(state, end, window, ways.every, ways.choice, ways.ladder, ways.seen, ways.counts)
            status = _report_bounded(state, end, window, ways.bounds, status)
            status = _report_totals(state, end, window, ways.folds, status)
            if status != DONE:
                break
        if not consumed(rules, state, event.partition):
            if lists is not None:
                _extend(tables, state, event, window, reporting.ladder, reporting.bounds)
            settle(tables, state, event)
        progress[REPORTED] = 0
        if registers is not None:
            progress[PREPARED] = progress[NEEDED] = 0
        if rules.counted:
            state.partitions.count[at(event.partition)] += 1
        row += 1
    progress[CURSOR] = row
    return status


@inlined
def _end(tables: Tables, state: State, event: Event, registers: Any) -> End:
    """Where the matches are that end at the event: in slots, or where runs with registers were selected."""
    end: End = end_of(tables, state.partitions, event)
    if registers is not None:
        return End(registers.ends, end.first, end.last, registers.selected, 0, end.position)
    return end


@inlined
def _window(batch: Batch, rules: Rules, state: State, event: Event) -> Window:
    """The stamp of a run that starts at the event, and the stamp from which on a start is inside the window."""
    rank = state.partitions.count[at(event.partition)] if rules.counted else event.position
    if rules.ticks == NO_BOUND:
        return Window(rank, 0, (rank - rules.events + 1 if rules.events != NO_BOUND else NO_BOUND), NO_BOUND)
    time = batch.times[at(event.row)]
    # Far times must not wrap around: nothing is earlier than the earliest time.
    low = time - rules.ticks if time >= NO_BOUND + rules.ticks else NO_BOUND
    if rules.events == NO_BOUND:
        return Window(time, 0, low, NO_BOUND)
    return Window(time, rank, low, rank - rules.events + 1)


@inlined
def _report(
    state: State, end: End, window: Window, every: Any, choice: Any, ladder: Any, seen: Any, counts: Any
) -> int:
    """Reports what ends here, in the one way that is not None."""
    status: int = DONE
    if every is not None:
        status = write_matches(state, end, window, every, None, None, None)
    if choice is not None:
        status = _write_chosen(state, end, window, choice, ladder)
    if seen is not None:
        status = write_participants(state, end, window, seen)
    if counts is not None:
        status = count_matches(state, end, window, counts)
    return status


@inlined
def _report_bounded(state: State, end: End, window: Window, bounds: Any, otherwise: int) -> int:
    """Reports what ends here and weighs enough; `otherwise` where there are no bounds."""
    if bounds is None:
        return otherwise
    if state.progress[REPORTING] == 0 and not weighed_anew(bounds, state, end, window):
        return NEEDS_STACK
    status: int = write_matches(state, end, window, 0, None, None, bounds)
    return status


@inlined
def _report_totals(state: State, end: End, window: Window, folds: Any, otherwise: int) -> int:
    """Reports what the matches that end here come to; `otherwise` where they are not folded."""
    if folds is None:
        return otherwise
    status: int = write_totals(state, end, window, folds)
    return status


@inlined
def _write_chosen(state: State, end: End, window: Window, choice: Any, ladder: Any) -> int:
    """Writes the matches of this end that the selector chooses."""
    progress, output = state.progress, state.output
    if ladder is not None and progress[REPORTING] == 0 and not _found_start(state, end, window, ladder):
        return NEEDS_STACK
    status: int = write_matches(state, end, window, 0, choice, ladder, None)  # the choice comes before the limit
    if status == DONE and progress[REPORTED] > 0:
        matches = progress[MATCHES]
        done = matches - progress[REPORTED]
        kept = keep_best(output, done, matches, choice, choice.largest)
        progress[REPORTED] = kept - done
        progress[MATCHES], progress[POSITIONS] = kept, output.offset[kept]
    return status


@inner
def _found_start(state: State, end: End, window: Window, ladder: Any) -> bool:
    """Puts into START where the earliest match of this end starts; False where the stack is too short for it."""
    arena, progress = state.arena, state.progress
    add_rungs(arena.node, ladder, progress[RUNGS], arena.used[USED])
    progress[RUNGS] = arena.used[USED]
    start = NOTHING
    for r in range(end.first, end.last):
        if end.reports[r, SOURCE] >= 0:
            start = earliest_start(
                arena, ladder, end.slots[end.row, end.reports[r, SOURCE]], start, window, state.stack.node
            )
            if start == TOO_DEEP:
                return False
    progress[START] = start
    return True


@inlined
def _extend(tables: Tables, state: State, event: Event, window: Window, ladder: Any, bounds: Any) -> None:
    """Extends and joins the partial matches as the program says; constant time an event.

    Whether a list is still alive is as good as random, and a wrong guess of the processor costs more than the move: a
    new cell is written in any case, and stays only if what it extends is alive.
    """
    arena, slots, scratch, p = state.arena, state.partitions.slots, state.scratch, event.program
    previous = NOTHING
    for m in range(tables.programs[at(p), FIRST_MOVE], tables.programs[at(p), LAST_MOVE]):
        slot, source, mark = tables.moves[at(m), SLOT], tables.moves[at(m), SOURCE], tables.moves[at(m), MARK]
        if slot != previous:
            scratch[at(slot)] = NOTHING
            previous = slot
        marked = (event.position << MARK_BITS) | mark
        first_new = arena.used[USED]
        before = scratch[at(slot)]
        new = source < 0 or mark != 0
        if source < 0:
            held = True
            found = new_start(arena, marked, window)
        else:
            found = slots[at(event.partition), at(source)]
            held = found != NOTHING
            found = max(found, 0)
            held &= alive(arena, found, window)
            if mark != 0:
                found = new_cell(arena, found, marked)
                arena.used[USED] -= not held
        first_in_slot = before == NOTHING
        if first_in_slot | (not held) | (new & starts_later(arena, found, max(before, 0))):
            if new:
                arena.node[at(found), REST] = before  # the cell is new: nothing else points to it yet
            scratch[at(slot)] = found if held else before
        else:
            scratch[at(slot)] = join(arena, before, found, ladder is not None)
        if bounds is not None:
            for made in range(first_new, arena.used[USED]):  # the event's own cell, and groups
                weigh_event(bounds, event.row, mark, bounds.own, made)
                weigh(bounds, arena, made, window)
