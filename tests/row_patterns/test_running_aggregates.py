"""Aggregates as far as each row of long matches: one pass, and not a look at all rows before each row."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from amounts import shares

import ensue
from ensue.row_patterns import running_aggregates

CALLS = (
    "sum(A.f)",
    "avg(f)",
    "avg(v)",
    "avg(DISTINCT f)",
    "sum(DISTINCT v)",
    "count(DISTINCT s)",
    "min(f)",
    "max(A.s)",
    "min(DISTINCT at)",
    "bool_and(v > 1)",
    "bool_or(v > 1)",
    "any_value(B.s)",
    "max_by(s, f)",
    "min_by(v, s)",
    "sum(d)",
    "max(d)",
    "sum(u)",
    "avg(n)",
)


def random_rows(seed: int, size: int) -> pa.Table:
    r = random.Random(f"running {seed}")

    def some(values, type_):
        return pa.array([None if r.random() < 0.2 else r.choice(values) for _ in range(size)], type_)

    return pa.table(
        {
            "t": range(size),
            "v": some(range(4), pa.int32()),
            "f": some((0.1, 0.0, -0.0, 1e300, -1e300, 5e-324, float("inf"), float("-inf"), float("nan")), pa.float64()),
            "s": some(("", "a", "b", "é"), pa.string()).dictionary_encode(),
            "at": some((1, 2, 3), pa.timestamp("ms")),
            "d": some((1, 2), pa.int64()).cast(pa.decimal128(21, 2)),
            "u": some((1, 2**63), pa.uint64()),
            "n": pa.nulls(size),
        }
    )


@pytest.mark.parametrize("seeds", shares(30, each=30), ids=str)
def test_as_the_reference_computes_them(seeds):
    measures = ", ".join(f"{call} AS m{i}, FINAL {call} AS n{i}" for i, call in enumerate(CALLS))
    query = f"""
        SELECT * FROM t MATCH_RECOGNIZE (
          ORDER BY t MEASURES {measures} ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW
          PATTERN ((A | B)+? C?) DEFINE A AS v > 1, B AS f < 1)"""
    for seed in seeds:
        table = random_rows(seed, 1 + seed % 12)
        one, other = (ensue.sql(query, t=table, engine=engine).to_arrow() for engine in ("reference", "auto"))
        assert one.schema == other.schema
        assert repr(one.to_pylist()) == repr(other.to_pylist()), seed


@pytest.mark.parametrize("call", CALLS)
def test_no_row_is_looked_at_again(call, monkeypatch):
    """With 30,000 rows in a match, looking at all rows before each row took minutes."""
    looked = []
    monkeypatch.setattr(running_aggregates, "aggregates_of", lambda *given: looked.append(given))
    table = random_rows(1, 30_000)
    if "u" in call:
        table = table.set_column(table.column_names.index("u"), "u", pa.array([1] * 30_000, pa.uint64()))
    query = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY t MEASURES {call} AS m ALL ROWS PER MATCH PATTERN ((A | B)+))"
    assert len(ensue.sql(query, t=table)) == 30_000
    assert looked == []
