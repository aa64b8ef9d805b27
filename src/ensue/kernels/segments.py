"""What is folded over windows, whatever their length and however many overlap: no events are kept.

Counts and sums are whole numbers (`kernels/fixed_point.py`), so the sum over a window is exactly what is left of the
sum over all events of its partition without that over those before the window. The latter is noted where a window may
start.

Nothing is taken away from a maximum. It is kept in segments, from one event where a window may start to the next; the
last segment reaches up to now, and an event is folded into this one alone. A window is read along the segments from its
start on, and these then point as far as the last one, so that the next reading takes few steps: link and eval with
compressed paths (Tarjan 1979). That needs an associative operation and nothing else.

Numbers are in *lanes*, columns of integers whose meaning the layout says (`kernels/segment_lanes.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ensue.kernels.fixed_point import add_float, add_integer, subtract_sum
from ensue.kernels.jit import at, inlined, inner, kernel

NONE = -1
#: What an item folds: those up to SUM_OF_FLOATS are added up.
ALL, KNOWN, SUM_OF_INTEGERS, SUM_OF_FLOATS, LEAST, GREATEST, LEAST_FLOAT, GREATEST_FLOAT = range(8)
#: The columns of the table of items. A sum of floats begins with limb FIRST, and has SPECIAL lanes behind it.
WHAT, COLUMN, LANE, WIDTH, FIRST, SPECIAL = range(6)

LARGEST, SMALLEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min
_NAN, _INFINITY = 0x7FF8000000000000, 0x7FF0000000000000


class Layout(NamedTuple):
    """Which items have which lanes."""

    added: Any  # int64[items, 6]
    chosen: Any  # int64[items, 6]: the greatest of numbers, the least as the greatest of their complements


class FoldedEvents(NamedTuple):
    """The events of a batch, all of them, as far as they are folded."""

    numbers: Any  # int64[columns, n], floats as their bits
    known: Any  # bool[columns, n]
    partitions: Any  # int64[n], or nothing where there are no partitions
    begins: Any  # bool[n]: whether a window may start


class Segments(NamedTuple):
    """Segments in the order of their begins, and what each partition has come to."""

    begin: Any  # int64[capacity]: a position in the stream
    after: Any  # int64[capacity]: the segment that is read next, NONE behind the last one of a partition
    partition: Any  # int64[capacity]
    before: Any  # int64[capacity, lanes of sums]: the sums over all events of the partition before it
    chosen: Any  # int64[capacity, lanes of maxima]: of the segment
    last: Any  # int64[partitions]: the last segment of each, or NONE
    sums: Any  # int64[partitions, lanes of sums]: over all events
    used: Any  # int64[1]
    begun: Any  # int64[n]: of a batch, the segment that begins at each event where a window may start
    work: Any  # int64[capacity, or the number of partitions]: room for a path


@inlined
def _in_order(bits: int) -> int:
    """A number in the order of the floats: NaN above all, and no sign of zero."""
    if bits & LARGEST > _INFINITY:
        return _NAN
    if bits == SMALLEST:
        return 0
    return bits ^ LARGEST if bits < 0 else bits


@kernel
def floats_of(numbers: Any, least: bool, bits: Any) -> None:
    """The bits of floats from numbers in their order, or from the complements of these."""
    for i in range(len(numbers)):
        number = ~numbers[at(i)] if least else numbers[at(i)]
        bits[at(i)] = number ^ LARGEST if number < 0 else number


@inlined
def _add(items: Any, sums: Any, row: int, events: FoldedEvents, event: int) -> None:
    """Adds what is summed up of an event to a row."""
    for i in range(len(items)):
        what, column, lane = items[at(i), WHAT], items[at(i), COLUMN], items[at(i), LANE]
        if what == ALL:
            sums[at(row), at(lane)] += 1
        elif events.known[at(column), at(event)]:
            number = events.numbers[at(column), at(event)]
            if what == KNOWN:
                sums[at(row), at(lane)] += 1
            elif what == SUM_OF_INTEGERS:
                add_integer(sums, row, lane, number)
            else:
                add_float(sums, row, lane, items[at(i), WIDTH], items[at(i), FIRST], number)


@inlined
def _choose(items: Any, chosen: Any, row: int, events: FoldedEvents, event: int) -> None:
    """Takes the values of an event into the maxima of a row."""
    for i in range(len(items)):
        what, column, lane = items[at(i), WHAT], items[at(i), COLUMN], items[at(i), LANE]
        if events.known[at(column), at(event)]:
            number = events.numbers[at(column), at(event)]
            if what >= LEAST_FLOAT:
                number = _in_order(number)
            if what in (LEAST, LEAST_FLOAT):
                number = ~number
            if number > chosen[at(row), at(lane)]:
                chosen[at(row), at(lane)] = number


@inlined
def _begin(segments: Segments, k: int, position: int) -> int:
    """A new last segment of the partition."""
    new: int = segments.used[0]
    segments.used[0] = new + 1
    segments.begin[at(new)], segments.after[at(new)], segments.partition[at(new)] = position, NONE, k
    for lane in range(segments.before.shape[1]):
        segments.before[at(new), at(lane)] = segments.sums[at(k), at(lane)]
    for lane in range(segments.chosen.shape[1]):
        segments.chosen[at(new), at(lane)] = SMALLEST
    last = segments.last[at(k)]
    if last != NONE:
        segments.after[at(last)] = new
    segments.last[at(k)] = new
    return new


@inlined
def _take(layout: Layout, segments: Segments, events: FoldedEvents, base: int, share: Any, row: int, stop: int) -> None:
    """Folds the events from `row` up to `stop`.

    Of the partitions, only those are looked at whose number has the last bits of `share`.
    """
    keyed = len(events.partitions) > 0
    for event in range(row, stop):
        k = events.partitions[at(event)] if keyed else 0
        if k & share[1] != share[0]:
            continue
        if events.begins[at(event)]:
            segments.begun[at(event)] = _begin(segments, k, base + event)
        last = segments.last[at(k)]
        if last != NONE:
            _add(layout.added, segments.sums, k, events, event)
            _choose(layout.chosen, segments.chosen, last, events, event)


@kernel
def take_events(
    layout: Layout, segments: Segments, events: FoldedEvents, base: int, share: Any, cursor: Any, stop: int
) -> None:
    """Folds the events from the cursor up to `stop`."""
    _take(layout, segments, events, base, share, cursor[0], stop)
    cursor[0] = max(cursor[0], stop)


@kernel
def read_windows(
    layout: Layout, segments: Segments, events: FoldedEvents, base: int, share: Any, cursor: Any, spans: Any, out: Any
) -> None:
    """What is folded over each window, from `spans[0]` to `spans[1]`, in the order in which they become known.

    Events are folded up to the end of each. A row of `out[0]` has the sums of a window, and of `out[1]` its maxima.
    """
    summed, greatest = out
    for w in range(len(spans[0])):
        stop = spans[1][at(w)] - base + 1
        if stop > cursor[0]:
            _take(layout, segments, events, base, share, cursor[0], stop)
            cursor[0] = stop
        begin = spans[0][at(w)]
        segment = segments.begun[at(begin - base)] if begin >= base else _beginning_at(segments, begin)
        _subtract(layout.added, segments, segment, summed, w)
        if greatest.shape[1] > 0:
            _compress(segments, segment)
            after = segments.after[at(segment)]
            for lane in range(greatest.shape[1]):
                number = segments.chosen[at(segment), at(lane)]
                if after != NONE:
                    number = max(number, segments.chosen[at(after), at(lane)])
                greatest[at(w), at(lane)] = number


@inlined
def _subtract(items: Any, segments: Segments, segment: int, summed: Any, w: int) -> None:
    """The sums since a segment began."""
    k = segments.partition[at(segment)]
    for i in range(len(items)):
        what, lane = items[at(i), WHAT], items[at(i), LANE]
        if what <= KNOWN:
            summed[at(w), at(lane)] = segments.sums[at(k), at(lane)] - segments.before[at(segment), at(lane)]
            continue
        behind = lane + items[at(i), WIDTH]
        subtract_sum(summed, w, segments.sums, k, segments.before, segment, lane, behind)
        for special in range(behind, behind + items[at(i), SPECIAL]):
            summed[at(w), at(special)] = segments.sums[at(k), at(special)] - segments.before[at(segment), at(special)]


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


@inlined
def _compress(segments: Segments, segment: int) -> None:
    """Lets a segment, and all on its way, reach up to the last one of its partition."""
    depth = 0
    after = segments.after[at(segment)]
    if after == NONE:
        return
    while segments.after[at(after)] != NONE:
        segments.work[at(depth)] = segment
        depth += 1
        segment, after = after, segments.after[at(after)]
    # The one that is left points to the last one already.
    while depth > 0:
        depth -= 1
        behind, segment = segment, segments.work[at(depth)]
        _join(segments, segment, behind)
        segments.after[at(segment)] = after


@inlined
def _join(segments: Segments, segment: int, behind: int) -> None:
    """Takes what stands behind a segment into it."""
    for lane in range(segments.chosen.shape[1]):
        if segments.chosen[at(behind), at(lane)] > segments.chosen[at(segment), at(lane)]:
            segments.chosen[at(segment), at(lane)] = segments.chosen[at(behind), at(lane)]


@kernel
def keep_begun(segments: Segments, alive: Any, place: Any) -> None:
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
            _join(segments, s, after)
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
            for lane in range(segments.before.shape[1]):
                segments.before[new, lane] = segments.before[s, lane]
            for lane in range(segments.chosen.shape[1]):
                segments.chosen[new, lane] = segments.chosen[s, lane]
    segments.used[0] = kept
