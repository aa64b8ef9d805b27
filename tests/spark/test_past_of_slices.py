"""AFTER without a key on Spark: slices of time, once a first pass has told what stands before each."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import ensue

QUERIES = (
    "SELECT count(w) AS n, sum(w.v) AS s FROM S WINDOW w AS (AFTER (ANY:{7}):* IS A : ANY:* : B) WITHIN 3 s",
    "SELECT count(w) AS n FROM S WINDOW w AS (AFTER ANY:* : C : A:* IS ANY[v > 1]:+) OR (AFTER (B? : ANY:{5}):* IS B)"
    " WITHIN 2 s",
    "SELECT x.v FROM S WHERE (A AS x ; B AFTER (ANY : ANY):*) WITHIN [< 4 s]",
)


def events(count: int) -> pa.Table:
    rng = Random("past of slices")
    return pa.table(
        {
            "time": pa.array(sorted(rng.choices(range(count // 2), k=count))),
            "type": pa.array(rng.choices("AAABC", k=count)),
            "v": pa.array(rng.choices([None, 0, 1, 2, 3], k=count)),
            "n": pa.array(range(count)),
        }
    )


@pytest.mark.parametrize("text", QUERIES)
def test_as_embedded(spark: Any, text: str) -> None:
    table = events(1200)
    query = ensue.query(text)
    frame = spark.createDataFrame(table).repartition(3)
    found = query.run(frame, unit="s", tiebreak="n").toArrow()
    expected = query.run(table, unit="s", tiebreak="n").to_arrow()
    assert len(expected) > 50
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    said = query.explain(frame, unit="s", tiebreak="n")
    assert "by time slices of 16 windows, once a first pass has told what stands before each" in said


def test_what_still_takes_one_task(spark: Any) -> None:
    """PREV behind AFTER asks an event of another slice, and CONSUME BY asks all matches before."""
    frame = spark.createDataFrame(events(10))
    for text in (
        "SELECT count(w) AS n FROM S WINDOW w AS (AFTER (ANY[v > PREV(v)]):* IS A) WITHIN 3 s",
        "SELECT count(w) AS n FROM S WINDOW w AS (AFTER (ANY:{3}):* IS A) WITHIN 3 s CONSUME BY ANY",
    ):
        assert "one task for all" in ensue.query(text).explain(frame, unit="s")
