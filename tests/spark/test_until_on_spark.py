"""Windows that wait for what closes them: on Spark they are the reference's, batch and stream, whatever the batches."""

from __future__ import annotations

from typing import Any

import pytest
from amounts import shares
from sparkling import on_a_clock
from window_expressions import random_closed_windows
from windows_on_spark import IN_A_JOB, IN_A_STREAM, different_as_a_stream, different_in_batch, windows_case

import ensue


@pytest.mark.parametrize("seeds", shares(60, each=IN_A_JOB))
def test_random_windows_in_batch(spark: Any, seeds: range) -> None:
    cases = [windows_case("until", seed, random_closed_windows) for seed in seeds]
    assert sum(bool(c.expected) for c in cases) >= len(cases) // 5
    assert different_in_batch(spark, cases) == []


@pytest.mark.parametrize("seeds", shares(8, each=IN_A_STREAM, first=500))
def test_random_windows_as_a_stream(spark: Any, tmp_path: Any, seeds: range) -> None:
    cases = [on_a_clock(windows_case("until", seed, random_closed_windows)) for seed in seeds]
    assert any(c.expected for c in cases)
    assert different_as_a_stream(spark, cases, tmp_path, "until") == []


def test_end_of_a_closed_frame(spark: Any) -> None:
    """By hand: the last window of each key is closed by END, and only if it is said that nothing follows."""
    rows = [(0, "A", 1), (1, "A", 2), (2, "B", 1), (3, "A", 1), (4, "C", 2), (5, "A", 2)]
    frame = spark.createDataFrame(rows, "time long, type string, k int")
    text = "SELECT count(w) AS n FROM S WINDOW w AS (IS A:+ UNTIL (B OR END)) PARTITION BY k"
    query = ensue.query(text)
    ends = {closed: query.run(frame, unit="s", closed=closed).collect() for closed in (False, True)}
    assert sorted((r.k, r.end_time) for r in ends[False]) == [(1, 0)]
    assert sorted((r.k, r.end_time) for r in ends[True]) == [(1, 0), (1, 3), (2, 5)]
