"""The compiled search: what it is asked to evaluate, what it leaves to Python, and where its room ends."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import ensue
from ensue.row_patterns import compiled_search, match_finding

CLAUSE = (
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES first(A.n) AS a, last(n) AS z, "
    "match_number() AS m ALL ROWS PER MATCH {skip} PATTERN ({pattern}) DEFINE {define})"
)


def rows(count: int, **columns: Any) -> pa.Table:
    return pa.table({"k": [i * 7 % 3 for i in range(count)], "n": list(range(count)), **columns})


Rows = list[dict[str, Any]]


def both(table: pa.Table, define: str, *, pattern: str = "A B+ C", skip: str = "") -> Rows:
    """The rows, which the reference gives too."""
    text = CLAUSE.format(define=define, pattern=pattern, skip=skip)
    found: Rows = ensue.sql(text, t=table).to_arrow().to_pylist()
    expected: Rows = ensue.sql(text, t=table, engine="reference").to_arrow().to_pylist()
    assert list(map(repr, found)) == list(map(repr, expected))
    return found


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left to the search in Python."""

    def refused(*_: object) -> None:
        raise AssertionError("the search in Python was asked")

    monkeypatch.setattr(match_finding, "_searched_in_python", refused)


FLOATS = [0.1, 0.2, -0.3, 1e300, -1e300, 1e-310, None, 0.7, 2.5, -0.0, 0.0, 3.25] * 5
WHOLE = [3, 1, 4, 1, 5, None, 9, 2, 6, 5, 3, 5] * 5
TEXTS = (["x", "y", None, "x", "x", "", "yy"] * 9)[:60]

DEFINES = [
    "A AS true, B AS v < FIRST(A.v), C AS v > B.v",
    "A AS true, B AS sum(B.v) < 2.5, C AS f > avg(B.v)",
    "A AS true, B AS sum(B.f) < 12, C AS f > avg(B.f)",
    "A AS true, B AS count(B.f) < 3, C AS f >= max(B.f)",
    "A AS true, B AS min(B.f) > 1 OR count(*) = 2, C AS PREV(LAST(B.f)) IS NULL",
    "A AS true, B AS s = FIRST(A.s) OR s IS NULL, C AS s <> LAST(B.s)",
    "A AS true, B AS LAST(B.f, 1) IS NULL OR LAST(B.f, 1) < f, C AS NEXT(FIRST(A.n), 3) > 20",
    "A AS true, B AS match_number() < f, C AS n - FIRST(A.n) < 9",
    "A AS true, B AS f / FIRST(A.f) > 0.5, C AS abs(f - A.f) < 3",
]


@pytest.mark.parametrize("define", DEFINES)
@pytest.mark.parametrize("skip", ["", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO LAST B"])
def test_it_finds_what_the_reference_finds(no_python: None, define: str, skip: str) -> None:
    table = rows(60, v=FLOATS, f=WHOLE, s=TEXTS)
    assert both(table, define, skip=skip)


def test_sums_of_infinities_and_nan(no_python: None) -> None:
    values = [1.0, math.inf, 2.0, -math.inf, 3.0, math.nan, 4.0, 5.0, 6.0, 1.0] * 4
    assert both(rows(40, v=values), "A AS true, B AS sum(B.v) > 0, C AS v < 5")
    assert both(rows(40, v=values), "A AS true, B AS avg(B.v) <> sum(B.v) OR count(B.v) = 1, C AS v < 5")


def test_numbers_of_matches_begin_anew_in_each_partition(no_python: None) -> None:
    found = both(rows(30), "A AS true, B AS n > A.n AND match_number() < 4", pattern="A B")
    assert {(row["k"], row["m"]) for row in found} >= {(k, m) for k in range(3) for m in (1, 2, 3)}


def test_a_match_longer_than_the_stack(no_python: None) -> None:
    table = pa.table({"n": range(3000)})
    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n MEASURES count(*) AS c, sum(A.n) AS s "
        "PATTERN (A+ B) DEFINE A AS sum(A.n) < 4000000, B AS n > LAST(A.n))"
    )
    assert compiled_search._FIRST_PLACES < 2829
    expected = [{"c": 2829, "s": sum(range(2828))}, {"c": 171, "s": sum(range(2829, 2999))}]
    assert ensue.sql(text, t=table).to_arrow().to_pylist() == expected


def test_failures_are_forgotten_when_there_are_too_many(no_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_search, "_MOST", 8)
    monkeypatch.setattr(compiled_search, "_FEWEST", 8)
    assert both(rows(24, f=[i % 4 for i in range(24)]), "A AS true, B AS true, C AS sum(A.f) = 7", pattern="(A | B)* C")


def test_steps_are_bounded(no_python: None) -> None:
    table = pa.table({"n": range(40), "f": [i % 7 for i in range(40)]})
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY n PATTERN ((A | B)* C) DEFINE C AS sum(A.f) = 1000)"
    with pytest.raises(ensue.EngineError, match="row 1 took more than 5,000 steps: C AS sum"):
        ensue.sql(text, t=table, budget=5_000)


@pytest.mark.parametrize(
    ("define", "reason"),
    [
        ("C AS CLASSIFIER(A) = 'A' AND PREV(CLASSIFIER(A), 1) = 'B'", "the variable of a row"),
        ("C AS count(DISTINCT A.n) > 1", "count, which needs all its values again"),
        ("C AS LAST(A.s) LIKE 'x%'", "LIKE"),
        ("C AS min(A.s) = 'x'", "min of values of type"),
    ],
)
def test_what_is_left_to_python_says_so(define: str, reason: str) -> None:
    table = rows(12, s=TEXTS[:12])
    text = CLAUSE.format(define=define, pattern="A+ C", skip="")
    assert reason in ensue.explain_sql(text, t=table)
    both(table, define, pattern="A+ C")


def test_values_that_do_not_fit_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    in_python = match_finding._searched_in_python

    def noted(*given: Any) -> Any:
        asked.append(given)
        return in_python(*given)

    monkeypatch.setattr(match_finding, "_searched_in_python", noted)
    large = [2**62, -(2**62), 5, 7] * 6
    assert both(rows(24, f=large), "A AS true, B AS sum(B.f) > 0, C AS f < 6")
    assert both(rows(24, v=[math.nan, 1.0, 2.0, 3.0] * 6), "A AS true, B AS max(B.v) > 0, C AS v < 6")
    assert len(asked) >= 2


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_matches_without_columns_are_counted(engine: str) -> None:
    table = pa.table({"n": [1, 2, 3, 4, 5], "v": [1, 5, 2, 6, 7]})
    clause = "MATCH_RECOGNIZE (ORDER BY n PATTERN (A B) DEFINE B AS v > PREV(v))"
    counted = ensue.sql(f"SELECT count(*) AS c FROM t {clause}", t=table, engine=engine).to_arrow().to_pylist()
    assert counted == [{"c": 2}]
    shown = ensue.sql(f"SELECT m.*, u.v FROM t {clause} AS m, t AS u WHERE u.v = 5", t=table, engine=engine)
    assert shown.to_arrow().to_pylist() == [{"v": 5}, {"v": 5}]
    nothing = ensue.sql(f"SELECT * FROM t {clause}", t=table, engine=engine)
    assert (len(nothing), nothing.to_arrow().to_pylist()) == (2, [{}, {}])
    inner = ensue.sql(f"SELECT count(*) AS c FROM (SELECT * FROM t {clause} LIMIT 1)", t=table, engine=engine)
    assert inner.to_arrow().to_pylist() == [{"c": 1}]
