"""What evaluators step over, and what all of them do at an event alike.

An evaluator is driven by tables, so that it is compiled once, not once a query. It stops and says why when something
is missing that is made outside: a program, room for nodes, room for output, a deeper stack. Called again it goes on
exactly where it was, in the middle of an enumeration if need be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.arena import NOTHING, USED, Arena
from ensue.kernels.jit import at, inlined, inner

# Why the evaluator stopped.
DONE, NEEDS_PROGRAM, NEEDS_NODES, NEEDS_OUTPUT, NEEDS_STACK, TOO_MANY = 0, 1, 2, 3, 4, 5

# Entries of the program table that are no program.
UNKNOWN, NO_CHANGE = -1, 0

# The columns of the table of programs: the configuration after a program, how many slots that has, and which rows of
# the other tables are its moves and its reports.
AFTER, WIDTH, FIRST_MOVE, LAST_MOVE, FIRST_REPORT, LAST_REPORT = range(6)
# The columns of the tables of moves and of reports: which slot they take runs from (below 0: a run starts), how they
# mark the event, and which slot a move moves them to.
SOURCE, MARK, SLOT = range(3)

# The progress of the evaluator: where it is in a batch.
CURSOR, REPORTING, NODE, DEPTH, STACKED, REPORTED, EPOCH, MATCHES, POSITIONS, NEEDED, PREPARED, WALK = range(12)
RUNGS, START, COUNTED = 12, 13, 14
PROGRESS = 15

# CONSUME BY
CONSUME_NONE, CONSUME_PARTITION, CONSUME_ANY = 0, 1, 2

NO_BOUND = np.iinfo(np.int64).min


class Tables(NamedTuple):
    """Programs as tables; the names of their columns are above."""

    program: Any  # int32[configurations, classes]
    programs: Any  # int32[programs, 6]
    moves: Any  # int32[moves, 3]
    reports: Any  # int32[reports, 2]


class Partitions(NamedTuple):
    """The state of each partition: its configuration, the node of each slot, its count of events, its epoch."""

    configuration: Any  # int32[partitions]
    slots: Any  # int64[partitions, width]
    count: Any  # int64[partitions]
    epoch: Any  # int64[partitions]


class Columns(NamedTuple):
    """At each event of a batch: the least and the greatest value that passes each check, and what is stored."""

    least: Any  # int64[checks, n]
    greatest: Any
    stored: Any  # int64[stores, n]
    terms: Any  # int64[terms, n]: what formulas take of the event


class Batch(NamedTuple):
    """The events of a batch as the evaluator sees them."""

    classes: Any  # uint16[n]
    partitions: Any  # int64[n], where the query has partitions
    times: Any  # int64[n], where a window is in time
    positions: Any  # int64[n], where events that change nothing were left out
    base: int  # where none were: the position of the first event
    columns: Any  # Columns, where the query has registers
    folded: Any = None  # AllEvents, where windows are found by their ends; Weights, where matches are folded
    reach: Any = None  # int64[sums, 2]: how large and how small the floats are that registers add up
    weights: Any = None  # float64[bounds, n]: what events weigh, where a filter on aggregates bounds that
    report_from: int = 0  # what ends before this position is not reported: a slice of the stream starts earlier


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
    union: bool  # whether the matches of an end are reported as one: all events that took part


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


class State(NamedTuple):
    """All that the evaluator writes to: what is open between two events, where it is among them, what it has found."""

    arena: Arena
    partitions: Partitions
    scratch: Any  # int64[width]: room for a node for each slot
    progress: Any  # int64[PROGRESS]
    stack: Any  # the enumeration's own memory
    output: Output


class Reporting(NamedTuple):
    """How matches are reported: in one of seven ways. What belongs to the others is None."""

    every: Any  # every match is written: at most how many of an end, 0 for all
    choice: Any  # a Choice is left at the end of matches ...
    ladder: Any  # ... int64[nodes, 6], where the match that starts first is the one to choose
    seen: Any  # int64[nodes]: the matches of an end are reported as one
    counts: Any  # Counts: matches are counted instead of written
    bounds: Any = None  # Bounds: every match is written that weighs enough
    folds: Any = None  # Folds: what the matches of an end come to is written


class End(NamedTuple):
    """An event at which matches end, and where they are: a report has those of its source in row `row`.

    A source below 0 stands for the match of this event alone.
    """

    reports: Any  # int32[reports, 2]: SOURCE and MARK
    first: int  # of the reports of this event
    last: int
    slots: Any  # int64[rows, slots]
    row: int
    position: int


class Event(NamedTuple):
    """An event that may change something."""

    row: int  # in the batch
    partition: int
    program: int
    position: int  # in the stream


@inlined
def next_event(tables: Tables, batch: Batch, rules: Rules, state: State, row: int) -> Event:
    """From a row of the batch on, the first event that may change something; behind the last row where none does.

    The program of an event that has none yet is UNKNOWN.
    """
    configuration, count, epoch = state.partitions.configuration, state.partitions.count, state.partitions.epoch
    classes, keys, progress = batch.classes, batch.partitions, state.progress
    k, p = 0, NO_CHANGE
    while row < len(classes):
        k = keys[at(row)] if rules.keyed else 0
        if k & rules.share_mask == rules.share:
            if rules.consume == CONSUME_ANY and epoch[at(k)] != progress[EPOCH]:
                restart(state.partitions, k)
                epoch[at(k)] = progress[EPOCH]
            p = tables.program[at(configuration[at(k)]), at(classes[at(row)])]
            if p != NO_CHANGE:
                break
            if rules.counted:
                count[at(k)] += 1
        row += 1
    position = batch.base + row
    if len(batch.positions) > 0 and row < len(classes):
        position = batch.positions[at(row)]
    return Event(row, k, p, position)


@inner
def restart(partitions: Partitions, k: int) -> None:
    """No run is open: the empty configuration has the number 0."""
    partitions.configuration[k] = 0
    for s in range(partitions.slots.shape[1]):
        partitions.slots[k, s] = NOTHING


@inlined
def has_room(tables: Tables, state: State, event: Event, nodes_a_move: int) -> bool:
    """Whether there is room for the nodes of the event's moves."""
    moves = tables.programs[at(event.program), LAST_MOVE] - tables.programs[at(event.program), FIRST_MOVE]
    if state.arena.used[USED] + moves * nodes_a_move <= len(state.arena.node):
        return True
    state.progress[NEEDED] = moves * nodes_a_move
    return False


@inlined
def ends_here(tables: Tables, batch: Batch, event: Event) -> bool:
    """Whether matches may end at the event that are to be reported."""
    reports = tables.programs[at(event.program), LAST_REPORT] > tables.programs[at(event.program), FIRST_REPORT]
    return reports and event.position >= batch.report_from


@inlined
def end_of(tables: Tables, partitions: Partitions, event: Event) -> End:
    """Where the matches are that end at the event."""
    first, last = tables.programs[at(event.program), FIRST_REPORT], tables.programs[at(event.program), LAST_REPORT]
    return End(tables.reports, first, last, partitions.slots, event.partition, event.position)


@inlined
def list_of(end: End, report: int) -> int:
    """The matches of a report, as a list in the match structure."""
    node: int = end.slots[at(end.row), at(end.reports[at(report), SOURCE])]
    return node


@inlined
def consumed(rules: Rules, state: State, k: int) -> bool:
    """Whether the matches of this event take the open runs away: none that started by now may be reported any more."""
    if rules.consume == CONSUME_NONE or state.progress[REPORTED] == 0:
        return False
    if rules.consume == CONSUME_ANY:
        state.progress[EPOCH] += 1
    restart(state.partitions, k)
    state.partitions.epoch[at(k)] = state.progress[EPOCH]
    return True


@inlined
def settle(tables: Tables, state: State, event: Event) -> None:
    """Puts what the moves have made into the slots, and the partition into the configuration after the program."""
    slots, configuration, k, p = state.partitions.slots, state.partitions.configuration, event.partition, event.program
    previous = NOTHING
    for m in range(tables.programs[at(p), FIRST_MOVE], tables.programs[at(p), LAST_MOVE]):
        slot = tables.moves[at(m), SLOT]
        if slot != previous:
            slots[at(k), at(slot)] = state.scratch[at(slot)]
            previous = slot
    after = tables.programs[at(p), AFTER]
    if configuration[at(k)] != after:
        configuration[at(k)] = after
        for s in range(tables.programs[at(p), WIDTH], slots.shape[1]):
            slots[at(k), at(s)] = NOTHING
