"""Events as weights of lanes, and the cells of what ends as the columns of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.conversions import as_floats
from ensue.columns.evaluation import evaluated
from ensue.columns.match_totals import COLUMNS, WIDE, column
from ensue.columns.raw_arrays import array_of, missing, raw
from ensue.data.events import EventStream, integers, one_chunk
from ensue.kernels.jit import read_only
from ensue.kernels.lane_values import (
    COUNT,
    GREATER,
    LESSER,
    PLUS,
    SOME,
    STEP,
    SUM,
    WITHOUT,
    Cells,
    Lanes,
    Weights,
)
from ensue.language import ast
from ensue.logic.aggregation import Fold, Over, Part, is_span
from ensue.plan.lanes import FoldedPart, LanePlan, SumLane, Weight

Numbers = npt.NDArray[Any]
_TOGETHER = {"plus": PLUS, "greater": GREATER, "lesser": LESSER}
# The bits of a column: there is a value, and what it is if it is no number.
_KNOWN, _HIGH, _LOW, _NAN = range(4)
_BITS = 4


def lanes_for(plan: LanePlan, marks: Sequence[frozenset[str]]) -> Lanes:
    """The tables of a plan; the number of runs is the first lane."""
    weights, sums = list(plan.weights), plan.sums
    kinds = [COUNT, *(WITHOUT if lane.without else SUM for lane in sums)]
    best = [(weights.index(b.weight), b.least, _TOGETHER[b.together], b.weight.floats, b.from_zero) for b in plan.best]
    marked = [[w.variable in names for w in weights] for names in marks]
    return Lanes(
        np.array(kinds, dtype=np.int64),
        np.array([-1, *(weights.index(lane.weight) for lane in sums)], dtype=np.int64),
        np.array([False, *(lane.absolute for lane in sums)], dtype=np.int64),
        np.array(best, dtype=np.int64).reshape(len(best), 5),
        np.array(marked, dtype=np.int64).reshape(len(marks), len(weights)),
        np.array([w.variable is None for w in weights], dtype=np.int64),
        plan.modulus,
    )


class WeightColumns:
    """What events weigh. Times are counted from the first event on, so that their sums stay small."""

    def __init__(self, plan: LanePlan) -> None:
        self._weights = plan.weights
        self.base: int | None = None

    def of(self, events: EventStream, kept: Numbers | None) -> Weights:
        """The weights of these of the events, or of all."""
        count = len(events) if kept is None else len(kept)
        shape = (len(self._weights), count)
        bits, whole, exponent = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        size = np.zeros(shape, dtype=np.float64)
        if self.base is None and len(events):
            self.base = int(events.times[0])
        for j, weight in enumerate(self._weights):
            values = self._values(weight, events, kept, count)
            floats = weight.floats and values is not None
            there = np.ones(count, dtype=np.bool_)
            if values is not None and (null := missing(values)) is not None:
                there = ~null
            bits[j] = np.where(there, 1 << (1 + _BITS * j + _KNOWN), 0)
            if values is None:
                whole[j] = 1
            elif not floats:
                whole[j] = _whole(values)
            size[j] = raw(as_floats(values)) if floats else whole[j]
            if isinstance(weight.argument, ast.IsNull):  # it counts where it is TRUE
                bits[j] = np.where(whole[j] != 0, bits[j], 0)
            if floats and not weight.plain:
                _take_out_endless(bits[j], size[j], exponent[j], j)
        return Weights(read_only(bits), read_only(whole), read_only(size), read_only(exponent))

    def _values(self, weight: Weight, events: EventStream, kept: Numbers | None, count: int) -> pa.Array | None:
        """The values of the events; None where each counts as 1."""
        if weight.variable is None:
            times = events.times if kept is None else events.times[kept]
            return integers(times - (self.base or 0))
        if weight.argument is None:
            return None
        names = {n.name for n in ast.find(weight.argument, ast.Name)}
        columns = {}
        for name in names:
            values = one_chunk(events.table.column(name))
            columns[name] = values if kept is None else values.take(integers(kept))
        return evaluated(weight.argument, columns, count)


def _whole(values: pa.Array) -> Numbers:
    if pa.types.is_null(values.type):
        return np.zeros(len(values), dtype=np.int64)
    if pa.types.is_integer(values.type):
        values = values.cast(pa.int64())
    elif pa.types.is_date32(values.type):
        values = values.cast(pa.int32()).cast(pa.int64())
    return raw(values).astype(np.int64)


def _take_out_endless(bits: Numbers, size: Numbers, exponent: Numbers, j: int) -> None:
    """What is no number is noted in the mask, and weighs nothing; large ones get an exponent."""
    there = bits != 0
    first = 1 + _BITS * j
    for bit, where in ((_HIGH, size == np.inf), (_LOW, size == -np.inf), (_NAN, np.isnan(size))):
        bits[there & where] |= 1 << (first + bit)
    size[~np.isfinite(size) | ~there] = 0.0
    large = np.abs(size) >= 2.0**STEP
    if large.any():
        steps = np.where(large, np.frexp(size)[1] // STEP, 0)
        size[:] = np.ldexp(size, -STEP * steps)
        exponent[:] = STEP * steps


class PartColumns:
    """The columns of the parts of what ends."""

    def __init__(self, plan: LanePlan) -> None:
        self._plan = plan
        self._weights = list(plan.weights)
        self._sums = list(plan.sums)
        self._best = list(plan.best)

    def of(self, cells: Cells, count: int, times: Numbers | None, base: int) -> dict[str, pa.Array]:
        """Of the first cells; `times` are those of the ends, where they are asked for."""
        end = np.zeros(0, dtype=np.int64) if times is None else times
        made = _OfCells(self._plan, Cells(cells.whole[:count], cells.size[:count]), end, base)
        columns: dict[str, pa.Array] = {}
        for folded in self._plan.parts:
            arrays = self._part(folded, made)
            columns |= {column(folded.part, w): a for w, a in zip(COLUMNS[folded.part.fold], arrays, strict=True)}
        return columns

    def _part(self, folded: FoldedPart, cells: _OfCells) -> tuple[pa.Array, ...]:
        part = folded.part
        if part.fold is Fold.COUNT:
            return cells.count(self._lane(folded.sums[0]) if folded.sums else 0, part.over is Over.VALUES)
        if part.over is Over.TIMES:
            return cells.of_times(part, self._lane(folded.sums[0]) if folded.sums else None, self._place(folded))
        if folded.best is not None:
            return (cells.best(self._best.index(folded.best), part.wide, folded.best.weight.floats),)
        lane, weight = self._lane(folded.sums[0]), self._weights.index(folded.sums[0].weight)
        if part.fold is Fold.FLOATS:
            return cells.floats(lane, weight)
        return cells.integers(lane, self._lane(folded.sums[1]), weight)

    def _lane(self, lane: SumLane) -> int:
        return 1 + self._sums.index(lane)

    def _place(self, folded: FoldedPart) -> int | None:
        return None if folded.best is None else self._best.index(folded.best)


class _OfCells:
    """Reads lanes out of cells."""

    def __init__(self, plan: LanePlan, cells: Cells, end: Numbers, base: int) -> None:
        self._cells, self._sums, self._modulus = cells, len(plan.sums) + 1, plan.modulus
        self._end, self._base = end, base

    def _residue(self, lane: int) -> Numbers:
        found: Numbers = self._cells.whole[:, 1 + lane]
        return found

    def _size(self, lane: int) -> Numbers:
        found: Numbers = self._cells.size[:, lane]
        return found

    def _exponent(self, lane: int) -> Numbers:
        found: Numbers = self._cells.whole[:, 1 + self._sums + lane]
        return found

    def _bit(self, weight: int, bit: int) -> Numbers:
        found: Numbers = (self._cells.whole[:, 0] >> (1 + _BITS * weight + bit)) & 1 != 0
        return found

    def count(self, lane: int, without: bool) -> tuple[pa.Array, ...]:
        residue, size, exponent = self._residue(lane), self._size(lane), self._exponent(lane)
        if without:  # those that have a value are the others
            residue = self._residue(0) - residue
            size, exponent = _difference(self._size(0), self._exponent(0), size, exponent)
        return integers(residue), _floats(np.maximum(size, 0.0)), integers(exponent)

    def integers(self, lane: int, absolute: int, weight: int) -> tuple[pa.Array, ...]:
        exponent = self._exponent(absolute)
        with np.errstate(under="ignore"):
            size = np.ldexp(self._size(lane), np.maximum(self._exponent(lane) - exponent, -4000))
        known = array_of(self._bit(weight, _KNOWN), None, pa.bool_())
        return integers(self._residue(lane)), _floats(size), _floats(self._size(absolute)), integers(exponent), known

    def floats(self, lane: int, weight: int) -> tuple[pa.Array, ...]:
        high, low, nan = (self._bit(weight, b) for b in (_HIGH, _LOW, _NAN))
        size = self._size(lane).copy()
        size[high] = np.inf
        size[low] = -np.inf
        size[nan | (high & low)] = np.nan
        known = array_of(self._bit(weight, _KNOWN), None, pa.bool_())
        return _floats(size), integers(self._exponent(lane)), known

    def best(self, b: int, wide: bool, floats: bool) -> pa.Array:
        place = 1 + 2 * self._sums + 3 * b
        flags, high, low = (self._cells.whole[:, place + k] for k in range(3))
        none = flags & SOME == 0
        if floats:
            return array_of(self._cells.size[:, self._sums + b], none, pa.float64())
        number = (high << 32) | low
        if not wide:
            return array_of(number, none, pa.int64())
        halves = np.empty((len(number), 2), dtype=np.int64)
        halves[:, 0], halves[:, 1] = number, high >> 32
        validity = pa.py_buffer(np.packbits(~none, bitorder="little"))
        return pa.Array.from_buffers(WIDE, len(number), [validity, pa.py_buffer(halves)])

    def of_times(self, part: Part, lane: int | None, best: int | None) -> tuple[pa.Array, ...]:
        assert part.argument is not None
        since = self._end - self._base
        if lane is not None:
            return self._lengths(lane, since)
        if best is None:
            return (integers(self._end),)
        start = raw(self.best(best, False, False))
        return (integers(since - start if is_span(part.argument) else start + self._base),)

    def _lengths(self, lane: int, since: Numbers) -> tuple[pa.Array, ...]:
        """The sum of lengths: the number of matches times their end, without the sum of their starts."""
        exponent = np.maximum(self._exponent(0), self._exponent(lane))
        with np.errstate(under="ignore"):
            ends = np.ldexp(self._size(0) * since, np.maximum(self._exponent(0) - exponent, -4000))
            starts = np.ldexp(self._size(lane), np.maximum(self._exponent(lane) - exponent, -4000))
        times = since % self._modulus if self._modulus else since
        residue = self._residue(0) * times - self._residue(lane)
        known = array_of(np.ones(len(residue), dtype=np.bool_), None, pa.bool_())
        magnitude = np.abs(ends) + np.abs(starts)
        return integers(residue), _floats(ends - starts), _floats(magnitude), integers(exponent), known


def _difference(a: Numbers, of_a: Numbers, b: Numbers, of_b: Numbers) -> tuple[Numbers, Numbers]:
    with np.errstate(under="ignore"):
        return a - np.ldexp(b, np.maximum(of_b - of_a, -4000)), of_a


def _floats(numbers: Numbers) -> pa.Array:
    return array_of(np.ascontiguousarray(numbers, dtype=np.float64), None, pa.float64())
