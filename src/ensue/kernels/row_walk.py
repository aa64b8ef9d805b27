"""The two passes over ordered rows that find row pattern matches without turning back.

Backward, each row gets a set: the points of the pattern from which a match can still end with the rows from there on.
It does not depend on where a match begins, so it is one automaton that reads the rows from their end. Forward from a
start, the first step of each list is taken that holds for the row and whose point is in the set of the next row. That
is the first way through the lists that works, which is the match. Both passes are linear, whatever the pattern.

Where more rows will come, the set at the end of the known ones has all points: whatever could still be. A walk that
takes the end of the match before it comes to the end of the rows has found the match, and no later row can change it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.jit import at, inlined, kernel

#: How a walk ends.
DONE, FULL, NO_ROW, FIRST_ROW = 0, 1, 2, 3
#: What a walk from a start gives for the end of its match, if it finds none.
_NO_ROOM, _UNDECIDED = -1, -2
#: Where the search goes on.
PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST = 0, 1, 2, 3
#: The places of `state`: the next row, how many matches there are, how many rows they have in all.
ROW, MATCHES, MATCHED = 0, 1, 2
_ACCEPT = -1
_BEHIND_STEP = 2


class WalkProgram(NamedTuple):
    """The lists of a program, and what is true of each class of rows."""

    first: Any  # int64[points + 1]
    places: Any  # int32
    variable: Any  # int32[steps]
    to_variable: Any  # bool[steps]: whether the step is of a variable that AFTER MATCH SKIP names
    holds: Any  # bool[classes, variables]


class WalkRows(NamedTuple):
    classes: Any  # int32[rows]
    live: Any  # int32[rows]: the number of the set of each row
    in_set: Any  # bool[sets, points]
    is_first: Any  # bool[rows]
    is_last: Any
    open_end: Any  # bool: whether more rows will come behind the last one of each partition
    starts: Any  # bool[rows] if they will, else empty: whether a match may begin at the row
    waits: Any  # likewise; filled: whether what begins at the row depends on later rows


class Walked(NamedTuple):
    """The matches: match `m` begins at row `start[m]` and has the steps from `offset[m]` to `offset[m + 1]`."""

    start: Any  # int64
    offset: Any  # int64
    steps: Any  # int32


@kernel
def live_sets(next_set: Any, classes: Any, is_last: Any, live: Any, row: int) -> int:
    """Fills `live` from the row backward; gives the row whose set is not known yet, -1 if there is none."""
    for r in range(row, -1, -1):
        after = 0 if is_last[at(r)] else live[at(r + 1)]
        found = next_set[at(after), at(classes[at(r)])]
        if found < 0:
            return r
        live[at(r)] = found
    return -1


@kernel
def walk(program: WalkProgram, rows: WalkRows, skip: int, state: Any, found: Walked) -> int:
    """Finds the matches from row `state[ROW]` on, until all are found or there is no room for one more."""
    row = state[ROW]
    while row < len(rows.classes):
        if rows.open_end and not rows.starts[at(row)]:
            row += 1
            continue
        point = 1 if rows.is_first[at(row)] else 0
        if not rows.in_set[at(rows.live[at(row)]), at(point)]:
            row += 1
            continue
        state[ROW] = row
        if state[MATCHES] >= len(found.start):
            return FULL
        end = _take(program, rows, point, row, found.steps, state[MATCHED])
        if end == _NO_ROOM:
            return FULL
        if end == _UNDECIDED:
            rows.waits[at(row)] = True
            while not rows.is_last[at(row)]:
                row += 1
            row += 1
            continue
        found.start[state[MATCHES]] = row
        begin, length = state[MATCHED], end - row
        state[MATCHES] += 1
        state[MATCHED] = begin + length
        found.offset[state[MATCHES]] = begin + length
        if length == 0 or skip == TO_NEXT:
            row += 1
        elif skip == PAST_LAST:
            row = end
        else:
            place = row_to_skip_to(program, found.steps, begin, length, skip)
            if place <= 0:
                return NO_ROW if place < 0 else FIRST_ROW
            row += place
    state[ROW] = row
    return DONE


@inlined
def _take(program: WalkProgram, rows: WalkRows, point: int, row: int, steps: Any, used: int) -> int:
    """Writes the steps of the match that begins at the row, and gives the row behind it, or why it does not."""
    begin = row
    while True:
        if row > begin and rows.is_last[at(row - 1)]:
            if rows.open_end and program.places[at(program.first[at(point)])] != _ACCEPT:
                return _UNDECIDED
            return row
        after = 0 if rows.is_last[at(row)] else rows.live[at(row + 1)]
        kind = rows.classes[at(row)]
        taken = _ACCEPT
        for place in range(program.first[at(point)], program.first[at(point + 1)]):
            step = program.places[at(place)]
            if step == _ACCEPT:
                break
            holds = program.holds[at(kind), at(program.variable[at(step)])]
            if holds and rows.in_set[at(after), at(step + _BEHIND_STEP)]:
                taken = step
                break
        if taken == _ACCEPT:
            return row
        if used >= len(steps):
            return _NO_ROOM
        steps[at(used)] = taken
        used += 1
        row += 1
        point = taken + _BEHIND_STEP


@inlined
def row_to_skip_to(program: WalkProgram, steps: Any, begin: int, length: int, skip: int) -> int:
    """How many rows behind the first one of the match the search goes on; -1 if no row has the variable."""
    found = -1
    for i in range(length):
        if program.to_variable[at(steps[at(begin + i)])]:
            found = i
            if skip == TO_FIRST:
                break
    return found
