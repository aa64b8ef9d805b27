"""What is folded over sets of runs, as the elements of a semiring: union adds two elements, extension multiplies them.

An element is a row of two arrays, `whole` and `size`, with *lanes*:

- The mask comes first: bit 0 says that there is a run at all, the others say what some run has: a value of a column, an
  infinity, NaN. No number decides whether something ends, since a number modulo 2^64 may be 0.
- A sum lane is a number of runs, or a sum over the events of all runs: its residue modulo 2^64 (or modulo a prime, for
  exact numbers), and a float near it, with an exponent of its own, so that it never overflows.
- A best lane is the least or the greatest of what runs are worth, and whether there are runs without a value: the best
  of runs that are extended follows from both.

Everything is commutative but the order of events, which nothing here asks for.

What is called for each event is taken in by its callers: the arrays that a call is given are a hundred words (measured:
a quarter of the time).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ensue.kernels.jit import at, inlined, inner

# What a sum lane is.
COUNT, SUM, WITHOUT = 0, 1, 2
# The columns of the table of best lanes: the column of weights; whether the least is the best; how the values of a run
# go together; whether they are floats; whether a run without an event is worth 0.
COLUMN, LEAST, TOGETHER, FLOATS, FROM_ZERO = range(5)
PLUS, GREATER, LESSER = 0, 1, 2
# The flags of a best lane: there are runs without a value, and with one.
NONE, SOME = 1, 2
ALIVE = 1
#: Exponents are multiples of this, so that few numbers need one.
STEP = 256
_LARGE, _SCALE = 2.0**STEP, 2.0**-STEP
_LOW = (1 << 32) - 1
#: The cell of a run without any event.
UNIT = 0


class Lanes(NamedTuple):
    """What is folded. Column `j` of weights counts where a move has a mark with `marked[mark, j]`, or starts a run."""

    kinds: Any  # int64[sums]
    columns: Any  # int64[sums]: the column of weights; -1 for none
    absolute: Any  # int64[sums]: whether the weight is without its sign
    best: Any  # int64[best lanes, 5]
    marked: Any  # int64[marks, columns]
    at_start: Any  # int64[columns]: whether only the first event of a run has the weight, whatever its mark
    modulus: int  # 0 for 2^64


class Weights(NamedTuple):
    """The weights of each event: bits of the mask, 0 for NULL; the number; the float near it, with its exponent."""

    bits: Any  # int64[columns, n]
    whole: Any  # int64[columns, n]
    size: Any  # float64[columns, n]
    exponent: Any  # int64[columns, n]


class Step(NamedTuple):
    """An event that extends runs: its row in the weights, how it is marked, and whether runs start with it."""

    row: int
    mark: int
    starts: bool


class Cells(NamedTuple):
    """Elements as rows: mask, residues, exponents, and flags, high and low words of best lanes; sizes and floats."""

    whole: Any  # int64[cells, 1 + 2 sums + 3 best]
    size: Any  # float64[cells, sums + best]


@inlined
def _reduced(number: int, modulus: int) -> int:
    return number % modulus if modulus != 0 else number


@inlined
def _add_size(cells: Cells, cell: int, lane: int, place: int, size: float, exponent: int) -> None:
    """Adds a float with an exponent to one of the cell's."""
    old, before = cells.size[at(cell), at(lane)], cells.whole[at(cell), at(place)]
    if size == 0.0:
        return
    if exponent == before or old == 0.0:
        old += size
        before = exponent
    elif exponent > before:
        old = size + (old * _SCALE if exponent - before == STEP else 0.0)
        before = exponent
    elif before - exponent == STEP:
        old += size * _SCALE
    if abs(old) >= _LARGE:
        old *= _SCALE
        before += STEP
    cells.size[at(cell), at(lane)] = old
    cells.whole[at(cell), at(place)] = before


@inlined
def clear(cells: Cells, cell: int) -> None:
    """The element of no runs."""
    for c in range(cells.whole.shape[1]):
        cells.whole[at(cell), at(c)] = 0
    for c in range(cells.size.shape[1]):
        cells.size[at(cell), at(c)] = 0.0


@inner
def set_unit(cells: Cells, cell: int, lanes: Lanes) -> None:
    """The element of one run without an event."""
    clear(cells, cell)
    sums = len(lanes.kinds)
    cells.whole[at(cell), 0] = ALIVE
    for lane in range(sums):
        if lanes.kinds[at(lane)] != SUM:
            cells.whole[at(cell), at(1 + lane)] = 1
            cells.size[at(cell), at(lane)] = 1.0
    for b in range(len(lanes.best)):
        flag = SOME if lanes.best[at(b), FROM_ZERO] else NONE
        cells.whole[at(cell), at(1 + 2 * sums + 3 * b)] = flag


@inlined
def copy(cells: Cells, to: int, of: int) -> None:
    for c in range(cells.whole.shape[1]):
        cells.whole[at(to), at(c)] = cells.whole[at(of), at(c)]
    for c in range(cells.size.shape[1]):
        cells.size[at(to), at(c)] = cells.size[at(of), at(c)]


@inlined
def _better(least: int, high: int, low: int, than_high: int, than_low: int) -> bool:
    if least:
        return high < than_high or (high == than_high and low < than_low)
    return high > than_high or (high == than_high and low > than_low)


@inlined
def _better_float(least: int, value: float, than: float) -> bool:
    """NaN is above every number."""
    if least:
        return value < than or (than != than and value == value)
    return value > than or (value != value and than == than)


@inner
def _offer(cells: Cells, cell: int, lanes: Lanes, b: int, high: int, low: int, value: float) -> None:
    """The value of some run in a best lane."""
    sums = len(lanes.kinds)
    place = 1 + 2 * sums + 3 * b
    flags = cells.whole[at(cell), at(place)]
    if lanes.best[at(b), FLOATS]:
        if flags & SOME == 0 or _better_float(lanes.best[at(b), LEAST], value, cells.size[at(cell), at(sums + b)]):
            cells.size[at(cell), at(sums + b)] = value
    elif flags & SOME == 0 or _better(
        lanes.best[at(b), LEAST], high, low, cells.whole[at(cell), at(place + 1)], cells.whole[at(cell), at(place + 2)]
    ):
        cells.whole[at(cell), at(place + 1)] = high
        cells.whole[at(cell), at(place + 2)] = low
    cells.whole[at(cell), at(place)] = flags | SOME


@inner
def _offer_both(
    cells: Cells, cell: int, lanes: Lanes, b: int, a: tuple[int, int, float], c: tuple[int, int, float]
) -> None:
    """What a run is worth that is made of two with these values."""
    together, floats = lanes.best[at(b), TOGETHER], lanes.best[at(b), FLOATS]
    if together == PLUS:
        low = a[1] + c[1]
        _offer(cells, cell, lanes, b, a[0] + c[0] + (low >> 32), low & _LOW, a[2] + c[2])
        return
    least = 1 if together == LESSER else 0
    first = _better_float(least, a[2], c[2]) if floats else _better(least, a[0], a[1], c[0], c[1])
    if first:
        _offer(cells, cell, lanes, b, a[0], a[1], a[2])
    else:
        _offer(cells, cell, lanes, b, c[0], c[1], c[2])


@inlined
def _best_of(cells: Cells, cell: int, sums: int, b: int) -> tuple[int, int, float]:
    place = 1 + 2 * sums + 3 * b
    return (
        cells.whole[at(cell), at(place + 1)],
        cells.whole[at(cell), at(place + 2)],
        cells.size[at(cell), at(sums + b)],
    )


@inlined
def add(cells: Cells, to: int, of: int, lanes: Lanes) -> None:
    """Adds an element: the runs of both."""
    if cells.whole[at(of), 0] == 0:
        return
    if cells.whole[at(to), 0] == 0:
        copy(cells, to, of)
        return
    sums = len(lanes.kinds)
    cells.whole[at(to), 0] |= cells.whole[at(of), 0]
    for lane in range(sums):
        residue = cells.whole[at(to), at(1 + lane)] + cells.whole[at(of), at(1 + lane)]
        cells.whole[at(to), at(1 + lane)] = _reduced(residue, lanes.modulus)
        place = 1 + sums + lane
        _add_size(cells, to, lane, place, cells.size[at(of), at(lane)], cells.whole[at(of), at(place)])
    for b in range(len(lanes.best)):
        flags = cells.whole[at(of), at(1 + 2 * sums + 3 * b)]
        if flags & SOME:
            value = _best_of(cells, of, sums, b)
            _offer(cells, to, lanes, b, value[0], value[1], value[2])
        cells.whole[at(to), at(1 + 2 * sums + 3 * b)] |= flags


@inlined
def _add_term(cells: Cells, to: int, lane: int, lanes: Lanes, a: int, la: int, b: int, lb: int) -> None:
    """Adds the product of a lane of one cell and a lane of another."""
    sums = len(lanes.kinds)
    product = cells.whole[at(a), at(1 + la)] * cells.whole[at(b), at(1 + lb)]
    cells.whole[at(to), at(1 + lane)] = _reduced(cells.whole[at(to), at(1 + lane)] + product, lanes.modulus)
    size = cells.size[at(a), at(la)] * cells.size[at(b), at(lb)]
    exponent = cells.whole[at(a), at(1 + sums + la)] + cells.whole[at(b), at(1 + sums + lb)]
    if abs(size) >= _LARGE:
        size *= _SCALE
        exponent += STEP
    _add_size(cells, to, lane, 1 + sums + lane, size, exponent)


@inlined
def add_product(cells: Cells, to: int, a: int, b: int, lanes: Lanes) -> None:
    """Adds the product of two elements: every run of one, extended with every run of the other."""
    mask_a, mask_b = cells.whole[at(a), 0], cells.whole[at(b), 0]
    if mask_a == 0 or mask_b == 0:
        return
    sums = len(lanes.kinds)
    if cells.whole[at(to), 0] == 0:
        clear(cells, to)
    cells.whole[at(to), 0] |= mask_a | mask_b
    for lane in range(sums):
        if lanes.kinds[at(lane)] == SUM:
            _add_term(cells, to, lane, lanes, a, lane, b, 0)
            _add_term(cells, to, lane, lanes, a, 0, b, lane)
        else:
            _add_term(cells, to, lane, lanes, a, lane, b, lane)
    for k in range(len(lanes.best)):
        place = 1 + 2 * sums + 3 * k
        flags_a, flags_b = cells.whole[at(a), at(place)], cells.whole[at(b), at(place)]
        value_a, value_b = _best_of(cells, a, sums, k), _best_of(cells, b, sums, k)
        if flags_a & flags_b & SOME:
            _offer_both(cells, to, lanes, k, value_a, value_b)
        if flags_a & SOME and flags_b & NONE:
            _offer(cells, to, lanes, k, value_a[0], value_a[1], value_a[2])
        if flags_b & SOME and flags_a & NONE:
            _offer(cells, to, lanes, k, value_b[0], value_b[1], value_b[2])
        cells.whole[at(to), at(place)] |= flags_a & flags_b & NONE


@inlined
def _weighs(lanes: Lanes, weights: Weights, step: Step, j: int) -> bool:
    """Whether the event has a weight in a column of theirs."""
    counts = step.starts if lanes.at_start[at(j)] else lanes.marked[at(step.mark), at(j)] != 0
    return counts and weights.bits[at(j), at(step.row)] != 0


@inlined
def add_extended(cells: Cells, to: int, of: int, lanes: Lanes, weights: Weights, step: Step) -> None:
    """Adds an element of which each run is extended with an event."""
    if cells.whole[at(of), 0] == 0:
        return
    if cells.whole[at(to), 0] == 0:
        clear(cells, to)
    sums = len(lanes.kinds)
    mask = cells.whole[at(of), 0]
    for j in range(len(lanes.at_start)):
        if _weighs(lanes, weights, step, j):
            mask |= weights.bits[at(j), at(step.row)]
    cells.whole[at(to), 0] |= mask
    for lane in range(sums):
        j = lanes.columns[at(lane)]
        weighs = j >= 0 and _weighs(lanes, weights, step, max(j, 0))
        if lanes.kinds[at(lane)] == WITHOUT and weighs:
            continue  # none of them is without a value now
        residue = cells.whole[at(of), at(1 + lane)]
        place = 1 + sums + lane
        _add_size(cells, to, lane, place, cells.size[at(of), at(lane)], cells.whole[at(of), at(place)])
        if weighs and lanes.kinds[at(lane)] == SUM:
            number, size = weights.whole[at(j), at(step.row)], weights.size[at(j), at(step.row)]
            if lanes.absolute[at(lane)]:
                number, size = 0, abs(size)
            residue += _reduced(number, lanes.modulus) * cells.whole[at(of), 1]
            size *= cells.size[at(of), 0]
            exponent = weights.exponent[at(j), at(step.row)] + cells.whole[at(of), at(1 + sums)]
            if abs(size) >= _LARGE:
                size *= _SCALE
                exponent += STEP
            _add_size(cells, to, lane, place, size, exponent)
        cells.whole[at(to), at(1 + lane)] = _reduced(cells.whole[at(to), at(1 + lane)] + residue, lanes.modulus)
    for b in range(len(lanes.best)):
        _extend_best(cells, to, of, lanes, weights, step, b)


@inner
def _extend_best(cells: Cells, to: int, of: int, lanes: Lanes, weights: Weights, step: Step, b: int) -> None:
    sums = len(lanes.kinds)
    place = 1 + 2 * sums + 3 * b
    flags, value = cells.whole[at(of), at(place)], _best_of(cells, of, sums, b)
    j = lanes.best[at(b), COLUMN]
    if not _weighs(lanes, weights, step, j):
        if flags & SOME:
            _offer(cells, to, lanes, b, value[0], value[1], value[2])
        cells.whole[at(to), at(place)] |= flags
        return
    number = weights.whole[at(j), at(step.row)]
    own = (number >> 32, number & _LOW, weights.size[at(j), at(step.row)])
    if flags & SOME:
        _offer_both(cells, to, lanes, b, value, own)
    if flags & NONE:
        _offer(cells, to, lanes, b, own[0], own[1], own[2])
