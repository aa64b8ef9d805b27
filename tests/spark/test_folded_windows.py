"""Aggregates of windows that are folded while events come: on Spark they are the reference's, batch and stream."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from amounts import shares
from sparkling import Case, case_of, differences, on_a_clock, rows_of, run_as_stream, run_in_batch
from window_expressions import random_rows, random_windows, table_of
from windows_on_spark import IN_A_JOB, IN_A_STREAM, different_as_a_stream, different_in_batch, windows_case

import ensue
from ensue.own import registry


@pytest.mark.parametrize("seeds", shares(60, each=IN_A_JOB))
def test_random_windows_in_batch(spark: Any, seeds: range) -> None:
    cases = [windows_case("windows", seed, random_windows) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 4
    assert different_in_batch(spark, cases) == []


@pytest.mark.parametrize("seeds", shares(8, each=IN_A_STREAM, first=500))
def test_random_windows_as_a_stream(spark: Any, tmp_path: Any, seeds: range) -> None:
    cases = [on_a_clock(windows_case("windows", seed, random_windows)) for seed in seeds]
    assert any(c.expected for c in cases)
    assert different_as_a_stream(spark, cases, tmp_path, "windows") == []


@pytest.fixture
def glued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    ensue.aggregate("glued", lift=lambda s: f"<{s}>", combine=lambda a, b: a + b, takes="string", state="string")


TEXTS = (
    "SELECT glued(w.s) AS g, count(w) AS n FROM S WINDOW w AS (IS A:+ : B) PARTITION BY k",
    "SELECT glued(w.s) AS g FROM S WINDOW w AS (IS ANY:{3}) FILTER glued(w.s) <> '<a>'",
)


def with_names(case: Case) -> Case:
    """The case with the rows of the reference, for a query that uses a name of the program."""
    rows = ensue.query(case.text).run(case.table, **case.options, engine="reference").to_arrow()
    case.__dict__["expected"] = rows_of(rows)
    return case


@pytest.mark.usefixtures("glued")
def test_aggregates_of_ones_own(spark: Any, tmp_path: Any) -> None:
    table = table_of(random_rows(Random("glued"), 20))
    cases = [with_names(case_of(text, text, table, unit="s")) for text in TEXTS]
    assert all(c.expected for c in cases)
    assert differences(cases, run_in_batch(spark, cases)) == []
    timed = [with_names(on_a_clock(c)) for c in cases]
    assert differences(timed, run_as_stream(spark, timed, tmp_path, Random("glued"), files=3)) == []
