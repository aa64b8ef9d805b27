"""Aggregates over the rows around each row, `avg(x) OVER (ROWS BETWEEN ...)`, in conditions and measures."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from ticker import ENGINES, rows

import ensue

ABCD = (50, 36, 39, 42, 30, 47, 71, 80, 75, 63)
XYZ = (89, 24, 37, 63, 65, 56, 50, 54, 30, 32)
ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


@pytest.mark.parametrize("engine", ENGINES)
class TestSnowflake:
    """The page "MATCH_RECOGNIZE" has two examples whose condition is the average of the whole partition."""

    def prices(self, measures: str, shown: str, pattern: str, engine: str, items: str) -> list[tuple[object, ...]]:
        companies = ["ABCD"] * 10 + ["XYZ"] * 10
        table = pa.table({"company": companies, "price_date": [*range(1, 11)] * 2, "price": ABCD + XYZ})
        query = f"""SELECT {items} FROM stock_price_history MATCH_RECOGNIZE (
            PARTITION BY company ORDER BY price_date MEASURES {measures} ALL ROWS PER MATCH {shown}
            PATTERN ({pattern}) DEFINE OVERAVG AS price > avg(price) OVER ({ALL}))
            ORDER BY company, price_date"""
        return rows(query, engine, stock_price_history=table)

    def test_without_empty_matches(self, engine):
        number = 'MATCH_NUMBER() AS "MATCH_NUMBER"'
        items = "company, price_date, price, match_number"
        found = self.prices(number, "OMIT EMPTY MATCHES", "OVERAVG*", engine, items)
        assert found == [
            *(("ABCD", day, ABCD[day - 1], 7) for day in (7, 8, 9, 10)),
            ("XYZ", 1, 89, 1),
            *(("XYZ", day, XYZ[day - 1], 4) for day in (4, 5, 6)),
            ("XYZ", 8, 54, 6),
        ]

    def test_with_unmatched_rows(self, engine):
        measures = "MATCH_NUMBER() AS n, CLASSIFIER() AS cl"
        found = self.prices(measures, "WITH UNMATCHED ROWS", "OVERAVG+", engine, "company, price_date, n, cl")
        numbers = {("ABCD", day): 1 for day in (7, 8, 9, 10)}
        numbers |= {("XYZ", 1): 1, ("XYZ", 4): 2, ("XYZ", 5): 2, ("XYZ", 6): 2, ("XYZ", 8): 3}
        days = itertools.product(("ABCD", "XYZ"), range(1, 11))
        assert found == [(*d, numbers.get(d), "OVERAVG" if d in numbers else None) for d in days]


TABLE = pa.table(
    {
        "k": ["x", "y", "x", None, "x", "y", "x", None, "x"],
        "t": range(9),
        "v": pa.array([3, None, 1, 7, None, 2, 5, 8, 1], pa.int64()),
        "f": pa.array([0.1, 1e16, float("nan"), -1e16, 2.5, None, float("inf"), 0.3, -0.0]),
    }
)
FRAMES = (
    ALL,
    "ROWS UNBOUNDED PRECEDING",
    "ROWS 1 PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND 900000000 FOLLOWING",
)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("partition", ["", "PARTITION BY k"])
@pytest.mark.parametrize("rows_", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH"])
def test_both_engines_agree(frame, partition, rows_):
    calls = [
        "count(*)",
        "count(v)",
        "sum(v + 1)",
        "avg(v)",
        "min(f)",
        "max(f)",
        "sum(f)",
        "avg(f) FILTER (WHERE v > 1)",
    ]
    measures = ", ".join(f"{call} OVER ({frame}) AS m{i}" for i, call in enumerate(calls))
    query = f"""
        SELECT * FROM t MATCH_RECOGNIZE (
          {partition} ORDER BY t MEASURES {measures}, FIRST(sum(v) OVER ({frame}) + v) AS n {rows_}
          AFTER MATCH SKIP TO NEXT ROW PATTERN (A B? C*)
          DEFINE B AS sum(v) OVER ({frame}) > A.v, C AS count(*) OVER ({frame}) > 1)"""
    one, other = (ensue.sql(query, t=TABLE, engine=engine).to_arrow() for engine in ENGINES)
    assert one.schema == other.schema
    assert len(one) > 1
    assert repr(one.to_pylist()) == repr(other.to_pylist())


def test_over_no_rows():
    query = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY t MEASURES sum(v) OVER ({ALL}) AS s PATTERN (A))"
    assert ensue.sql(query, t=TABLE.slice(0, 0)).to_arrow().schema == pa.schema([("s", pa.int64())])
