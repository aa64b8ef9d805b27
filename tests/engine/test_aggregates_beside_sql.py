"""What AGGREGATE gives is what DuckDB computes by joins and recursion: of random events, and of real data.

Nothing is shared with this project but the events: each question is written in both languages. The real data is not
part of the project; where it does not lie beside it, only the random events are asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tables_of_events import DATA, TABLES

import ensue
from ensue.results.totals import Totals


@dataclass(frozen=True)
class Question:
    """A query, and the same in SQL over `s`, whose columns are those of the query in their order."""

    query: str
    sql: str
    plan: str  # how it is evaluated, as `explain` says it


FOLDED, SHARED = "folded while events come", "folded at each end"
#: The second bound of time only makes the joins smaller.
THREE = """
    FROM s a JOIN s b USING (k) JOIN s c USING (k)
    WHERE a.type = 'A' AND b.type = 'B' AND c.type = 'C' AND a.nth < b.nth AND b.nth < c.nth
      AND c.time - a.time <= 43200 AND b.time - a.time <= 43200
"""
QUESTIONS = {
    "three in sequence": Question(
        """
        AGGREGATE count(*) AS n, sum(y.v) AS total, min(z.v) AS least, count(y.v) AS known,
                  avg(end_time - start_time) AS took
        FROM S WHERE A AS x ; B AS y ; C AS z PARTITION BY k WITHIN 12 h GROUP BY k, EVERY 1 d
        """,
        f"""
        SELECT k, c.time - c.time % 86400, count(*), sum(b.v), min(c.v), count(b.v), avg(c.time - a.time)
        {THREE} GROUP BY ALL
        """,
        FOLDED,
    ),
    "differences within a match": Question(
        """
        AGGREGATE count(*) AS n, max(z.v - x.v) AS most, avg(z.v - x.v) AS mean
        FROM S WHERE A AS x ; B AS y ; C AS z PARTITION BY k WITHIN 12 h GROUP BY EVERY 1 d
        """,
        f"""
        SELECT c.time - c.time % 86400, count(*), max(c.v - a.v), avg(c.v - a.v)
        {THREE} GROUP BY ALL
        """,
        "matches are written out",
    ),
    "rising values": Question(
        """
        AGGREGATE count(*) AS n, sum(y.v) AS total, max(z.v) AS most, max(end_time - start_time) AS longest
        FROM S WHERE A AS x ; B AS y ; C AS z FILTER y.v > x.v AND z.v > y.v PARTITION BY k WITHIN 12 h GROUP BY k
        """,
        f"""
        SELECT k, count(*), sum(b.v), max(c.v), max(c.time - a.time)
        {THREE} AND b.v > a.v AND c.v > b.v GROUP BY ALL
        """,
        SHARED,
    ),
    "one directly after the other": Question(
        "AGGREGATE count(*) AS n, sum(x.v) AS before, sum(z.v) AS after "
        "FROM S WHERE A AS x : B AS y : B AS z PARTITION BY k GROUP BY k",
        """
        SELECT k, count(*), sum(v), sum(w) FROM (
            SELECT k, v, type, lead(type) OVER key AS second, lead(type, 2) OVER key AS third, lead(v, 2) OVER key AS w
            FROM s WINDOW key AS (PARTITION BY k ORDER BY nth)
        ) WHERE type = 'A' AND second = 'B' AND third = 'B' GROUP BY ALL
        """,
        FOLDED,
    ),
    "nothing in between": Question(
        """
        AGGREGATE count(*) AS n, sum(y.v) AS total, avg(end_time - start_time) AS took
        FROM S WHERE A AS x ; NOT C ; B AS y PARTITION BY k WITHIN 12 h GROUP BY EVERY 1 d
        """,
        """
        WITH counted AS (
            SELECT *, count(*) FILTER (type = 'C') OVER (PARTITION BY k ORDER BY nth) AS before FROM s
        )
        SELECT b.time - b.time % 86400, count(*), sum(b.v), avg(b.time - a.time)
        FROM counted a JOIN counted b ON a.k = b.k AND a.before = b.before
        WHERE a.type = 'A' AND b.type = 'B' AND a.nth < b.nth AND b.time - a.time <= 43200 GROUP BY ALL
        """,
        FOLDED,
    ),
    "all subsets, one by one": Question(
        """
        AGGREGATE count(*) AS n, sum(y.v) AS total, max(sum(y.v)) AS best, min(count(y)) AS least, avg(count(y)) AS mean
        FROM S WHERE A ; (B AS y)+ ; C WITHIN 10 EVENTS GROUP BY EVERY 1 d
        """,
        """
        WITH RECURSIVE run AS (
            SELECT a.nth AS first, b.nth AS last, b.v AS total, 1 AS size
            FROM s a JOIN s b ON a.nth < b.nth AND b.nth < a.nth + 10 WHERE a.type = 'A' AND b.type = 'B'
            UNION ALL
            SELECT run.first, b.nth, coalesce(run.total + b.v, run.total, b.v), run.size + 1
            FROM run JOIN s b ON run.last < b.nth AND b.nth < run.first + 10 WHERE b.type = 'B'
        )
        SELECT c.time - c.time % 86400, count(*), sum(total), max(total), min(size), avg(size)
        FROM run JOIN s c ON run.last < c.nth AND c.nth < run.first + 10 WHERE c.type = 'C' GROUP BY ALL
        """,
        FOLDED,
    ),
}
#: The number of subsets of m events that are not empty, and of the events in all of them.
EXACT = Question(
    """
    AGGREGATE count(*) AS n, sum(count(y)) AS marked, count(y) AS pairs
    FROM S WHERE A ; (B AS y)+ ; C WITHIN 110 EVENTS GROUP BY END
    """,
    """
    WITH counted AS (SELECT *, count(*) FILTER (type = 'B') OVER (ORDER BY nth) AS before FROM s),
         pairs AS (
             SELECT c.nth AS ending, c.before - a.before AS m
             FROM counted a JOIN counted c ON a.nth < c.nth AND c.nth < a.nth + 110
             WHERE a.type = 'A' AND c.type = 'C' AND c.before > a.before
         )
    SELECT ending, sum((1::HUGEINT << m) - 1)::HUGEINT, sum(m * (1::HUGEINT << (m - 1)))::HUGEINT
    FROM pairs GROUP BY ALL
    """,
    FOLDED,
)
PLACES = [
    pytest.param(name, marks=pytest.mark.skipif(name != "random" and not DATA.exists(), reason="the data is not there"))
    for name in TABLES
]


@cache
def events(name: str) -> pa.Table:
    return TABLES[name]()


def asked(sql: str, table: pa.Table) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("s", table)
        return [tuple(row) for row in connection.execute(sql).fetchall()]


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and expected is not None:
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)
    return bool(found == expected)


def by_group(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sorted by what is compared exactly: the columns of groups come first, and no two rows have the same."""
    return sorted(rows, key=lambda row: tuple(map(str, row[:2])))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_each_group(name: str, place: str) -> None:
    question, table = QUESTIONS[name], events(place)
    query = ensue.query(question.query)
    assert question.plan in query.explain()
    found = by_group([tuple(row.values()) for row in query.run(table, unit="s").to_arrow().to_pylist()])
    expected = by_group(asked(question.sql, table))
    assert len(found) == len(expected) > 0
    for row, wanted in zip(found, expected, strict=True):
        assert len(row) == len(wanted)
        assert all(map(same, row, wanted)), (row, wanted)


@pytest.mark.parametrize("place", PLACES)
def test_numbers_beyond_64_bits(place: str) -> None:
    table = events(place)
    totals = ensue.query(EXACT.query).run(table, unit="s")
    assert isinstance(totals, Totals)
    expected = sorted(asked(EXACT.sql, table))
    positions = totals.to_arrow().column("position").to_pylist()
    assert list(zip(positions, totals.exact("n"), totals.exact("marked"), strict=True)) == expected
    assert totals.exact("pairs") == totals.exact("marked")
    shown = totals.to_arrow().column("n").to_pylist()
    assert shown == [n if n < 2**63 else None for _, n, _ in expected]
    assert place == "trips" or max(n for _, n, _ in expected) > 2**40
