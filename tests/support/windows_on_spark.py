"""Random windows on Spark, in batches and as streams, beside what the reference finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from sparkling import Case, case_of, differences, run_as_stream, run_in_batch
from window_expressions import Windows, random_rows, table_of

#: So many cases share a job, or a stream.
IN_A_JOB, IN_A_STREAM = 30, 8


def windows_case(name: str, seed: int, windows: Callable[[Random], Windows]) -> Case:
    """Random windows over random rows; those of Spark's rows that have no number in JSON are left out."""
    rng = Random(f"spark {name} {seed}")
    made = windows(rng)
    rows = [{**row, "f": rng.choice([None, 0.1, -0.1, 1e16, 3.5])} for row in random_rows(rng, rng.choice([8, 16]))]
    return case_of(f"{name} {seed}", made.text, table_of(rows), unit="s")


def different_in_batch(spark: Any, cases: Sequence[Case]) -> list[str]:
    """Where a batch of all cases differs from the reference."""
    return differences(cases, run_in_batch(spark, cases))


def different_as_a_stream(spark: Any, cases: Sequence[Case], folder: Path, name: str) -> list[str]:
    """Where a stream of all cases differs from the reference; one task reads all of it, which is fastest here."""
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        found = run_as_stream(spark, cases, folder, Random(name), files=3)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    return differences(cases, found)
