"""Decimals are compared exactly: where registers hold them as floats, these tell them apart, and are the nearest."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

import ensue
from ensue.kernels.register_columns import _floats

LONG = Decimal("12345678901234567.89"), Decimal("12345678901234567.90")
QUERIES = [
    "A AS x ; B AS y FILTER x.d = y.e",
    "A AS x ; B AS y FILTER x.d < y.e",
    "A AS x ; B AS y FILTER x.d >= y.d",
    "A AS x ; B AS y FILTER x.d = y.f",
    "A AS x ; B AS y FILTER x.d > y.n",
    "A AS x ; B AS y FILTER x.d <> y.e OR x.d = y.f",
    "A AS x ; B AS y FILTER x.d * 1.5 < y.e",
    "((A OR B) AS y FILTER y.d > LASTOF(y).d)+",
    "(A AS x : B AS y FILTER x.d <> y.e)+",
    "A AS x ; NOT (B AS b FILTER b.d > x.d) ; B AS y",
]


def events(seed: int, *, long: bool) -> pa.Table:
    """Few different values, so that many are equal: in decimals of two scales, as floats, and as whole numbers."""
    rng = Random(seed)
    some = [*LONG, Decimal(0)] if long else [Decimal(n) / 10 for n in range(-4, 5)]
    d, e = ([rng.choice([*some, None]) for _ in range(14)] for _ in range(2))
    return pa.table(
        {
            "time": list(range(14)),
            "type": [rng.choice("AB") for _ in range(14)],
            "d": pa.array(d, pa.decimal128(19, 2) if long else pa.decimal128(5, 1)),
            "e": pa.array(e, pa.decimal128(20, 3) if long else pa.decimal128(15, 7)),
            "f": [None if v is None else float(v) for v in e],
            "n": [None if v is None else int(v) for v in e],
        }
    )


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("pattern", QUERIES)
def test_the_engines_agree(pattern: str, long: bool) -> None:
    found = 0
    for seed in range(12):
        table = events(seed, long=long)
        query = ensue.query(f"SELECT * FROM S WHERE {pattern} WITHIN 6 s")
        ours, expected = (query.run(table, unit="s", engine=e) for e in ("auto", "reference"))
        rows = [sorted(str(row) for row in m) for m in (ours, expected)]
        assert rows[0] == rows[1]
        found += len(expected)
    assert found > 10


def test_short_decimals_are_held_by_registers_and_long_ones_are_not() -> None:
    from ensue.data.schema import Schema
    from ensue.language.parser import parse_query
    from ensue.logic.check import check
    from ensue.plan.choice import choose

    text = "SELECT * FROM S WHERE A AS x ; B AS y FILTER x.d < y.d WITHIN 5 s"
    plans = [
        choose(check(parse_query(text), text, Schema.of(events(0, long=long).schema))).plan for long in (False, True)
    ]
    assert [len(p.automaton.registers) for p in plans if p is not None] == [1, 0]


@pytest.mark.parametrize("scale", range(0, 16))
def test_the_nearest_float(scale: int) -> None:
    rng = Random(scale)
    values = [Decimal(rng.randrange(-(10**15) + 1, 10**15)).scaleb(-scale) for _ in range(500)]
    for type_ in (pa.decimal128(15, scale), pa.decimal256(15, scale), pa.decimal128(30, scale)):
        array = pa.array([None, *values], type_)[1:]
        assert _floats(array).tolist() == [float(v) for v in values]
