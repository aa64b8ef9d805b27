"""Exact sums of floats in limbs: each sum is the nearest float of the sum of fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from amounts import shares

from ensue.data.budget import Budget
from ensue.data.complex_events import Piece
from ensue.data.schema import Kind
from ensue.kernels.segment_lanes import FoldedColumns, Lanes
from ensue.kernels.segments import FoldedEvents
from ensue.kernels.window_segments import AllEvents, WindowSegments
from ensue.language import ast
from ensue.plan.spans import Folded, Spans

SUM = Folded("sum(w.v)", "sum", ast.Name("v"), Kind.FLOAT)
_HARD = (
    5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    1.0,
    2.0**53,
    2.0**-53,
    0.1,
    1e16,
    2.0**64,
    2.0**-1022,
)


def summed(batches: list[list[float]], spans: list[tuple[int, int]]) -> list[float]:
    """The sums over spans of positions in all batches, which are known at their ends."""
    windows = WindowSegments(Spans("w", (SUM,)), FoldedColumns((SUM,)), 0, 0, Budget().holder())
    found: list[float] = []
    base = 0
    for batch in batches:
        count = len(batch)
        bits = np.array([batch], dtype=np.float64).view(np.int64)
        begins = np.ones(count, dtype=np.bool_)
        nothing = np.zeros(0, dtype=np.int64)
        events = FoldedEvents(bits, np.ones((1, count), dtype=np.bool_), nothing, begins)
        windows.begin(AllEvents(events, []), base, 1)
        own = [(i, j) for i, j in spans if base <= j < base + count]
        start, end = (np.array([s[k] for s in own], dtype=np.int64) for k in (0, 1))
        piece = Piece(start, end, nothing, nothing, nothing.astype(np.uint16))
        found += windows.over(piece)["sum(w.v)"].to_pylist() if own else []
        windows.finish()
        base += count
    return found


def exact(values: list[float]) -> float:
    if not all(map(math.isfinite, values)):
        return sum(v for v in values if not math.isfinite(v))
    total = sum(map(Fraction, values))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def some(rng: Random) -> float:
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(_HARD) * rng.choice([1, -1])
    if kind == 1:
        return math.ldexp(rng.randrange(-(2**53), 2**53), rng.randrange(-1074, 900))
    if kind == 2 and rng.random() < 0.1:
        return rng.choice([math.inf, -math.inf, math.nan])
    return math.ldexp(rng.randrange(-(2**53), 2**53), rng.choice([-60, -53, -1, 0, 11]))


@pytest.mark.parametrize("seeds", shares(300, each=150))
def test_random_sums(seeds: range) -> None:
    for seed in seeds:
        rng = Random(f"sums {seed}")
        batches = [[some(rng) for _ in range(rng.randrange(1, 6))] for _ in range(rng.randrange(1, 5))]
        values = [v for batch in batches for v in batch]
        spans = sorted(((i, j) for j in range(len(values)) for i in range(j + 1)), key=lambda s: s[1])
        found = summed(batches, spans)
        expected = [exact(values[i : j + 1]) for i, j in spans]
        assert list(map(repr, found)) == [repr(e + 0.0) for e in expected], seed


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0**-53], 1.0),  # half of the last bit: the even one
        ([1.0, 2.0**-53, 2.0**-105], 1.0000000000000002),
        ([1.0 + 2.0**-52, 2.0**-53], 1.0000000000000004),
        ([-1.0, -(2.0**-53), -(2.0**-105)], -1.0000000000000002),
        ([1.7976931348623157e308, 1.7976931348623157e308], math.inf),
        ([1.7976931348623157e308, 2.0**969], 1.7976931348623157e308),
        ([1.7976931348623157e308, 2.0**970], math.inf),
        ([5e-324, -5e-324], 0.0),
        ([5e-324, 5e-324], 1e-323),
        ([-0.0], 0.0),
        ([2.0**63, 2.0**63 - 2.0**10], 1.8446744073709552e19),
    ],
)
def test_hard_sums(values: list[float], expected: float) -> None:
    assert repr(summed([values], [(0, len(values) - 1)])[0]) == repr(expected)


@pytest.mark.parametrize(
    ("values", "limbs"), [([0.25], 2), ([1e-3, 1e3], 2), ([1e-3, 1e6], 3), ([1e-300, 1e300], 34), ([0.0], 1)]
)
def test_how_many_limbs(values: list[float], limbs: int) -> None:
    lanes = Lanes((SUM,), FoldedColumns((SUM,)))
    lanes.widen(np.array([values]).view(np.int64), np.ones((1, len(values)), dtype=np.bool_), ())
    counted = 1
    assert lanes.widths == (counted + limbs, 0)
