"""Fields, elements and keys on Spark, in batch and as a stream, equal the reference."""

from random import Random

import pytest
from amounts import shares
from corpus_cases import CORPUS, TIMED
from nesting import nested_table, with_nested_terms
from sparkling import Case, case_of, differences, run_as_stream, run_in_batch
from strategies import random_query, random_stream

from ensue.language.printer import print_query


def nested(cases: list[Case]) -> list[Case]:
    return [c for c in cases if c.name.startswith("nested_values:")]


def random_case(seed: int) -> Case:
    rng = Random(f"nested on spark {seed}")
    text = print_query(with_nested_terms(rng, random_query(rng)))
    return case_of(f"seed {seed}", text, nested_table(random_stream(rng, 12)), unit="s")


def test_corpus_in_batch(spark):
    cases = nested(CORPUS)
    assert len(cases) >= 10
    assert differences(cases, run_in_batch(spark, cases)) == []


@pytest.mark.parametrize("seeds", shares(60, each=60))
def test_random_queries_in_batch(spark, seeds):
    cases = [random_case(seed) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 5
    assert differences(cases, run_in_batch(spark, cases)) == []


def test_corpus_as_a_stream(spark, tmp_path):
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        cases = nested(TIMED)
        assert differences(cases, run_as_stream(spark, cases, tmp_path, Random("nested"), files=3)) == []
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
