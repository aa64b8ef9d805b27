"""The ordered search for row pattern matches whose conditions speak of the match: choices in order, and back.

A way through the pattern is a stack of places. At each place stand a point of the pattern and what the way remembers
there, in *cells*: rows that conditions go to, and aggregates so far. A place's cells are made from those below it and
never changed, so that to turn back is to forget. A failure is remembered by the point, the row and the cells that are
read from there on.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.fixed_point import NAN, NEGATIVE, POSITIVE, add_float, rounded_row
from ensue.kernels.formulas import holds
from ensue.kernels.jit import at, evaluator, inlined, inner
from ensue.kernels.row_walk import (
    DONE,
    FIRST_ROW,
    FULL,
    MATCHED,
    MATCHES,
    NO_ROW,
    PAST_LAST,
    ROW,
    TO_NEXT,
    Walked,
    WalkProgram,
    WalkRows,
    row_to_skip_to,
)
from ensue.kernels.value_trees import NULL

#: How a search ends, beside what a walk may end with.
NEEDS_STACK, OVER_BUDGET = 4, 5
#: The places of `state` behind those of a walk.
PARTITION, NUMBER, VARIABLE = 3, 4, 5
STATE = 6
#: What the search from one row gives instead of the length of its match.
_NONE, _UNDECIDED, _NO_ROOM, _NO_STACK, _TOO_LONG = -1, -2, -3, -4, -5
#: What a place gives instead of its next step.
_ACCEPT, _FAILED, _STOPPED = -1, -2, -3
_BEHIND_STEP = 2

# How a row changes cells.
FIRST, LAST, COUNT_ROWS, COUNT, ADD_WHOLE, ADD_FLOAT, LEAST, GREATEST = range(8)
#: The columns of a change: how, from which cell on, how many rows or limbs, which column, and the first limb.
HOW, CELL, WIDTH, COLUMN, LIMB = range(5)
# What a term is computed from.
AT_ROW, COUNTED, WHOLE_SUM, WHOLE_MEAN, FLOAT_SUM, FLOAT_MEAN, EXTREME, NUMBER_OF_MATCH = range(8)
#: The columns of a term are those of a change, and how many rows it goes on from its row.
STEP = 5

#: What a key has before the cells: the row and 1, the point, where the match begins, its number.
KEY = 4
_LARGEST = np.iinfo(np.int64).max
_NOT_A_NUMBER, _INFINITE = 0x7FF8000000000000, 0x7FF0000000000000


class Partitions(NamedTuple):
    begins: Any  # int64[partitions + 1]
    edge: Any  # int64[partitions]: from there on, not all is known that conditions ask
    numbers: Any  # int64[partitions]: how many matches came before these rows


class Asked(NamedTuple):
    """What conditions ask, and what a way must remember for it."""

    first_part: Any  # int64[variables + 1]: the parts of each variable's condition; part `p` is formula `p`
    first_need: Any  # int64[parts + 1]
    needs: Any  # int64: the terms of each part
    terms: Any  # int64[terms, 6]
    first_change: Any  # int64[variables + 1]
    changes: Any  # int64[changes, 5]
    empty: Any  # int64[cells]: the cells where a match begins
    first_key: Any  # int64[points + 1]
    key_cells: Any  # int64: the cells that are read from each point on
    of_start: Any  # bool[points]: whether what follows also depends on where the match begins
    of_number: bool  # likewise, on its number
    columns: Any  # int64[columns, rows]
    constants: Any  # int64[constants, 1]
    formulas: Any


class SearchRules(NamedTuple):
    skip: int
    budget: int  # the most steps from one row; 0 for any number
    within: int  # the longest time of a match, or below 0
    passed: int  # a time up to which no row will come, or NULL
    times: Any  # int64[rows], where there is such a time
    timeless: Any  # bool[rows]


class Room(NamedTuple):
    """The stack, and the failures, which are forgotten when there are too many."""

    point: Any  # int64[places]
    next: Any  # int64[places]: the choice to try next
    cells: Any  # int64[places, cells]
    values: Any  # int64[1, terms]
    key: Any  # int64[keys]
    failed: Any  # int64[a power of two, keys]; no row has a key of 0
    used: Any  # int64[2]: how many failures there are, and how many steps were taken from this row


_FAILURES, _STEPS = 0, 1


class _Match(NamedTuple):
    """Where a match begins, and the rows around it."""

    start: int
    begin: int  # of the partition
    end: int
    edge: int
    number: int


@evaluator
def search(
    program: WalkProgram,
    rows: WalkRows,
    partitions: Partitions,
    asked: Asked,
    rules: SearchRules,
    room: Room,
    state: Any,
    found: Walked,
) -> int:
    """Finds the matches from where `state` says on, until all are found or something is missing."""
    while state[PARTITION] < len(partitions.edge):
        p = state[PARTITION]
        begin, end, edge = partitions.begins[at(p)], partitions.begins[at(p + 1)], partitions.edge[at(p)]
        if state[ROW] < begin:
            state[ROW], state[NUMBER] = begin, partitions.numbers[at(p)] + 1
        while state[ROW] < edge:
            start = state[ROW]
            if rows.open_end and not rows.starts[at(start)]:
                state[ROW] += 1
                continue
            if state[MATCHES] >= len(found.start):
                return FULL
            match = _Match(start, begin, end, edge, state[NUMBER])
            length: int = _match_at(program, rows, asked, rules, room, match, state, found.steps)
            if length == _NONE:
                state[ROW] += 1
                continue
            if length == _UNDECIDED:
                rows.waits[at(start)] = True
                break
            if length < 0:
                return FULL if length == _NO_ROOM else NEEDS_STACK if length == _NO_STACK else OVER_BUDGET
            status: int = _go_on(program, rules, state, found, length)
            if status != DONE:
                return status
        state[PARTITION] += 1
        state[ROW] = -1
    return DONE


@inlined
def _go_on(program: WalkProgram, rules: SearchRules, state: Any, found: Walked, length: int) -> int:
    """Notes the match, and goes to the row from which the search goes on."""
    begin = state[MATCHED]
    found.start[at(state[MATCHES])] = state[ROW]
    state[MATCHES] += 1
    state[NUMBER] += 1
    state[MATCHED] = begin + length
    found.offset[at(state[MATCHES])] = begin + length
    if length == 0 or rules.skip == TO_NEXT:
        state[ROW] += 1
    elif rules.skip == PAST_LAST:
        state[ROW] += length
    else:
        place = row_to_skip_to(program, found.steps, begin, length, rules.skip)
        if place <= 0:
            return NO_ROW if place < 0 else FIRST_ROW
        state[ROW] += place
    return DONE


@inlined
def _match_at(
    program: WalkProgram,
    rows: WalkRows,
    asked: Asked,
    rules: SearchRules,
    room: Room,
    match: _Match,
    state: Any,
    steps: Any,
) -> int:
    """Writes the steps of the match that begins at its row and gives its length, or why there is none."""
    point = 1 if rows.is_first[at(match.start)] else 0
    if not rows.in_set[at(rows.live[at(match.start)]), at(point)]:
        return _NONE
    room.used[_STEPS] = 0
    room.point[0], room.next[0] = point, program.first[at(point)]
    for c in range(len(asked.empty)):
        room.cells[0, at(c)] = asked.empty[at(c)]
    depth = 0
    while True:
        if depth + 1 >= len(room.point):
            return _NO_STACK
        taken = _FAILED
        if match.start + depth == match.edge:
            # Where no row follows, the sets say that the match may end here.
            if not rows.open_end or program.places[at(program.first[at(room.point[at(depth)])])] == _ACCEPT:
                return depth
            if not _is_over(rules, match):
                return _UNDECIDED
            if _may_end(program, room.point[at(depth)]):
                return depth
        else:
            taken = _next_step(program, rows, asked, rules, room, match, depth, state)
        if taken == _ACCEPT:
            return depth
        if taken == _STOPPED:
            return _TOO_LONG
        if taken == _FAILED:
            _remember(asked, room, match, depth)
            if depth == 0:
                return _NONE
            depth -= 1
            continue
        if state[MATCHED] + depth >= len(steps):
            return _NO_ROOM
        steps[at(state[MATCHED] + depth)] = taken
        depth += 1
        room.point[at(depth)] = taken + _BEHIND_STEP
        room.next[at(depth)] = program.first[at(taken + _BEHIND_STEP)]


@inlined
def _next_step(
    program: WalkProgram,
    rows: WalkRows,
    asked: Asked,
    rules: SearchRules,
    room: Room,
    match: _Match,
    depth: int,
    state: Any,
) -> int:
    """The next choice at the place that holds; its cells are then those of the place above."""
    row = match.start + depth
    kind = rows.classes[at(row)]
    after = 0 if row + 1 == match.edge else rows.live[at(row + 1)]
    place, last = room.next[at(depth)], program.first[at(room.point[at(depth)] + 1)]
    in_time = rules.within < 0 or _is_within(rules, match.start, row)
    taken = _FAILED
    while place < last and taken == _FAILED:
        step = program.places[at(place)]
        place += 1
        if step < 0:
            taken = step  # the end of the match, or of an empty list
            break
        variable = program.variable[at(step)]
        if not in_time or not program.holds[at(kind), at(variable)]:
            continue
        if not rows.in_set[at(after), at(step + _BEHIND_STEP)]:
            continue
        _take(asked, room, depth, row, variable)
        _make_key(asked, room, match, depth + 1, step + _BEHIND_STEP)
        if room.failed[at(_slot(room)), 0] != 0:
            continue
        room.used[_STEPS] += 1
        if rules.budget > 0 and room.used[_STEPS] > rules.budget:
            state[VARIABLE] = variable
            taken = _STOPPED
        elif _is_true(asked, room, match, depth + 1, variable):
            taken = step
    room.next[at(depth)] = place
    return taken


@inlined
def _may_end(program: WalkProgram, point: int) -> bool:
    for place in range(program.first[at(point)], program.first[at(point + 1)]):
        if program.places[at(place)] == _ACCEPT:
            return True
    return False


@inlined
def _is_within(rules: SearchRules, start: int, row: int) -> bool:
    if rules.timeless[at(start)] or rules.timeless[at(row)]:
        return False
    return bool(abs(rules.times[at(row)] - rules.times[at(start)]) <= rules.within)


@inlined
def _is_over(rules: SearchRules, match: _Match) -> bool:
    """Whether all later rows come too late for a match that begins at the row."""
    if rules.within < 0 or rules.passed == NULL:
        return False
    if match.edge < match.end:
        return not _is_within(rules, match.start, match.edge)
    return bool(rules.passed - rules.times[at(match.start)] >= rules.within)


# ---------------------------------------------------------------- what a way remembers


@inlined
def _take(asked: Asked, room: Room, depth: int, row: int, variable: int) -> None:
    """Makes the cells above a place, once the row has the variable."""
    cells, above = room.cells, depth + 1
    for c in range(len(asked.empty)):
        cells[at(above), at(c)] = cells[at(depth), at(c)]
    for i in range(asked.first_change[at(variable)], asked.first_change[at(variable + 1)]):
        how, cell, width = asked.changes[at(i), HOW], asked.changes[at(i), CELL], asked.changes[at(i), WIDTH]
        if how == FIRST:
            for c in range(cell, cell + width):
                if cells[at(above), at(c)] < 0:
                    cells[at(above), at(c)] = row
                    break
            continue
        if how == LAST:
            for c in range(cell + width - 1, cell, -1):
                cells[at(above), at(c)] = cells[at(above), at(c - 1)]
            cells[at(above), at(cell)] = row
            continue
        value = 0 if how == COUNT_ROWS else asked.columns[at(asked.changes[at(i), COLUMN]), at(row)]
        if value == NULL:
            continue
        first_value = cells[at(above), at(cell)] == 0
        cells[at(above), at(cell)] += 1
        if how == ADD_WHOLE:
            cells[at(above), at(cell + 1)] += value
        elif how == ADD_FLOAT:
            add_float(cells, above, cell + 1, width, asked.changes[at(i), LIMB], _turned(value))
        elif how == LEAST:
            old = cells[at(above), at(cell + 1)]
            cells[at(above), at(cell + 1)] = value if first_value else min(old, value)
        elif how == GREATEST:
            old = cells[at(above), at(cell + 1)]
            cells[at(above), at(cell + 1)] = value if first_value else max(old, value)


@inlined
def _make_key(asked: Asked, room: Room, match: _Match, depth: int, point: int) -> None:
    """Writes by what a failure at a place is remembered."""
    key = room.key
    key[0], key[1] = match.start + depth + 1, point
    key[2] = match.start if asked.of_start[at(point)] else -1
    key[3] = match.number if asked.of_number else -1
    first, last = asked.first_key[at(point)], asked.first_key[at(point + 1)]
    for c in range(first, last):
        key[at(KEY + c - first)] = room.cells[at(depth), at(asked.key_cells[at(c)])]
    for k in range(KEY + last - first, len(key)):
        key[at(k)] = 0


@inner
def _slot(room: Room) -> int:
    """Where in the table of failures the key is, or would be."""
    key, failed = room.key, room.failed
    mixed = 0
    for k in range(len(key)):
        mixed = (mixed ^ key[at(k)]) * -7046029254386353131
        mixed ^= (mixed >> 32) & 0xFFFFFFFF
    slot = mixed & (len(failed) - 1)
    while failed[at(slot), 0] != 0:
        same = True
        for k in range(len(key)):
            if failed[at(slot), at(k)] != key[at(k)]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & (len(failed) - 1)
    return slot


@inner
def _remember(asked: Asked, room: Room, match: _Match, depth: int) -> None:
    """Notes that no way leads on from the place."""
    if 2 * room.used[_FAILURES] >= len(room.failed):
        for s in range(len(room.failed)):
            room.failed[at(s), 0] = 0
        room.used[_FAILURES] = 0
    _make_key(asked, room, match, depth, room.point[at(depth)])
    slot = _slot(room)
    for k in range(len(room.key)):
        room.failed[at(slot), at(k)] = room.key[at(k)]
    room.used[_FAILURES] += 1


# ---------------------------------------------------------------- what conditions come to


@inlined
def _is_true(asked: Asked, room: Room, match: _Match, depth: int, variable: int) -> bool:
    """Whether the condition of the variable is TRUE for the last row of the way."""
    for part in range(asked.first_part[at(variable)], asked.first_part[at(variable + 1)]):
        for n in range(asked.first_need[at(part)], asked.first_need[at(part + 1)]):
            term = asked.needs[at(n)]
            room.values[0, at(term)] = _value(asked, room, match, depth, term)
        if not holds(asked.formulas, part, room.values, 0, asked.constants, 0, False):
            return False
    return True


@inner
def _value(asked: Asked, room: Room, match: _Match, depth: int, term: int) -> int:
    """What a term comes to: a whole number, or the bits of a float so turned that their order is that of numbers."""
    how, cell, width = asked.terms[at(term), HOW], asked.terms[at(term), CELL], asked.terms[at(term), WIDTH]
    if how == NUMBER_OF_MATCH:
        number: int = match.number
        return number
    held: int = room.cells[at(depth), at(cell)]
    if how == AT_ROW:
        row = held + asked.terms[at(term), STEP]
        if held < 0 or row >= match.end or row < match.begin:
            return NULL
        found: int = asked.columns[at(asked.terms[at(term), COLUMN]), at(row)]
        return found
    if how == COUNTED:
        return held
    if held == 0:
        return NULL
    if how in (WHOLE_SUM, EXTREME):
        whole: int = room.cells[at(depth), at(cell + 1)]
        return whole
    if how == WHOLE_MEAN:
        return int(_bits_of(room.cells[at(depth), at(cell + 1)] / held))
    bits = _float_sum(room, depth, cell + 1, width, asked.terms[at(term), LIMB])
    if how == FLOAT_SUM:
        return int(_turned(bits))
    return int(_bits_of(np.int64(bits).view(np.float64) / held))


@inlined
def _float_sum(room: Room, depth: int, cell: int, width: int, limb: int) -> int:
    """The bits of the nearest float of a sum."""
    special = cell + width
    nan = room.cells[at(depth), at(special + NAN)]
    positive = room.cells[at(depth), at(special + POSITIVE)]
    negative = room.cells[at(depth), at(special + NEGATIVE)]
    if nan > 0 or (positive > 0 and negative > 0):
        return _NOT_A_NUMBER
    if positive > 0:
        return _INFINITE
    if negative > 0:
        return _INFINITE | NULL
    bits: int = rounded_row(room.cells, depth, cell, width, limb)
    return bits


@inlined
def _turned(bits: int) -> int:
    """Bits of a float as numbers in order, and back."""
    return bits if bits >= 0 else bits ^ _LARGEST


@inlined
def _bits_of(number: float) -> int:
    if math.isnan(number):
        return _NOT_A_NUMBER
    return int(_turned(np.float64(number).view(np.int64)))
