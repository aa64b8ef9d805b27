"""Absences before a pattern on Spark: a time slice begins early enough to know what came before its first match."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from corpus_cases import TIMED
from sparkling import case_of, differences, run_as_stream, run_in_batch

import ensue


def far_apart(n: int) -> pa.Table:
    """Events in bursts over many slices, of which each is some minutes long."""
    rng = np.random.default_rng(n)
    return pa.table(
        {
            "time": np.cumsum(np.where(rng.random(n) < 0.1, rng.integers(0, 3000, n), rng.integers(0, 9, n))),
            "type": np.array(list("ABC"))[rng.integers(0, 3, n)],
            "id": rng.integers(0, 3, n),
            "v": rng.integers(0, 9, n),
        }
    )


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("SELECT a.v FROM S WHERE NOT B WITHIN 9 s ; A AS a", "automaton"),
        ("SELECT a.v FROM S WHERE NOT (B ; C) WITHIN 30 s ; A AS a ; C WITHIN 9 s", "automaton"),
        ("SELECT a.v FROM S WHERE NOT (B AS b FILTER b.id = a.id) WITHIN 30 s ; A AS a", "automaton"),
        ("SELECT a.v FROM S WHERE NOT (B AS b FILTER b.v > a.v) WITHIN 9 s ; A AS a", "several automata"),
    ],
)
def test_slices_begin_early(spark, text, engine):
    case = case_of(text, text, far_apart(300), unit="s")
    frame = spark.createDataFrame(case.table)
    told = ensue.query(text).explain(frame, unit="s")
    assert "by time slices" in told
    assert f"engine        {engine}" in told
    assert len(case.expected) > 10
    assert differences([case], run_in_batch(spark, [case])) == []


def test_absences_before_as_a_stream(spark, tmp_path):
    cases = [c for c in TIMED if c.name.startswith("absence_before:")][::3]
    assert sum(bool(c.expected) for c in cases) > 4
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        found = run_as_stream(spark, cases, tmp_path, Random("before"), files=3)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert differences(cases, found) == []
