"""`Query.detect` over DataFrames says what it says embedded, with the events in the place of their positions."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from amounts import shares
from pyspark.sql import SparkSession
from sparkling import Case, case_of, differences, frame_of, on_a_clock, run_as_stream, run_in_batch
from strategies import events_table, random_query, random_selecting_query, random_stream

import ensue
from ensue.errors import EngineError
from ensue.language.printer import print_query


def random_case(seed: int) -> Case:
    """A random query without LIMIT, which leaves open what of an end is told."""
    rng = Random(f"detect on spark {seed}")
    query = replace(random_selecting_query(rng) if seed % 3 == 0 else random_query(rng), limit=None, order=())
    case = case_of(f"seed {seed}", print_query(query), events_table(random_stream(rng, 12)), unit="s")
    return replace(case, detects=True)


@pytest.mark.parametrize("seeds", shares(60, each=60))
def test_random_queries_in_batch(spark, seeds):
    cases = [random_case(seed) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 5
    assert differences(cases, run_in_batch(spark, cases)) == []


@pytest.mark.parametrize("seeds", shares(6, each=6, first=2_000))
def test_random_queries_as_a_stream(spark, tmp_path, seeds):
    cases = [on_a_clock(random_case(seed)) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 4
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        assert differences(cases, run_as_stream(spark, cases, tmp_path, Random("detect"), files=3)) == []
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_exponentially_many_matches_are_one_row_each_end(spark: SparkSession) -> None:
    """By key, by time slices, and in one task: 2^60 matches end at the last event of each key."""
    rows = [{"time": t, "type": "C" if t > 119 else "B", "k": t % 2, "v": str(t)} for t in range(2, 122)]
    rows += [{"time": t, "type": "A", "k": t, "v": "first"} for t in (0, 1)]
    events = frame_of(spark, pa.Table.from_pylist(rows))
    for clauses in ("PARTITION BY k WITHIN 500 s", "PARTITION BY k", "WITHIN 500 s", ""):
        query = ensue.query(f"SELECT y FROM S WHERE A AS x ; B+ AS y ; C AS z {clauses}")
        found = query.detect(events, unit="s")
        assert found.columns[-3:] == ["start_time", "end_time", "took_part"]
        told = {r.end_time: [e.v for e in r.took_part] for r in found.collect()}
        between = [[str(t) for t in range(2, 120) if "k" not in clauses or t % 2 == k] for k in (0, 1)]
        assert told == {120: between[0], 121: between[1]}


@pytest.mark.parametrize("clause", ["LIMIT 3", "LIMIT 3 PER PARTITION", "ORDER BY A.v"])
def test_what_takes_some_of_all_rows_is_refused(spark: SparkSession, clause: str) -> None:
    events = frame_of(spark, pa.Table.from_pylist([{"time": 1, "type": "A", "k": 1, "v": 1}]))
    with pytest.raises(EngineError, match="detect on Spark tells of all matches of an end"):
        ensue.query(f"SELECT A FROM S WHERE A PARTITION BY k {clause}").detect(events, unit="s")
