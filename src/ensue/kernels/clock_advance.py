"""The evaluator of queries with one clock and bounds on one side: constant time an event, output-linear delay.

It is driven by the same tables as `evaluate.advance` and stops for the same reasons. Its partial matches are the lists
of `clock_lists.py` for upper bounds; for lower ones the queues of `waiting_lists.py`, or the trees of
`waiting_trees.py`, which take logarithmic time. Windows need nothing of their own here: they are checks of the clock.
"""

from __future__ import annotations

from ensue.kernels.arena import MARK_BITS, NOTHING, REST, STAMP, USED
from ensue.kernels.clock_enumeration import write_clock_matches
from ensue.kernels.clock_lists import NO_CHECK, NODES_A_MOVE, STOPPED, join, new_cell, new_start, passed
from ensue.kernels.clock_programs import CHECK, RESETS, WAITS, ClockSteps
from ensue.kernels.jit import at, evaluator, inlined
from ensue.kernels.stepping import (
    CURSOR,
    DONE,
    FIRST_MOVE,
    LAST_MOVE,
    MARK,
    NEEDS_NODES,
    NEEDS_PROGRAM,
    REPORTED,
    SLOT,
    SOURCE,
    UNKNOWN,
    Batch,
    Event,
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
from ensue.kernels.waiting_lists import queued, ripe
from ensue.kernels.waiting_trees import bound_of, pile_of, united


@evaluator
def advance(tables: Tables, batch: Batch, rules: Rules, state: State, steps: ClockSteps) -> int:
    """Steps from the cursor to the end of the batch, or to where something is missing."""
    progress, used = state.progress, state.arena.used
    row, status = progress[CURSOR], DONE
    while True:
        event = next_event(tables, batch, rules, state, row)
        row, p = event.row, event.program
        if row == len(batch.classes):
            break
        if p == UNKNOWN:
            status = NEEDS_PROGRAM
            break
        if not has_room(tables, state, event, NODES_A_MOVE):
            status = NEEDS_NODES
            break
        if ends_here(tables, batch, event):
            end = end_of(tables, state.partitions, event)
            status = write_clock_matches(state, steps, end, batch.columns, event.row, rules.limit)
            if status != DONE:
                break
        if not consumed(rules, state, event.partition):
            fresh = used[USED]
            _extend(tables, steps, state, batch, event)
            if steps.queues:
                _queue(tables, steps, state, event, fresh)
            settle(tables, state, event)
        progress[REPORTED] = 0
        row += 1
    progress[CURSOR] = row
    return status


@inlined
def _extend(tables: Tables, steps: ClockSteps, state: State, batch: Batch, event: Event) -> None:
    """Extends and joins the partial matches as the program says, those that pass their checks."""
    arena, scratch, p = state.arena, state.scratch, event.program
    fresh = arena.used[USED]
    previous = NOTHING
    for m in range(tables.programs[at(p), FIRST_MOVE], tables.programs[at(p), LAST_MOVE]):
        slot = tables.moves[at(m), SLOT]
        if slot != previous:
            scratch[at(slot)] = NOTHING
            previous = slot
        before = scratch[at(slot)]
        added = _moved(tables, steps, state, batch, event, m)
        if added == NOTHING:
            continue
        if steps.queues and steps.moves[at(m), WAITS] != 0 and added >= fresh:
            arena.node[at(added), REST] = before
        elif steps.trees:
            added = united(arena, before, added)
        elif before != NOTHING:
            added = join(arena, before, added, fresh)
        scratch[at(slot)] = added


@inlined
def _moved(tables: Tables, steps: ClockSteps, state: State, batch: Batch, event: Event, m: int) -> int:
    """What the move makes of the runs of its source that pass; NOTHING where none do."""
    arena, row = state.arena, event.row
    source, mark, check = tables.moves[at(m), SOURCE], tables.moves[at(m), MARK], steps.moves[at(m), CHECK]
    resets = steps.moves[at(m), RESETS] != 0
    marked = (event.position << MARK_BITS) | mark
    added: int
    now = -batch.times[at(row)] if steps.trees else batch.times[at(row)]
    if source < 0:
        added = new_start(arena, marked, now if resets else STOPPED)
        return pile_of(arena, added) if steps.trees else added
    added = state.partitions.slots[at(event.partition), at(source)]
    if steps.queues:
        if added != NOTHING and check >= 0:
            added = ripe(arena, added, batch.columns.greatest[at(check), at(row)])
        if added != NOTHING and mark != 0:
            added = new_cell(arena, added, marked, NO_CHECK, False, now if resets else STOPPED)
        return added
    bound = NO_CHECK
    if check >= 0:
        bound = bound_of(batch.columns, check, row) if steps.trees else batch.columns.least[at(check), at(row)]
    if added == NOTHING or arena.node[at(added), STAMP] < bound:
        return NOTHING
    if mark != 0:
        added = new_cell(arena, added, marked, bound, resets, now if resets else arena.node[at(added), STAMP])
        return pile_of(arena, added) if steps.trees else added
    if resets or check >= 0:  # never of a tree
        added = passed(arena, added, bound, resets, now)
    return added


@inlined
def _queue(tables: Tables, steps: ClockSteps, state: State, event: Event, fresh: int) -> None:
    """Makes queues of the lists whose first cells were made at this event, where the clock is still asked for."""
    p = event.program
    previous = NOTHING
    for m in range(tables.programs[at(p), FIRST_MOVE], tables.programs[at(p), LAST_MOVE]):
        slot = tables.moves[at(m), SLOT]
        if slot != previous and steps.moves[at(m), WAITS] != 0 and state.scratch[at(slot)] >= fresh:
            queued(state.arena, state.scratch[at(slot)], fresh)
        previous = slot
