"""The exact text of what is told of queries that can never match, and of queries of which nothing may be told.

A case of warnings.txt is a name, the query and all its warnings. `UPDATE_GOLDEN=1 pytest tests/errors` rewrites them:
read the difference before you keep it.
"""

import logging
import os
import re
import time
from datetime import datetime
from pathlib import Path

import pytest

import ensue

UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
FILE = Path(__file__).parent / "warnings.txt"


def read_cases() -> dict[str, tuple[str, str]]:
    blocks = re.split(r"^=== ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    named = (block.partition("\n") for block in blocks)
    parts = ((name, rest.partition("\n--- warnings\n")) for name, _, rest in named)
    return {name: (query, told.removesuffix("\n")) for name, (query, _, told) in parts}


CASES = read_cases()


def told(query: str) -> str:
    return "\n".join(ensue.query(query).warnings)


@pytest.mark.parametrize("name", CASES)
def test_warnings(name):
    query, expected = CASES[name]
    if not UPDATE:
        assert told(query) == expected


@pytest.mark.skipif(not UPDATE, reason="only with UPDATE_GOLDEN=1")
def test_update():
    made = [f"=== {name}\n{query}\n--- warnings\n{told(query)}\n" for name, (query, _) in CASES.items()]
    FILE.write_text("".join(made), encoding="utf-8")
    assert FILE.stat().st_size > 0


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("a part")])
def test_what_never_matches_runs_and_finds_nothing(name):
    columns = {"v": 1, "w": 2, "s": "a", "k": 1, "b": True, "t": datetime(2024, 1, 31)}
    events = [{"time": k, "type": "ABC"[k % 3], **columns} for k in range(9)]
    assert len(ensue.query(CASES[name][0]).run(events, unit="s")) == 0


#: Each matches on some stream, though it looks as if it could not.
POSSIBLE = [
    "A AS x FILTER x.v > 5 OR x.v < 3",
    "A AS x FILTER NOT (x.v > 3 OR x.v <= 3) OR x.v = 1",
    "A AS x FILTER NOT (x.v > 3) AND NOT (x.v <= 3)",  # NaN
    "A AS x FILTER x.v <> x.v",  # NaN
    "A AS x ; B AS y FILTER x.v > 5 AND y.v < 3",
    "A AS x ; B AS y? FILTER y.v = NULL",
    "A AS x ; (B AS y)+ FILTER x.v > 5 AND count(y) > 3",
    "(A AS x FILTER x.v > 5) ; (A AS x FILTER x.v < 3)",
    "PROJECT y (A AS x ; B AS y FILTER x.v > 5) ; (A AS x FILTER x.v < 3)",
    "(A AS x FILTER x.v > LASTOF(x).v AND LASTOF(x).v = NULL)+",
    "A AS x FILTER coalesce(x.v, NULL, 3) = 3",
    "A AS x FILTER x.v IN (1, NULL)",
    "A AS x FILTER x.v NOT BETWEEN 5 AND 3",
    "A AS x FILTER x.v > 9007199254740992 AND x.v < 9007199254740994",
    "A AS x FILTER x.v + 1 > 3 AND x.v < 3",
    "A AND A",
    "A AS x AND A AS x",
    "A ALL B WITHIN 2 EVENTS",
    "A ALL A WITHIN 1 EVENTS",
    "A UNLESS B",
    "A ; B UNLESS (B FILTER B.v > 1)",
    "A ; NOT B ; B",
    "A ;[> 5 s] B WITHIN [> 5 s, <= 6 s]",
    "A ;[<= 5 s] B ;[<= 5 s] C WITHIN [= 10 s]",
    "A ;[> 10 s] B? ; C WITHIN 5 s",
    "A{2,5} WITHIN 2 EVENTS",
    "STRICT(A ; ANY AS x ; B)",
    "STRICT(A ; ANY? ; B)",
]


@pytest.mark.parametrize("pattern", POSSIBLE)
def test_nothing_is_told_of_what_can_match(pattern):
    assert not told(f"SELECT * FROM S WHERE {pattern}")


def test_the_log_tells_it_when_the_query_is_checked_and_when_it_runs(caplog):
    query = ensue.query("SELECT * FROM S WHERE A AND B")
    with caplog.at_level(logging.WARNING, "ensue"):
        query.check()
        query.run([{"time": 1, "type": "A"}, {"time": 2, "type": "B"}])
        query.detect([{"time": 1, "type": "A"}, {"time": 2, "type": "B"}])
    told = [r.message.partition("\n")[0] for r in caplog.records if "compiling" not in r.message]  # once on a machine
    assert told == ["this query never matches: an event has one type, so it cannot be A and B"] * 3


def assert_nothing_is_told_in_time(pattern: str) -> None:
    query = ensue.query(f"SELECT * FROM S WHERE {pattern}")
    began = time.process_time()  # others may compute beside it
    assert query.warnings == ()
    assert time.process_time() - began < 5


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["x.v IN ({}) AND x.w IN ({})", "x.v NOT IN ({}) AND x.v = -1", "NOT x.v IN ({})"])
def test_long_conditions_are_looked_at_quickly(count, form):
    assert_nothing_is_told_in_time("A AS x FILTER " + form.replace("{}", ", ".join(map(str, range(count)))))


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", ["x.v > {k}", "(x.v > {k} OR x.w > {k})", "x.a{k} <> x.v", "NOT (x.v = {k} AND x.w = {k})", "x.a{k} < x.v"]
)
def test_many_filters_are_looked_at_quickly(form):
    assert_nothing_is_told_in_time("A AS x" + "".join(f" FILTER {form.format(k=k)}" for k in range(150)))


@pytest.mark.parametrize("pattern", ["A{999999999}", "(A ; B){5,999999999}[<= 1 h] ; C WITHIN 999999999999 d"])
def test_huge_numbers_are_counted_and_not_tried(pattern):
    assert_nothing_is_told_in_time(pattern)
