"""What is folded over windows, in segments between their starts: no events, and no inverse of what is folded.

A segment begins where a window may start and reaches to the next such event of its partition; the last one reaches up
to now. An event is folded into the last segment alone. A window is read along the segments from its start on, and
these then point as far as the last one, so that the next reading takes few steps: link and eval with compressed
paths (Tarjan 1979). That needs an associative operation and nothing else.

A segment is a row of *lanes*, integers whose meaning the items of a layout say (`kernels/segment_lanes.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.fixed_point import add_float, add_integer, add_sum
from ensue.kernels.jit import inlined, inner, kernel

NONE = -1
#: What an item folds.
ALL, KNOWN, SUM_OF_INTEGERS, SUM_OF_FLOATS, LEAST, GREATEST, LEAST_FLOAT, GREATEST_FLOAT = range(8)
#: The columns of the table of items; FIRST is the first limb of a sum of floats.
WHAT, COLUMN, LANE, WIDTH, FIRST = range(5)

LARGEST, SMALLEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min
_NAN = 0x7FF8000000000000


class FoldedEvents(NamedTuple):
    """The events of a batch, all of them, as far as they are folded."""

    numbers: Any  # int64[columns, n], floats as their bits
    known: Any  # bool[columns, n]
    partitions: Any  # int64[n], or nothing where there are no partitions
    begins: Any  # bool[n]: whether a window may start


class Segments(NamedTuple):
    """Segments in the order of their begins."""

    begin: Any  # int64[capacity]: a position in the stream
    after: Any  # int64[capacity]: the segment that is read next, NONE behind the last one of a partition
    partition: Any  # int64[capacity]
    lanes: Any  # int64[capacity, lanes]
    last: Any  # int64[partitions]: the last segment of each, or NONE
    used: Any  # int64[1]
    begun: Any  # int64[n]: of a batch, the segment that begins at each event where a window may start
    work: Any  # int64[capacity, or the number of partitions]: room for a path


@inlined
def clear(items: Any, lanes: Any, row: int) -> None:
    """Makes the row one of no events."""
    for lane in range(lanes.shape[1]):
        lanes[row, lane] = 0
    for i in range(len(items)):
        what = items[i, WHAT]
        if what in (LEAST, LEAST_FLOAT):
            lanes[row, items[i, LANE]] = LARGEST
        elif what >= LEAST:
            lanes[row, items[i, LANE]] = SMALLEST


@inlined
def _in_order(bits: int) -> int:
    """A number in the order of the floats: NaN above all, and no sign of zero."""
    if bits & LARGEST > 0x7FF0000000000000:
        return _NAN
    if bits == SMALLEST:
        return 0
    return bits ^ LARGEST if bits < 0 else bits


@inner
def fold(items: Any, lanes: Any, row: int, events: FoldedEvents, event: int) -> None:
    """Folds an event into a row."""
    for i in range(len(items)):
        what, column, lane = items[i, WHAT], items[i, COLUMN], items[i, LANE]
        if what == ALL:
            lanes[row, lane] += 1
            continue
        if not events.known[column, event]:
            continue
        number = events.numbers[column, event]
        if what == KNOWN:
            lanes[row, lane] += 1
        elif what == SUM_OF_INTEGERS:
            add_integer(lanes, row, lane, number)
        elif what == SUM_OF_FLOATS:
            add_float(lanes, row, lane, items[i, WIDTH], items[i, FIRST], number)
        else:
            if what >= LEAST_FLOAT:
                number = _in_order(number)
            if what in (LEAST, LEAST_FLOAT):
                lanes[row, lane] = min(lanes[row, lane], number)
            else:
                lanes[row, lane] = max(lanes[row, lane], number)


@inner
def join(items: Any, lanes: Any, row: int, others: Any, other: int) -> None:
    """Folds what stands behind, in row `other` of `others`, into a row."""
    for i in range(len(items)):
        what, lane = items[i, WHAT], items[i, LANE]
        if what <= KNOWN:
            lanes[row, lane] += others[other, lane]
        elif what == SUM_OF_INTEGERS:
            add_sum(lanes, row, others, other, lane, 2)
        elif what == SUM_OF_FLOATS:
            width = items[i, WIDTH]
            add_sum(lanes, row, others, other, lane, width)
            lanes[row, lane + width] |= others[other, lane + width]
        elif what in (LEAST, LEAST_FLOAT):
            lanes[row, lane] = min(lanes[row, lane], others[other, lane])
        else:
            lanes[row, lane] = max(lanes[row, lane], others[other, lane])


@inlined
def _take(items: Any, segments: Segments, events: FoldedEvents, base: int, share: Any, row: int, stop: int) -> None:
    """Folds the events from `row` up to `stop`, each into the last segment of its partition.

    Where a window may start, that is a new one. Of the partitions, only those are looked at whose number has the last
    bits of `share`.
    """
    keyed = len(events.partitions) > 0
    for event in range(row, stop):
        k = events.partitions[event] if keyed else 0
        if k & share[1] != share[0]:
            continue
        last = segments.last[k]
        if events.begins[event]:
            new = segments.used[0]
            segments.used[0] = new + 1
            segments.begin[new], segments.after[new], segments.partition[new] = base + event, NONE, k
            segments.begun[event] = new
            clear(items, segments.lanes, new)
            if last != NONE:
                segments.after[last] = new
            segments.last[k] = last = new
        if last != NONE:
            fold(items, segments.lanes, last, events, event)


@kernel
def take_events(
    items: Any, segments: Segments, events: FoldedEvents, base: int, share: Any, cursor: Any, stop: int
) -> None:
    """Folds the events from the cursor up to `stop`."""
    _take(items, segments, events, base, share, cursor[0], stop)
    cursor[0] = max(cursor[0], stop)


@kernel
def read_windows(
    items: Any, segments: Segments, events: FoldedEvents, base: int, share: Any, cursor: Any, spans: Any, out: Any
) -> None:
    """What is folded over each window, from `spans[0]` to `spans[1]`, in the order in which they become known.

    Events are folded up to the end of each. The row of `out` for a window has the lanes of a segment.
    """
    for w in range(len(spans[0])):
        stop = spans[1][w] - base + 1
        if stop > cursor[0]:
            _take(items, segments, events, base, share, cursor[0], stop)
            cursor[0] = stop
        begin = spans[0][w]
        segment = segments.begun[begin - base] if begin >= base else _beginning_at(segments, begin)
        _compress(items, segments, segment)
        for lane in range(out.shape[1]):
            out[w, lane] = segments.lanes[segment, lane]
        if segments.after[segment] != NONE:
            join(items, out, w, segments.lanes, segments.after[segment])


@inner
def _beginning_at(segments: Segments, position: int) -> int:
    low, high = 0, segments.used[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if segments.begin[middle] < position:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _compress(items: Any, segments: Segments, segment: int) -> None:
    """Lets a segment, and all on its way, reach up to the last one of its partition."""
    depth = 0
    after = segments.after[segment]
    while after != NONE and segments.after[after] != NONE:
        segments.work[depth] = segment
        depth += 1
        segment, after = after, segments.after[after]
    # The one that is left points to the last one already.
    for d in range(depth - 1, -1, -1):
        before = segments.work[d]
        join(items, segments.lanes, before, segments.lanes, segment)
        segments.after[before] = segments.after[segment]
        segment = before


@kernel
def keep_begun(items: Any, segments: Segments, alive: Any, place: Any) -> None:
    """Keeps the segments at which an open window began, each joined with those behind that go, and the last ones.

    `place` has room for the new numbers.
    """
    used = segments.used[0]
    for k in range(len(segments.last)):
        segments.work[k] = 0
    for s in range(used - 1, -1, -1):
        after = segments.after[s]
        # Those behind were looked at before, so what follows a dead one is alive, or the last one.
        if after != NONE and not alive[after] and segments.after[after] != NONE:
            join(items, segments.lanes, s, segments.lanes, after)
            segments.after[s] = segments.after[after]
        if alive[s]:
            segments.work[segments.partition[s]] = 1
    kept = 0
    for s in range(used):
        k = segments.partition[s]
        place[s] = NONE
        if alive[s] or (segments.last[k] == s and segments.work[k] == 1):
            place[s] = kept
            kept += 1
    for k in range(len(segments.last)):
        if segments.last[k] != NONE:
            segments.last[k] = place[segments.last[k]]
    for s in range(used):
        new = place[s]
        if new != NONE:
            segments.begin[new], segments.partition[new] = segments.begin[s], segments.partition[s]
            segments.after[new] = NONE if segments.after[s] == NONE else place[segments.after[s]]
            for lane in range(segments.lanes.shape[1]):
                segments.lanes[new, lane] = segments.lanes[s, lane]
    segments.used[0] = kept
