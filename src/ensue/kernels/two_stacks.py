"""Folds the matches that end at each event, in constant time an event whatever the window, without subtraction.

An event maps the vector of elements, one for each slot, to another: it is a matrix. A window holds a product of
matrices, which two stacks keep (Tangwongsan et al. on sliding-window aggregation). At some event, `mid`, all is put
on the front:

    front   for each start up to mid, the vector of all runs that start there or later, up to mid, as they stood at mid
    between the product of the matrices since mid
    own     the vector of the runs that started since mid

So what started inside the window is worth between * front + own, and a start that leaves the window takes its vector
with it. Where the front is used up, the events since mid, which are kept, are put on it, from the latest back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.jit import at, evaluator, inlined, inner, kernel
from ensue.kernels.lane_values import (
    UNIT,
    Lanes,
    Step,
    Weights,
    add,
    add_extended,
    add_product,
    clear,
    copy,
    set_unit,
)
from ensue.kernels.stack_pools import (
    AGAIN,
    BACK,
    FIRST,
    FIRST_SECOND,
    FREE,
    FRONT,
    LAST,
    LAST_SECOND,
    MID,
    NEW_OWN,
    NOTHING,
    NOW,
    OWN,
    PRODUCT,
    SETS,
    STARTS,
    SUM,
    UNITS,
    USED,
    Ends,
    Stacks,
    drop,
    drop_product,
    give_back,
    new_vector,
    take,
    write_end,
)
from ensue.kernels.stepping import (
    AFTER,
    CONSUME_ANY,
    CONSUME_NONE,
    CURSOR,
    DONE,
    EPOCH,
    FIRST_MOVE,
    FIRST_REPORT,
    LAST_MOVE,
    LAST_REPORT,
    MARK,
    MATCHES,
    NEEDED,
    NEEDS_NODES,
    NEEDS_OUTPUT,
    NEEDS_PROGRAM,
    NO_BOUND,
    NO_CHANGE,
    SLOT,
    SOURCE,
    UNKNOWN,
    WIDTH,
    Batch,
    Rules,
    Tables,
)

_RESTARTED = -2


class Window(NamedTuple):
    """At an event: the stamps of a run that starts there, and the earliest stamps that are inside the window."""

    stamp: int
    second: int
    low: int
    low_second: int


@inlined
def _window(batch: Batch, rules: Rules, rank: int, row: int) -> Window:
    if rules.ticks == NO_BOUND:
        return Window(rank, 0, (rank - rules.events + 1 if rules.events != NO_BOUND else NO_BOUND), NO_BOUND)
    time = batch.times[at(row)]
    low = time - rules.ticks if time >= NO_BOUND + rules.ticks else NO_BOUND
    if rules.events == NO_BOUND:
        return Window(time, 0, low, NO_BOUND)
    return Window(time, rank, low, rank - rules.events + 1)


@evaluator
def fold(
    tables: Tables,
    batch: Batch,
    rules: Rules,
    stacks: Stacks,
    lanes: Lanes,
    weights: Weights,
    progress: Any,
    ends: Ends,
) -> int:
    """Steps from the cursor to the end of the batch, or to where something is missing."""
    row, status = progress[CURSOR], DONE
    bounded = rules.events != NO_BOUND or rules.ticks != NO_BOUND
    while row < len(batch.classes):
        k = batch.partitions[at(row)] if rules.keyed else 0
        if k & rules.share_mask != rules.share:
            row += 1
            continue
        if rules.consume == CONSUME_ANY and stacks.epoch[at(k)] != progress[EPOCH]:
            drop(stacks, k)
            stacks.epoch[at(k)] = progress[EPOCH]
        p = tables.program[at(stacks.configuration[at(k)]), at(batch.classes[at(row)])]
        if p == NO_CHANGE:
            stacks.count[at(k)] += rules.counted
            row += 1
            continue
        if p == UNKNOWN:
            status = NEEDS_PROGRAM
            break
        position = batch.positions[at(row)] if len(batch.positions) > 0 else batch.base + row
        window = _window(batch, rules, stacks.count[at(k)] if rules.counted else position, row)
        status = _room(stacks, k, progress)
        if status == DONE and bounded:
            status = _slide(stacks, k, window, tables, lanes, progress)
        if status == _RESTARTED:
            status = DONE
            continue
        if status != DONE:
            break
        reported = False
        if tables.programs[at(p), LAST_REPORT] > tables.programs[at(p), FIRST_REPORT] and position >= batch.report_from:
            if progress[MATCHES] == len(ends.position):
                status = NEEDS_OUTPUT
                break
            _add_up(tables, stacks, lanes, weights, k, p, row)
            here = stacks.scratch[SUM] * stacks.width
            if stacks.cells.whole[at(here), 0] != 0:
                reported = True
                write_end(ends, progress, position, stacks.cells, here)
        if reported and rules.consume != CONSUME_NONE:
            _consume(stacks, rules, progress, k)
        else:
            starts = _move(tables, stacks, lanes, weights, k, p, row)
            if bounded:
                _keep(stacks, weights, k, p, row, starts, window)
        stacks.count[at(k)] += rules.counted
        row += 1
    progress[CURSOR] = row
    return status


@inlined
def _consume(stacks: Stacks, rules: Rules, progress: Any, k: int) -> None:
    progress[EPOCH] += rules.consume == CONSUME_ANY
    drop(stacks, k)
    stacks.epoch[at(k)] = progress[EPOCH]


@inner
def _room(stacks: Stacks, k: int, progress: Any) -> int:
    """Whether there are a vector and an event to take; says in NEEDED how many vectors there should be."""
    free = len(stacks.link) - stacks.vectors[USED] + stacks.vectors[AGAIN]
    events = len(stacks.event) - stacks.events[USED] + stacks.events[AGAIN]
    if free >= 1 and events >= 1:
        return DONE
    progress[NEEDED] = 1
    return NEEDS_NODES


# ---------------------------------------------------------------- the window


@inlined
def _is_dead(stamp: int, second: int, window: Window) -> bool:
    return stamp < window.low or second < window.low_second


@inner
def _slide(stacks: Stacks, k: int, window: Window, tables: Tables, lanes: Lanes, progress: Any) -> int:
    """Takes off the front what the window has left behind; where that is all of it, puts the events on it."""
    row = stacks.row
    _pop(stacks, k, window)
    if row[at(k), FRONT] != NOTHING:
        return DONE
    if row[at(k), MID] > 0:
        drop_product(stacks, k)
    if row[at(k), BACK] != NOTHING and not _is_dead(row[at(k), FIRST], row[at(k), FIRST_SECOND], window):
        return DONE
    if row[at(k), BACK] == NOTHING or _is_dead(row[at(k), LAST], row[at(k), LAST_SECOND], window):
        if stacks.configuration[at(k)] == 0:
            return DONE
        drop(stacks, k)
        return _RESTARTED
    if not put_on_front(stacks, k, tables, lanes):
        progress[NEEDED] = row[at(k), STARTS] + stacks.width + 1
        return NEEDS_NODES
    _pop(stacks, k, window)
    return DONE


@inner
def _pop(stacks: Stacks, k: int, window: Window) -> None:
    front = stacks.row[at(k), FRONT]
    while front != NOTHING and _is_dead(stacks.stamp[at(front), 0], stacks.stamp[at(front), 1], window):
        after = stacks.link[at(front)]
        give_back(stacks.vectors, stacks.link, front)
        front = after
    stacks.row[at(k), FRONT] = front


@inner
def put_on_front(stacks: Stacks, k: int, tables: Tables, lanes: Lanes) -> bool:
    """Puts the events since mid on the front: then nothing is between. False where there are too few vectors."""
    row, width = stacks.row, stacks.width
    free = len(stacks.link) - stacks.vectors[USED] + stacks.vectors[AGAIN]
    if free < row[at(k), STARTS] + width + 1:
        return False
    last = _carry_front(stacks, k, lanes)
    first = _unfold(stacks, k, tables, lanes)
    if last == NOTHING:
        row[at(k), FRONT] = first
    else:
        stacks.link[at(last)] = first
    now = row[at(k), NOW]
    for r in range(width):
        vector = row[at(k), at(PRODUCT + r)]
        if vector == NOTHING:
            vector = take(stacks.vectors, stacks.link)
            row[at(k), at(PRODUCT + r)] = vector
        for c in range(width):
            clear(stacks.cells, vector * width + c)
        if r < now:
            set_unit(stacks.cells, vector * width + r, lanes)
    row[at(k), MID] = now
    own = row[at(k), OWN]
    if own != NOTHING:
        for s in range(width):
            clear(stacks.cells, own * width + s)
    row[at(k), BACK], row[at(k), STARTS] = NOTHING, 0
    return True


@inner
def _carry_front(stacks: Stacks, k: int, lanes: Lanes) -> int:
    """The vectors that are on the front as they stand now; gives the last of them."""
    row, cells, width = stacks.row, stacks.cells, stacks.width
    new = stacks.scratch[NEW_OWN] * width
    front, last = row[at(k), FRONT], NOTHING
    while front != NOTHING:
        for r in range(row[at(k), NOW]):
            clear(cells, new + r)
            product = row[at(k), at(PRODUCT + r)] * width
            for c in range(row[at(k), MID]):
                add_product(cells, new + r, product + c, front * width + c, lanes)
            if row[at(k), OWN] != NOTHING:
                add(cells, new + r, row[at(k), OWN] * width + r, lanes)
        for r in range(width):
            if r < row[at(k), NOW]:
                copy(cells, front * width + r, new + r)
            else:
                clear(cells, front * width + r)
        last, front = front, stacks.link[at(front)]
    return last


@inner
def _unfold(stacks: Stacks, k: int, tables: Tables, lanes: Lanes) -> int:
    """The vectors of the starts since mid, as a list from the earliest on; the events are given back."""
    row, cells, width, now = stacks.row, stacks.cells, stacks.width, stacks.row[at(k), NOW]
    total = stacks.scratch[SUM] * width
    here, there = SETS, SETS + width  # the columns of the product of later events
    for s in range(width):
        clear(cells, total + s)
        for r in range(width):
            clear(cells, stacks.scratch[at(here + s)] * width + r)
        if s < now:
            set_unit(cells, stacks.scratch[at(here + s)] * width + s, lanes)
    first, e = NOTHING, row[at(k), BACK]
    while e != NOTHING:
        p = stacks.event[at(e), 1]
        for s in range(width):
            for r in range(now):
                clear(cells, stacks.scratch[at(there + s)] * width + r)
        begin, end = tables.programs[at(p), FIRST_MOVE], tables.programs[at(p), LAST_MOVE]
        for m in range(begin, end):
            slot, source, mark = tables.moves[at(m), SLOT], tables.moves[at(m), SOURCE], tables.moves[at(m), MARK]
            column = stacks.scratch[at(here + slot)] * width
            for r in range(now):
                to = total + r if source < 0 else stacks.scratch[at(there + source)] * width + r
                add_extended(cells, to, column + r, lanes, stacks.kept, Step(e, mark, source < 0))
        m = begin
        for s in range(tables.programs[at(p), WIDTH]):
            as_it_is = m == end or tables.moves[at(m), SLOT] != s  # moves are in the order of slots
            while m < end and tables.moves[at(m), SLOT] == s:
                m += 1
            for r in range(now if as_it_is else 0):
                to, of = stacks.scratch[at(there + s)] * width + r, stacks.scratch[at(here + s)] * width + r
                add(cells, to, of, lanes)
        if stacks.event[at(e), 4]:
            vector = take(stacks.vectors, stacks.link)
            for r in range(width):
                copy(cells, vector * width + r, total + r)
            stacks.stamp[at(vector), 0] = stacks.event[at(e), 2]
            stacks.stamp[at(vector), 1] = stacks.event[at(e), 3]
            stacks.link[at(vector)] = first
            first = vector
        here, there = there, here
        before = stacks.event[at(e), 0]
        stacks.event[at(e), 0] = stacks.events[FREE]
        stacks.events[FREE] = e
        stacks.events[AGAIN] += 1
        e = before
    return first


# ---------------------------------------------------------------- an event


@inner
def _add_up(tables: Tables, stacks: Stacks, lanes: Lanes, weights: Weights, k: int, p: int, row: int) -> None:
    """Puts into the first cell of the scratch vector what ends here."""
    cells, width, own = stacks.cells, stacks.width, stacks.row[at(k), OWN]
    front, mid = stacks.row[at(k), FRONT], stacks.row[at(k), MID]
    total = stacks.scratch[SUM] * width
    part = stacks.scratch[NEW_OWN] * width
    clear(cells, total)
    for r in range(tables.programs[at(p), FIRST_REPORT], tables.programs[at(p), LAST_REPORT]):
        source, mark = tables.reports[at(r), SOURCE], tables.reports[at(r), MARK]
        of = stacks.scratch[UNITS] * width + UNIT
        if source >= 0:
            clear(cells, part)
            if front != NOTHING:
                product = stacks.row[at(k), at(PRODUCT + source)] * width
                for c in range(mid):
                    add_product(cells, part, product + c, front * width + c, lanes)
            if own != NOTHING:
                add(cells, part, own * width + source, lanes)
            of = part
        add_extended(cells, total, of, lanes, weights, Step(row, mark, source < 0))


@inner
def _move(tables: Tables, stacks: Stacks, lanes: Lanes, weights: Weights, k: int, p: int, row: int) -> bool:
    """Moves own runs and the product as the program says; says whether runs start."""
    cells, width, rows = stacks.cells, stacks.width, stacks.row
    if rows[at(k), OWN] == NOTHING:
        rows[at(k), OWN] = new_vector(stacks)
    own, new = rows[at(k), OWN] * width, stacks.scratch[NEW_OWN] * width
    front, mid = rows[at(k), FRONT], rows[at(k), MID]
    starts, previous = False, NOTHING
    begin, end = tables.programs[at(p), FIRST_MOVE], tables.programs[at(p), LAST_MOVE]
    for m in range(begin, end):
        slot, source, mark = tables.moves[at(m), SLOT], tables.moves[at(m), SOURCE], tables.moves[at(m), MARK]
        step = Step(row, mark, source < 0)
        product = stacks.scratch[at(SETS + slot)] * width
        if slot != previous:
            clear(cells, new + slot)
            for c in range(mid if front != NOTHING else 0):
                clear(cells, product + c)
            previous = slot
        if source < 0:
            starts = True
            add_extended(cells, new + slot, stacks.scratch[UNITS] * width + UNIT, lanes, weights, step)
            continue
        add_extended(cells, new + slot, own + source, lanes, weights, step)
        if front != NOTHING:
            of = rows[at(k), at(PRODUCT + source)] * width
            for c in range(mid):
                add_extended(cells, product + c, of + c, lanes, weights, step)
    previous = NOTHING
    for m in range(begin, end):
        slot = tables.moves[at(m), SLOT]
        if slot != previous:
            copy(cells, own + slot, new + slot)
            if front != NOTHING:  # the vectors change places
                old = rows[at(k), at(PRODUCT + slot)]
                rows[at(k), at(PRODUCT + slot)] = stacks.scratch[at(SETS + slot)]
                stacks.scratch[at(SETS + slot)] = old
            previous = slot
    after = tables.programs[at(p), WIDTH]
    for s in range(after, rows[at(k), NOW]):
        clear(cells, own + s)
        for c in range(mid if front != NOTHING else 0):
            clear(cells, rows[at(k), at(PRODUCT + s)] * width + c)
    rows[at(k), NOW] = after
    stacks.configuration[at(k)] = tables.programs[at(p), AFTER]
    return starts


@inner
def _keep(stacks: Stacks, weights: Weights, k: int, p: int, row: int, starts: bool, window: Window) -> None:
    """Keeps the event, if a run has started since mid."""
    rows = stacks.row
    if starts:
        rows[at(k), LAST], rows[at(k), LAST_SECOND] = window.stamp, window.second
    if not starts and rows[at(k), BACK] == NOTHING:
        return
    e = stacks.events[FREE]
    if e == NOTHING:
        e = stacks.events[USED]
        stacks.events[USED] = e + 1
    else:
        stacks.events[FREE] = stacks.event[at(e), 0]
        stacks.events[AGAIN] -= 1
    if rows[at(k), BACK] == NOTHING:
        rows[at(k), FIRST], rows[at(k), FIRST_SECOND] = window.stamp, window.second
    stacks.event[at(e), 0] = rows[at(k), BACK]
    stacks.event[at(e), 1] = p
    stacks.event[at(e), 2], stacks.event[at(e), 3] = window.stamp, window.second
    stacks.event[at(e), 4] = starts
    for j in range(len(weights.bits)):
        stacks.kept.bits[at(j), at(e)] = weights.bits[at(j), at(row)]
        stacks.kept.whole[at(j), at(e)] = weights.whole[at(j), at(row)]
        stacks.kept.size[at(j), at(e)] = weights.size[at(j), at(row)]
        stacks.kept.exponent[at(j), at(e)] = weights.exponent[at(j), at(row)]
    rows[at(k), BACK] = e
    rows[at(k), STARTS] += starts


# ---------------------------------------------------------------- between batches


@kernel
def drop_dead(stacks: Stacks, low: Any, low_second: Any) -> None:
    """Drops what the windows of partitions have left behind, where that is all that is open there."""
    for k in range(len(stacks.configuration)):
        row = stacks.row
        gone = row[at(k), LAST] < low[at(k)] or row[at(k), LAST_SECOND] < low_second[at(k)]
        if gone or stacks.configuration[at(k)] == 0:
            drop(stacks, k)


@kernel
def drop_other_epochs(stacks: Stacks, epoch: int) -> None:
    """Drops what CONSUME BY ANY has taken away."""
    for k in range(len(stacks.configuration)):
        if stacks.epoch[at(k)] != epoch:
            drop(stacks, k)


@kernel
def put_all_on_front(stacks: Stacks, tables: Tables, lanes: Lanes, first: int) -> int:
    """Puts the events of all partitions on their fronts, from one on; gives the one for which there was no room."""
    for k in range(first, len(stacks.configuration)):
        some = stacks.row[at(k), BACK] != NOTHING or stacks.row[at(k), MID] > 0
        if some and not put_on_front(stacks, k, tables, lanes):
            return k
    return len(stacks.configuration)


@kernel
def begin_unit(stacks: Stacks, lanes: Lanes) -> None:
    """Makes the cell of a run without an event."""
    set_unit(stacks.cells, stacks.scratch[UNITS] * stacks.width + UNIT, lanes)
