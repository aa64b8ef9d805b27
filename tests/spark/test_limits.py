"""ORDER BY and LIMIT on Spark: tasks give their first rows, Spark sorts and cuts; streams count the rows of a key."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from corpus_cases import TIMED
from sparkling import case_of, differences, frame_of, on_a_clock, run_as_stream, run_in_batch

import ensue
from ensue.errors import QueryError


def events(n: int) -> pa.Table:
    """Events of different times, far enough apart for many time slices."""
    rng = np.random.default_rng(n)
    return pa.table(
        {
            "time": np.cumsum(1 + np.where(rng.random(n) < 0.1, rng.integers(0, 3000, n), 0)),
            "type": np.array(list("ABC"))[rng.integers(0, 3, n)],
            "k": rng.integers(0, 4, n),
            "v": pa.array(rng.choice([1.5, -2.0, 0.0, np.nan, 7.0], n), mask=rng.random(n) < 0.2),
        }
    )


PAIR = "SELECT A.v AS first, B.v AS second FROM S WHERE A ; B"


@pytest.mark.parametrize(
    ("text", "slices"),
    [
        (f"{PAIR} WITHIN 9 s LIMIT 5", True),
        (f"{PAIR} LIMIT 5", False),
        (f"{PAIR} WITHIN 9 s PARTITION BY k LIMIT 7", True),
        (f"{PAIR} PARTITION BY k LIMIT 7", False),
        (f"{PAIR} WITHIN 9 s LIMIT 1000000", True),
        (f"{PAIR} WITHIN 9 s LIMIT 2 PER END", True),
        (f"{PAIR} WITHIN 9 s PARTITION BY k LIMIT 3 PER PARTITION", False),
        (f"{PAIR} FILTER A.v = B.v WITHIN 99 s PARTITION BY k LIMIT 3 PER PARTITION", False),
        (f"{PAIR} WITHIN 9 s LIMIT 3 PER PARTITION", False),
    ],
)
def test_the_first_rows(spark, text, slices):
    case = case_of(text, text, events(400), unit="s")
    assert ("by time slices" in ensue.query(text).explain(frame_of(spark, case.table), unit="s")) == slices
    assert len(case.expected) > 2
    assert differences([case], run_in_batch(spark, [case])) == []


@pytest.mark.parametrize("limit", ["", " LIMIT 9"])
@pytest.mark.parametrize(
    "keys",
    [
        "second, first DESC, start_time, end_time",
        "first NULLS FIRST, second DESC NULLS LAST, end_time, start_time",
        "A.v - B.v, end_time DESC, start_time",
        "k DESC, B.v, end_time, start_time",
    ],
)
def test_rows_are_sorted_as_they_are_without_spark(spark, keys, limit):
    query = ensue.query(f"{PAIR} WITHIN 9 s PARTITION BY k ORDER BY {keys}{limit}")
    table = events(300)
    wanted = query.run(table, unit="s").to_arrow()
    found = query.run(frame_of(spark, table), unit="s")
    assert found.columns == wanted.column_names
    assert [list(map(repr, row)) for row in found.collect()] == [
        list(map(repr, r.values())) for r in wanted.to_pylist()
    ]


def test_a_stream_counts_the_rows_of_each_key(spark, tmp_path):
    tails = ("PARTITION BY k LIMIT 2 PER PARTITION", "LIMIT 3 PER PARTITION", "PARTITION BY k LIMIT 1 PER END")
    texts = [f"{PAIR} WITHIN 9 s {tail}" for tail in tails]
    cases = [on_a_clock(case_of(text, text, events(60), unit="s")) for text in texts]
    cases += [c for c in TIMED if c.name.startswith("first_rows:")][::2]
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        found = run_as_stream(spark, cases, tmp_path, Random("first rows"), files=3)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert differences(cases, found) == []


@pytest.mark.parametrize(
    ("tail", "told"), [("LIMIT 3", "LIMIT 3 PER END"), ("ORDER BY A.v", "in the order of their ends")]
)
def test_what_asks_for_the_whole_result_is_refused_on_a_stream(spark, tail, told):
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS time", "'A' AS type", "value AS v")
    with pytest.raises(QueryError, match=told):
        ensue.query(f"SELECT A.v FROM S WHERE A WITHIN 5 s {tail}").run(stream.withWatermark("time", "1 second"))
