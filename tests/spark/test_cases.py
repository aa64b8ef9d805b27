"""Every case of the corpus, every example of the papers and random queries on Spark equal the reference.

In batch that is all of them. As a stream a case takes some 3 seconds of a core, most of it for what Spark does around
it (a process to ask for the state's schema, then a state store, a checkpoint and three Python workers a micro-batch),
so all of them would take twenty minutes: a run takes every ninth case of the corpus, and `make soak` takes all of them.
What runs inside Spark's workers, test_buckets.py runs for all of them.
"""

from __future__ import annotations

from contextlib import contextmanager
from random import Random

import pytest
from amounts import shares
from corpus_cases import CORPUS, TIMED, paper_cases
from sparkling import Case, case_of, differences, on_a_clock, run_as_stream, run_in_batch
from strategies import events_table, random_query, random_stream

from ensue.language.printer import print_query

#: So many cases share a job, or a stream.
IN_A_JOB, IN_A_STREAM = 60, 20


def groups(cases, size):
    """Cuts the cases into groups; neighbours, which are alike, come into different ones."""
    n = -(-len(cases) // size)
    return [pytest.param(cases[k::n], id=f"{k + 1} of {n}") for k in range(n)]


def random_case(seed: int) -> Case:
    rng = Random(f"spark {seed}")
    return case_of(f"seed {seed}", print_query(random_query(rng)), events_table(random_stream(rng, 12)), unit="s")


@pytest.mark.parametrize("cases", groups(CORPUS, IN_A_JOB))
def test_corpus_in_batch(spark, cases):
    assert differences(cases, run_in_batch(spark, cases)) == []


def test_papers_in_batch(spark):
    cases = paper_cases()
    assert len(cases) > 100
    for first in range(0, len(cases), IN_A_JOB):
        group = cases[first : first + IN_A_JOB]
        assert differences(group, run_in_batch(spark, group)) == []


@pytest.mark.quick
@pytest.mark.parametrize("seeds", shares(100, each=IN_A_JOB))
def test_random_queries_in_batch(spark, seeds):
    cases = [random_case(seed) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 5
    assert differences(cases, run_in_batch(spark, cases)) == []


@contextmanager
def one_partition(spark):
    """A stream of many queries has many states: one partition each will do."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def streamed(spark, cases, folder, seed):
    with one_partition(spark):
        return run_as_stream(spark, cases, folder, Random(seed), files=3)


@pytest.mark.parametrize("cases", groups(TIMED[::9], IN_A_STREAM))
def test_corpus_as_a_stream(spark, cases, tmp_path):
    assert differences(cases, streamed(spark, cases, tmp_path, "corpus")) == []


def test_deadlines_pass_with_the_watermark(spark, tmp_path):
    cases = [c for c in TIMED if c.name.startswith("deadline:")][::4]
    assert sum(bool(c.expected) for c in cases) > 2
    assert differences(cases, streamed(spark, cases, tmp_path, "deadlines")) == []


def test_rounds_and_sets_as_a_stream(spark, tmp_path):
    """Registers that add up, and weights of matches, in states between micro-batches."""
    cases = [c for c in TIMED if c.name.startswith(("running:", "aggregates_in_filters:"))][::4]
    assert sum(bool(c.expected) for c in cases) > 5
    assert differences(cases, streamed(spark, cases, tmp_path, "rounds")) == []


def test_papers_as_a_stream(spark, tmp_path):
    cases = [on_a_clock(c) for c in paper_cases()][::12]
    assert differences(cases, streamed(spark, cases, tmp_path, "papers")) == []


@pytest.mark.parametrize("seeds", shares(12, each=IN_A_STREAM, first=1_040))
def test_random_queries_as_a_stream(spark, tmp_path, seeds):
    cases = [on_a_clock(random_case(seed)) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 3
    assert differences(cases, streamed(spark, cases, tmp_path, "random")) == []
