"""Aggregates of many sets at a time are those of the reference, set by set; float sums are exact up to one rounding."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from odd_values import COLUMNS, same

from ensue.columns.aggregates import aggregate
from ensue.columns.conversions import as_type, plain
from ensue.columns.exact_sums import exact_sums
from ensue.data.schema import Kind, value_type
from ensue.engines.reference.expressions import aggregate as by_reference
from ensue.engines.reference.python_values import python_values
from ensue.language.ast import COUNT_DISTINCT
from ensue.logic.functions import AGGREGATES, OF_NUMBERS


def takes(function: str, type_: pa.DataType) -> bool:
    kind = value_type(type_).kind
    if function in OF_NUMBERS:
        return kind.numeric or kind is Kind.NULL
    return not (kind.nested or kind is Kind.OTHER) or function not in ("min", "max", COUNT_DISTINCT)


def sets(rng: Random, length: int) -> np.ndarray:
    """Where sets of random sizes begin and end; some are empty, also at the ends."""
    return np.array(sorted([0, length, *(rng.randrange(length + 1) for _ in range(rng.choice((0, 3, 30))))]))


@pytest.mark.parametrize(
    ("function", "name"), [(f, n) for f in AGGREGATES for n, column in COLUMNS.items() if takes(f, column.type)]
)
def test_every_aggregate_of_every_type(function: str, name: str) -> None:
    column = COLUMNS[name]
    rng = Random(f"{function} {name}")
    for _ in range(20):
        values = column.take(
            pa.array([rng.randrange(len(column)) for _ in range(rng.choice((0, 1, 7, 200)))], pa.int64())
        )
        offsets = sets(rng, len(values))
        found = aggregate(function, plain(values), offsets)
        found.validate(full=True)
        python = python_values(pa.chunked_array([values]))
        wanted = [by_reference(function, python[a:b]) for a, b in itertools.pairwise(offsets)]
        ours = (
            [python_values(pa.chunked_array([found.values]))[a:b] for a, b in itertools.pairwise(offsets)]
            if function == "collect"
            else python_values(pa.chunked_array([found]))
        )
        for a, b in zip(ours, wanted, strict=True):
            assert all(map(same, a, b)) and len(a) == len(b) if function == "collect" else same(a, b), (a, b)
        if function in ("min", "max", "first", "last") and not pa.types.is_dictionary(column.type):
            assert as_type(found, column.type).type == column.type


# ---------------------------------------------------------------- exact sums


def exact(values: list[float]) -> float:
    """The nearest float of the sum of the numbers as fractions."""
    if not all(map(math.isfinite, values)):
        return sum(v for v in values if not math.isfinite(v))
    total = sum(map(Fraction, values))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def float_of(rng: Random) -> float:
    match rng.randrange(7):
        case 0:
            return rng.uniform(-1, 1)
        case 1:
            return rng.randrange(-(10**6), 10**6) / 100
        case 2:
            return math.ldexp(rng.uniform(-1, 1), rng.randrange(-1080, 1024))
        case 3:
            return rng.choice((0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, -1.7976931348623157e308))
        case 4:
            return float(rng.choice((-1, 1)) * 2.0 ** rng.randrange(-60, 60))
        case 5:
            return rng.choice((1.0, 2.0**53, 2.0**53 + 2, 2.0**-53, 1 + 2.0**-52))
    return rng.choice((-1, 1)) * (2.0**52 + rng.randrange(2**52)) * 2.0 ** rng.randrange(-5, 5)


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_rounded_once(seed: int) -> None:
    rng = Random(seed)
    values: list[float] = []
    begins = []
    for _ in range(200):
        begins.append(len(values))
        part = [float_of(rng) for _ in range(rng.choice((1, 2, 3, 10)))]
        if rng.random() < 0.5:  # what is left where large numbers cancel out
            part += [-v for v in rng.sample(part, rng.randrange(len(part) + 1))]
        if rng.random() < 0.05:
            part.append(rng.choice((math.inf, -math.inf, math.nan)))
        values += part
    found = exact_sums(np.array(values), np.array(begins)).tolist()
    wanted = [exact(values[a:b]) for a, b in zip(begins, [*begins[1:], len(values)], strict=True)]
    for a, b in zip(found, wanted, strict=True):
        assert same(a, b + 0.0), (a, b)


def test_ties_go_to_the_even_float_and_the_smallest_rest_decides() -> None:
    one, half = 2.0**53, 1.0
    sums = [[one, half], [one + 2, half], [one, half, 5e-324], [one, half, -5e-324], [-one, -half], [5e-324, 5e-324]]
    values = [v for part in sums for v in part]
    begins = np.cumsum([0, *map(len, sums)])[:-1]
    assert exact_sums(np.array(values), begins).tolist() == [one, one + 4, one + 2, one, -one, 1e-323]


def test_a_long_sum() -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(-1e6, 1e6, 300_000) * 10.0 ** rng.integers(-12, 12, 300_000)
    assert exact_sums(values, np.array([0])).tolist() == [math.fsum(values)]
