"""What an event does to runs with registers: which of them pass its checks, what they store, where they go.

The moves of a program are those of `evaluate.advance`; each slot holds an ordered tree of partial matches
(`value_trees.py`) instead of a list. Nothing that exists is changed before all moves are made, so that an event for
which there is not enough room is simply begun again.
"""

from __future__ import annotations

from typing import Any

from ensue.kernels.arena import MARK_BITS, NOTHING, REST, USED, Arena, Window, alive, new_cell, new_start
from ensue.kernels.jit import at, inlined, inner, part
from ensue.kernels.register_checks import descend, find_bounds, has_room, held_list, passes, store
from ensue.kernels.register_cut import without_ended
from ensue.kernels.register_data import (
    ACTION,
    BOUND,
    CLOCK,
    CUT,
    EACH,
    KIND,
    LOST,
    MERGE,
    PASS,
    SIFT,
    Move,
    RegisterData,
)
from ensue.kernels.register_merge import merged
from ensue.kernels.stepping import (
    FIRST_MOVE,
    FIRST_REPORT,
    LAST_MOVE,
    LAST_REPORT,
    MARK,
    SLOT,
    SOURCE,
    Event,
    State,
    Tables,
)
from ensue.kernels.value_trees import between, compare, fork, put

#: Where no runs were selected yet.
_UNKNOWN = -2


@part
def prepare(tables: Tables, state: State, registers: RegisterData, event: Event, window: Window) -> bool:
    """Makes the trees of the slots that the program changes, in `scratch`, and the sets of what it reports.

    Gives False where there is not enough room: then nothing has happened.
    """
    began = state.arena.used[USED]
    _select(tables, state, registers, event, window)
    _move(tables, state, registers, event, window)
    if has_room(state.arena):
        return True
    state.arena.used[USED] = began
    return False


@part
def _select(tables: Tables, state: State, registers: RegisterData, event: Event, window: Window) -> None:
    """Finds the runs of each report. Here and below, what has no room stops, which shows at the end."""
    first, last = tables.programs[at(event.program), FIRST_REPORT], tables.programs[at(event.program), LAST_REPORT]
    for r in range(first, last):
        source = tables.reports[at(r), SOURCE]
        if source >= 0 and has_room(state.arena):
            root = state.partitions.slots[at(event.partition), at(source)]
            found = _taken(state.arena, registers, registers.reports, r, event.row, root, window)
            registers.selected[0, at(r - first)] = found


@part
def _move(tables: Tables, state: State, registers: RegisterData, event: Event, window: Window) -> None:
    """Makes the moves of the program, one after the other."""
    arena, scratch, p = state.arena, state.scratch, event.program
    previous = NOTHING
    for m in range(tables.programs[at(p), FIRST_MOVE], tables.programs[at(p), LAST_MOVE]):
        slot, source, mark = tables.moves[at(m), SLOT], tables.moves[at(m), SOURCE], tables.moves[at(m), MARK]
        if slot != previous:
            scratch[at(slot)] = NOTHING
            previous = slot
        if not has_room(arena):
            break
        move = Move(m, event.row, (event.position << MARK_BITS) | mark, mark != 0)
        kind, target, added = registers.moves[at(m), KIND], scratch[at(slot)], NOTHING
        root = state.partitions.slots[at(event.partition), at(source)] if source >= 0 else NOTHING
        if source < 0:
            added = new_start(arena, move.event, window)
        elif kind == PASS and target == NOTHING:
            scratch[at(slot)] = root if root != NOTHING and alive(arena, root, window) else NOTHING
        elif kind == MERGE:
            scratch[at(slot)] = merged(arena, registers, registers.spine, root, target, move, window)
        elif kind == CUT and target == NOTHING:
            scratch[at(slot)] = without_ended(arena, registers, root, move, window)
        elif kind in (PASS, EACH, CUT):
            scratch[at(slot)] = _each(arena, registers, root, target, move, window)
        else:
            added = _united(tables, arena, registers, event, source, root, move, window)
            if added != NOTHING and move.marks:
                added = new_cell(arena, added, move.event)
        if added != NOTHING:
            store(arena, registers, NOTHING, move)
            target = _without_lost(arena, registers, target, move)
            scratch[at(slot)] = put(arena, target, registers.key, added, move.marks, window, registers.way)


@part
def _united(
    tables: Tables,
    arena: Arena,
    registers: RegisterData,
    event: Event,
    source: int,
    root: int,
    move: Move,
    window: Window,
) -> int:
    """The union of the runs that a move takes; runs that also end with the event were selected for a report by now."""
    action, reports = registers.moves[at(move.number), ACTION], registers.reports
    first, last = tables.programs[at(event.program), FIRST_REPORT], tables.programs[at(event.program), LAST_REPORT]
    for r in range(first, last):
        if tables.reports[at(r), SOURCE] == source and reports[at(r), ACTION] == action:
            selected: int = registers.selected[0, at(r - first)]
            return selected
    found: int = _taken(arena, registers, registers.moves, move.number, event.row, root, window)
    return found


@inlined
def _without_lost(arena: Arena, registers: RegisterData, root: int, move: Move) -> int:
    """The tree without most of the runs that have waited too long: its root is any of them, and those before it go too.

    So the lost runs that stay are about as many as the others, or fewer, and nothing is copied.
    """
    clock = registers.moves[at(move.number), CLOCK]
    if clock >= 0:
        least = registers.columns.least[at(registers.moves[at(move.number), LOST]), at(move.row)]
        while root != NOTHING and arena.values[at(root), at(clock)] < least:
            root = arena.node[at(root), REST]
    return root


@inlined
def _taken(arena: Arena, registers: RegisterData, steps: Any, number: int, row: int, root: int, window: Window) -> int:
    """The union of the runs that a move or a report takes. It stops where the room ends, which shows at the end."""
    action, count = steps[at(number), ACTION], steps[at(number), BOUND]
    find_bounds(registers, action, count, row)
    first, last, walk = registers.first, registers.last, registers.walk
    if steps[at(number), KIND] != SIFT:
        found: int = between(arena, root, first, last, count, window, registers.way)
        return found
    found = NOTHING
    node, depth = descend(arena, root, first, count, walk, 0, window)
    while node != NOTHING and compare(arena.values, node, last, count) <= 0:
        own = held_list(arena, node, window)
        if own != NOTHING and passes(arena, registers, node, action, row):
            found = fork(arena, own, found, window)
            if not has_room(arena):
                break
        node, depth = descend(arena, arena.node[at(node), REST], first, count, walk, depth, window)
    return found


@inner
def _each(arena: Arena, registers: RegisterData, root: int, target: int, move: Move, window: Window) -> int:
    """The tree of the target with the runs that pass, each with what it has stored. It stops where the room ends."""
    action, count = registers.moves[at(move.number), ACTION], registers.moves[at(move.number), BOUND]
    find_bounds(registers, action, count, move.row)
    first, last, walk = registers.first, registers.last, registers.walk
    node, depth = descend(arena, root, first, count, walk, 0, window)
    while node != NOTHING and compare(arena.values, node, last, count) <= 0:
        own = held_list(arena, node, window)
        if own != NOTHING and passes(arena, registers, node, action, move.row):
            if not has_room(arena):
                break
            added = new_cell(arena, own, move.event) if move.marks else own
            store(arena, registers, node, move)
            target = put(arena, target, registers.key, added, move.marks, window, registers.way)
        node, depth = descend(arena, arena.node[at(node), REST], first, count, walk, depth, window)
    return target
