"""Automata of one's own on Spark: random ones in batch and as streams."""

from __future__ import annotations

from random import Random

import pytest
from amounts import shares
from random_automata import random_automaton, random_events, random_query, table_of
from sparkling import Case, case_of, differences, on_a_clock, run_as_stream, run_in_batch

from ensue.algebra import MatchAutomaton

IN_A_JOB, IN_A_STREAM = 40, 12


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """The automata of the queries are known to the whole program for the time of a test."""
    monkeypatch.setattr("ensue.own.registry._registered", {})


def random_case(seed: int) -> Case:
    rng = Random(f"automata on Spark {seed}")
    random_automaton(rng).register(f"m{seed}")
    text = random_query(rng).replace("MATCHES m", f"MATCHES m{seed}")
    return case_of(f"seed {seed}", text, table_of(random_events(rng, 12)), unit="s")


def case_of_algebra() -> Case:
    """What the algebra makes of automata: it has types, a register that no row shows, and a clock."""
    table = table_of(random_events(Random("algebra"), 60))
    later, at_once = (MatchAutomaton.of(f"A AS x {link} B AS y") for link in (";", ":"))
    alike = MatchAutomaton.of("ANY AS x ;[<= 3 s] ANY AS y FILTER x.v = y.v", schema=table.schema)
    ((later - at_once).keeping("x", "y") & alike).register("algebra")
    return case_of("algebra", "SELECT x.v, y.w FROM S WHERE MATCHES algebra WITHIN 9 s", table, unit="s")


@pytest.mark.parametrize("seeds", shares(40, each=IN_A_JOB))
def test_in_batch(spark, seeds):
    cases = [case_of_algebra(), *(random_case(seed) for seed in seeds)]
    assert cases[0].expected
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 4
    assert differences(cases, run_in_batch(spark, cases)) == []


@pytest.mark.parametrize("seeds", shares(12, each=IN_A_STREAM, first=500))
def test_as_a_stream(spark, tmp_path, seeds):
    cases = [on_a_clock(case) for case in (case_of_algebra(), *map(random_case, seeds))]
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        found = run_as_stream(spark, cases, tmp_path, Random("automata"), files=3)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert differences(cases, found) == []
