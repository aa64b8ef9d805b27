"""Equalities that tie a pattern together: the partition that they become finds what the reference finds."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from amounts import amount

import ensue
from ensue.logic.check import check
from ensue.plan import compile_plan
from ensue.rewrite.tie_equalities import tied


def keys_of(text: str) -> list[str]:
    query = ensue.query(text)
    return [k.attribute for k in tied(check(query.ast, query.text)).query.partition]


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("A AS x ; B AS y FILTER x.id = y.id", ["id"]),
        ("A ; B FILTER A.id = B.id", ["id"]),
        ("A AS x ; B AS y ; C AS z FILTER x.id = y.id AND y.id = z.id", ["id"]),
        ("A AS x ; B AS y ; C AS z FILTER z.id = y.id FILTER y.id = x.id AND x.k = y.k AND x.k = z.k", ["id", "k"]),
        ("A AS x ; (B AS y)+ FILTER x.id = y.id", ["id"]),
        ("A AS x ; (B OR C) AS y FILTER x.id = y.id", ["id"]),
        ("A AS x ; B AS y FILTER x.id = y.id PARTITION BY k", ["k", "id"]),
        ("A AS x ALL B AS y FILTER x.id = y.id", ["id"]),
        # filters of steps
        ("A AS x ; (B AS y FILTER y.id = x.id AND y.v > 1)", ["id"]),
        ("A AS x ; (B AS y ; C AS z FILTER y.id = z.id) FILTER x.id = y.id", ["id"]),
        ("A AS x ; (B AS y FILTER y.id = x.id)?", []),
        ("(A AS x ; (B AS y FILTER y.id = x.id))+", []),
        # filters of rounds
        ("A AS x ; (B AS y FILTER y.id = x.id AND y.v > 1)+", ["id"]),
        ("A AS x ; (B AS y FILTER y.id = x.id){2,3}", ["id"]),
        ("A ; (B FILTER B.id = A.id)+ ; C FILTER C.id = A.id", ["id"]),
        ("A AS x ; ((B AS y FILTER y.id = x.id)+ ; (C AS z FILTER z.id = x.id))+", ["id"]),
        ("A AS x ; (B AS y ; C AS z FILTER y.id = x.id AND z.id = x.id)+", ["id"]),
        ("A AS x ; (B AS y ; C AS z FILTER y.id = x.id AND z.id = y.id)+", []),
        ("A AS x ; (B AS y ; (C AS z FILTER z.id = y.id)+)+", []),
        ("A AS x ; (B AS y FILTER y.id = x.id)+ ; C AS y", []),
        ("A AS x ; ((B AS y FILTER y.id = x.id)+ ; C AS y)+", []),
        ("A AS x ; (B AS y FILTER y.id = x.id OR y.v > 1)+", []),
        ("A AS x ; (B AS y FILTER y.id = x.id) OR C AS z", []),
        # what must not come is of that id
        ("A AS x ; NOT (C AS z FILTER z.id = x.id) ; B AS y FILTER x.id = y.id", ["id"]),
        ("A AS x ; NOT (C AS z FILTER z.id = y.id AND z.v > 1) ; B AS y FILTER x.id = y.id", ["id"]),
        ("(A AS x ; B AS y) UNLESS (C FILTER C.id = x.id) FILTER x.id = y.id", ["id"]),
        ("A AS x ; NOT (B AS y FILTER y.id = x.id) WITHIN 5 s", ["id"]),
        ("A AS x ; C AS z ; NOT (B AS y FILTER y.id = x.id) WITHIN 5 s FILTER x.id = z.id", ["id"]),
        # what must not come says nothing of a match that it does not end
        ("A AS x ; C AS z ; NOT (B AS y FILTER y.id = x.id AND y.id = z.id) WITHIN 5 s", []),
        ("A AS x ; C AS z ; NOT (B AS y FILTER y.id = x.id) WITHIN 5 s", []),
        ("(A AS x UNLESS (C AS z FILTER z.id = x.id))+", []),
        ("A AS x ; NOT (C AS z FILTER z.id = x.id) ; NOT B ; A AS y FILTER x.id = y.id", []),
        # names inside of it hide those of the match
        ("A ; NOT (A AS y FILTER A.id = y.id) WITHIN 5 s", []),
        ("B ; C ; NOT (B FILTER B.id = C.id) WITHIN 5 s", []),
        # an event that no equality reaches
        ("A AS x ; B AS y ; C AS z FILTER x.id = y.id", []),
        ("A AS x ; ANY ; B AS y FILTER x.id = y.id", []),
        ("A AS x ; B AS y ; C AS z ; A AS w FILTER x.id = y.id AND z.id = w.id", []),
        # a variable that may be empty makes its filter hold
        ("A AS x ; (B AS y)? ; C AS z FILTER x.id = y.id AND y.id = z.id", []),
        # what speaks of events of other ids
        ("A AS x : B AS y FILTER x.id = y.id", []),
        ("A AS x ; NOT C ; B AS y FILTER x.id = y.id", []),
        ("(A AS x ; B AS y) UNLESS C FILTER x.id = y.id", []),
        ("A AS x ; B AS y FILTER x.id = y.id WITHIN 5 EVENTS", []),
        ("A AS x ; B AS y FILTER x.id = y.id AND PREV(x.v) = 1", []),
        ("A AS x ; B AS y FILTER x.id = y.id CONSUME BY PARTITION", []),
        # not both sides of one attribute, not a conjunct
        ("A AS x ; B AS y FILTER x.id = y.k", []),
        ("A AS x ; B AS y FILTER x.id = y.id OR x.v > 1", []),
    ],
)
def test_keys(where: str, keys: list[str]) -> None:
    assert keys_of(f"SELECT * FROM S WHERE {where}") == keys


def test_strict_counts_the_events_between() -> None:
    assert keys_of("SELECT STRICT * FROM S WHERE A AS x ; B AS y FILTER x.id = y.id") == []


_SHAPES = [
    "A AS x ; B AS y FILTER x.id = y.id",
    "A AS x ; B AS y ; C AS z FILTER x.id = y.id AND y.id = z.id AND z.v > 1",
    "A AS x ; (B AS y)+ ; C AS z FILTER x.id = y.id AND z.id = x.id",
    "A AS x ; (B OR C) AS y FILTER y.id = x.id",
    "A AS x ALL B AS y FILTER x.id = y.id",
    "(A OR B) AS x ; ANY AS y FILTER x.id = y.id AND x.k = y.k",
    "A AS x ; B AS y FILTER x.id = y.id AND x.v < y.v",
    "A AS x ; NOT (C AS z FILTER z.id = x.id) ; B AS y FILTER x.id = y.id",
    "A AS x ; NOT (C AS z FILTER y.id = z.id AND z.v > 1) ; B AS y FILTER x.id = y.id AND x.v < y.v",
    "(A AS x ; (B AS y)+) UNLESS (C FILTER C.id = x.id) FILTER x.id = y.id",
    "A AS x -> (B AS y FILTER y.id = x.id)",
    "A AS x -> (B AS y FILTER y.id = x.id AND y.v > 1) -> (C AS z FILTER z.id = y.id AND z.v > x.v)",
    "A AS x ; NOT (B AS b FILTER b.id = x.id) ; (B AS y FILTER y.id = x.id)",
    "A AS x ; (B AS y FILTER y.id = x.id AND y.v > 1)+ ; (C AS z FILTER z.id = x.id)",
    "A AS x -> (B AS y FILTER y.id = x.id)->+",
    "A AS x -> (B AS y FILTER y.id = x.id AND y.v > x.v)->{2} -> (C AS z FILTER z.id = x.id)",
    "A AS x ; (B AS y ; (C AS z FILTER z.id = x.id)->+ FILTER y.id = x.id)+",
    "A AS x ; (B AS y FILTER y.id = x.id)+ ; C AS y",
    "A AS x ; (B AS y ; C AS z FILTER y.id = x.id AND z.id = y.id)+",
    "A AS x ; ((B AS y ; C AS z FILTER y.id = z.id) FILTER x.id = y.id WITHIN 2 s)",
    "NOT (C AS c FILTER c.id = x.id) WITHIN 2 s ; (A AS x ; (B AS y FILTER y.id = x.id))",
    "A AS x ; NOT (B AS y FILTER y.id = x.id) WITHIN 2 s",
    "A AS x ; C AS z ; NOT (B AS y FILTER z.id = y.id) WITHIN 2 s FILTER x.id = z.id",
    "A AS x ; C AS z ; NOT (B AS y FILTER y.id = x.id AND y.id = z.id) WITHIN 2 s",
]


_IDS: list[list[Any]] = [[1, 2, None], [0.0, -0.0, math.nan, 1.5, None], ["", "a", None]]


@pytest.mark.parametrize("shape", _SHAPES)
@pytest.mark.parametrize("selector", ["", "NEXT ", "LAST ", "MAX "])
def test_equals_the_reference(shape: str, selector: str) -> None:
    rng = random.Random(f"{shape}{selector}")
    text = f"SELECT {selector}* FROM S WHERE {shape} WITHIN 6 s"
    for round in range(amount(24)):
        n = rng.randrange(1, 12)
        table = pa.table(
            {
                "time": pa.array(sorted(rng.choices(range(12), k=n)), pa.int64()),
                "type": pa.array(rng.choices("ABC", k=n), pa.string()),
                "id": pa.array(rng.choices(_IDS[round % len(_IDS)], k=n)),
                "k": pa.array(rng.choices([0, 1], k=n), pa.int64()),
                "v": pa.array(rng.choices([0, 1, 2, 3], k=n), pa.int64()),
            }
        )
        expected = ensue.match(table, text, unit="s", engine="reference").to_arrow().to_pylist()
        found = ensue.match(table, text, unit="s").to_arrow().to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_the_automaton_engine_takes_it() -> None:
    query = ensue.query("SELECT x FROM S WHERE A AS x ; B AS y FILTER x.id = y.id WITHIN 5 s")
    plan = compile_plan(check(query.ast, query.text))
    assert plan.keys == ("id",)
    assert "tie by equality" in query.explain()
