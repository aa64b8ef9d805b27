"""Clauses over rows that arrive part after part: what is told early holds whatever comes, and nothing waits longer."""

from __future__ import annotations

import ast
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from amounts import most, shares
from arriving import all_told, micros, moved, plan_of, streaming_text, told
from random_clauses import random_table

import ensue
from ensue.row_patterns.arriving_rows import ArrivingRows


def whole(text: str, table: pa.Table) -> Counter[str]:
    return Counter(map(repr, ensue.sql(text, t=table).to_arrow().to_pylist()))


def compare(seed: int) -> str:
    r = random.Random(f"arriving {seed}")
    text = streaming_text(r)
    first, later, other = (random_table(r) for _ in range(3))
    later, other = (moved(t, 21_000_001) for t in (later, other))
    cuts = sorted(r.sample(range(21_000_000), r.randrange(1, 5)))
    times = [*cuts, 21_000_000]
    try:
        expected = all_told(text, first, [21_000_000])
        found = all_told(text, first, times, saved=r.random() < 0.5)
    except ensue.DataError:
        return "refused"
    assert found == expected, f"seed {seed}: {cuts}\n{text}\n{first.to_pylist()}"
    for more in (first.slice(0, 0), later, other):
        try:
            final = whole(text, pa.concat_tables([first, more]))
        except ensue.DataError:
            continue
        assert expected <= final, f"seed {seed}:\n{text}\n{first.to_pylist()}\n{more.to_pylist()}\n{expected - final}"
    return "told" if expected else "compared"


@pytest.mark.parametrize("seeds", shares(600, each=150), ids=str)
def test_what_is_told_holds_and_does_not_depend_on_the_parts(seeds):
    outcomes = [compare(seed) for seed in seeds]
    assert outcomes.count("told") > most(seeds, 0.3)


# ---------------------------------------------------------------- when it is told


def table_of(letters: str, every: int = 1, key: str = "k") -> pa.Table:
    """A row a second for each letter; the letter is what the row is."""
    at = [i * every * 1_000_000 for i in range(1, len(letters) + 1)]
    return pa.table({"k": [key] * len(at), "at": pa.array(at, pa.timestamp("us")), "s": list(letters)})


def matches(letters: str, pattern: str) -> list[list[str]]:
    """For each second: the matches that are told then, as texts."""
    text = f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES string_agg(s, '') AS m
        PATTERN {pattern} DEFINE A AS s = 'a', B AS s = 'b', C AS s = 'c')"""
    table = table_of(letters)
    found = told(text, table, micros(table), saved=True)
    return [[ast.literal_eval(row)["m"] for row in rows] for rows in found]


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        ("(A B | C)", "abc", [[], ["ab"], ["c"]]),
        ("(A+ | B C)", "aabaa", [[], [], ["aa"], [], []]),
        ("(A+? | B C)", "aab", [["a"], ["a"], []]),
        ("(A B* C | B)", "abbxb", [[], [], [], ["b", "b"], ["b"]]),
        ("(A (B | C)? | B C)", "aabac", [[], ["a"], ["ab"], [], ["ac"]]),
        ("(A{2} | B | C)", "aaabc", [[], ["aa"], [], ["b"], ["c"]]),
        ("(A ^ B | C)", "abcab", [[], [], ["c"], [], []]),
        ("(^ A B? | B C)", "ababc", [[], ["ab"], [], [], ["bc"]]),
    ],
)
def test_a_match_is_told_as_soon_as_no_later_row_can_change_it(pattern, letters, expected):
    assert matches(letters, pattern) == expected


def decided(arriving: ArrivingRows, time: int) -> list[dict[str, Any]]:
    found = arriving.pass_time(time)
    assert found is not None
    return list(found.to_pylist())


def test_within_lets_time_decide():
    text = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES string_agg(s, '') AS m
        PATTERN (A B*) WITHIN INTERVAL '3' SECOND DEFINE A AS s = 'a', B AS s = 'b')"""
    table = table_of("abb")
    plan = plan_of(text, table.schema)
    arriving = ArrivingRows(plan, table.schema)
    arriving.push(table)
    assert decided(arriving, 3_000_000) == []
    assert arriving.next_due == 4_000_000
    assert arriving.pass_time(3_999_999) is None
    assert decided(arriving, 4_000_000) == [{"k": "k", "m": "abb"}]
    assert arriving.open == 0


def test_what_next_asks_for_is_waited_for():
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES NEXT(s, 2) AS m PATTERN (A)
        DEFINE A AS NEXT(s) = 'b')"""
    table = table_of("abab")
    assert [len(rows) for rows in told(text, table, micros(table))] == [0, 0, 1, 0]


def test_rows_of_no_match_are_shown_once_they_are_decided():
    text = """SELECT * FROM t MATCH_RECOGNIZE (ORDER BY at MEASURES CLASSIFIER() AS m
        ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B) DEFINE A AS s IN ('a', 'b'), B AS s = 'b')"""
    table = table_of("xabbx")
    assert [len(rows) for rows in told(text, table, micros(table))] == [1, 0, 2, 2, 1]
    assert all_told(text, table, micros(table)) <= whole(text, table)


def test_keys_that_nobody_asks_for_are_forgotten():
    table = pa.table({"k": list(range(100)), "at": pa.array(range(1, 101), pa.timestamp("us")), "s": ["a"] * 100})
    for more, kept in (("", 0), ("MEASURES MATCH_NUMBER() AS n", 100), ("MEASURES PREV(s, 3) AS p", 100)):
        text = f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at {more} PATTERN (A))"
        arriving = ArrivingRows(plan_of(text, table.schema), table.schema)
        arriving.push(table)
        assert len(decided(arriving, 100)) == 100
        assert arriving.open == kept
