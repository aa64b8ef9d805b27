"""Random queries with all that the language has learnt, in batch and as streams, as the reference evaluates them.

Spark orders rows of one `end_time` as it likes, so no query here asks for the first rows of all.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from amounts import shares
from sparkling import Case, case_of, differences, on_a_clock, run_as_stream, run_in_batch
from strategies import events_table, random_stream
from worded import OWN, worded_query

from ensue.language import ast
from ensue.language.printer import print_query
from ensue.own.registry import register

IN_A_JOB, IN_A_STREAM = 60, 15


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """The functions of the queries, known to the whole program for the time of a test."""
    monkeypatch.setattr("ensue.own.registry._registered", {})
    for function in OWN.values():
        register(function)


def random_case(seed: int, *, of_stream: bool = False) -> Case:
    rng = Random(f"words on Spark {seed}")
    query = worded_query(rng)
    if query.per is ast.Per.RESULT:
        query = replace(query, limit=None, order=() if of_stream else query.order)
    return case_of(f"seed {seed}", print_query(query), events_table(random_stream(rng, 12)), unit="s")


@pytest.mark.parametrize("seeds", shares(60, each=IN_A_JOB))
def test_in_batch(spark, seeds):
    cases = [random_case(seed) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 6
    assert differences(cases, run_in_batch(spark, cases)) == []


@pytest.mark.parametrize("seeds", shares(8, each=IN_A_STREAM, first=500))
def test_as_a_stream(spark, tmp_path, seeds):
    cases = [on_a_clock(random_case(seed, of_stream=True)) for seed in seeds]
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        found = run_as_stream(spark, cases, tmp_path, Random("words"), files=3)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert differences(cases, found) == []
