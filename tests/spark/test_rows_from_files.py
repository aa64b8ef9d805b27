"""MATCH_RECOGNIZE over Parquet files that the tasks read themselves gives what it gives where Spark reads them."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from amounts import most, shares
from clauses_on_spark import in_memory, random_case
from pyspark.errors import PythonException

import ensue
from ensue.spark.parquet_footers import RowGroup
from ensue.spark.plain_scan import SETTING
from ensue.spark.recognize.rows_from_files import shared_out

RUNS = """SELECT * FROM t MATCH_RECOGNIZE (
    PARTITION BY {key} ORDER BY n MEASURES count(*) AS c, FIRST(n) AS f, sum(n) AS s PATTERN (A+))"""


@pytest.mark.parametrize("seeds", shares(20, each=20), ids=str)
def test_random_clauses(spark, tmp_path, seeds):
    compared = 0
    for seed in seeds:
        text, table = random_case(seed)
        expected = in_memory(text, table)
        file = tmp_path / f"{seed}.parquet"
        pq.write_table(table, file, row_group_size=3)
        frame = spark.read.parquet(str(file))
        said = ensue.explain_sql(text, t=frame)
        assert "from 1 file" in said or "the clause uses no columns" in said, text
        if expected is None:
            with pytest.raises(PythonException, match="AFTER MATCH SKIP"):
                ensue.sql(text, t=frame).collect()
            continue
        compared += 1
        found = Counter(map(repr, ensue.sql(text, t=frame).toArrow().to_pylist()))
        assert found == expected, f"seed {seed}:\n{text}"
    assert compared > most(seeds, 0.5)


KEYS = pa.table(
    {
        "n": range(60),
        "whole": pa.array([None if i % 7 == 0 else i % 5 - 2 for i in range(60)], pa.int32()),
        "text": [None if i % 7 == 0 else "äbc"[i % 3] * (i % 4) for i in range(60)],
        "day": [date(2024, 1, 1 + i % 9) for i in range(60)],
        "money": pa.array([Decimal(i % 6) / 4 for i in range(60)], pa.decimal128(9, 2)),
        "truth": [(None, True, False)[i % 3] for i in range(60)],
        "real": [(None, float("nan"), 0.0, -0.0, 1.5)[i % 5] for i in range(60)],
    }
)


@pytest.mark.parametrize("key", ["whole", "text", "day", "money", "truth", "real", "text, whole", "n"])
def test_keys_of_every_type_come_together(spark, tmp_path, key):
    for i in range(3):
        pq.write_table(KEYS.slice(20 * i, 20), tmp_path / f"{i}.parquet", row_group_size=7)
    frame = spark.read.parquet(str(tmp_path))
    query = RUNS.format(key=key)
    found = Counter(map(str, ensue.sql(query, t=frame).toArrow().to_pylist()))
    assert found == Counter(map(str, ensue.sql(query, t=KEYS).to_arrow().to_pylist()))
    spark.conf.set(SETTING, "false")
    try:
        assert f"read by     Spark: {SETTING} is false" in ensue.explain_sql(query, t=frame)
        assert Counter(map(str, ensue.sql(query, t=frame).toArrow().to_pylist())) == found
    finally:
        spark.conf.unset(SETTING)


def test_what_is_more_than_a_scan_is_read_by_spark(spark, tmp_path):
    pq.write_table(KEYS, tmp_path / "0.parquet")
    frame = spark.read.parquet(str(tmp_path))
    filtered = ensue.explain_sql(RUNS.format(key="whole"), t=frame.where("n > 3"))
    assert "read by     Spark: Filter is not a plain scan of Parquet files" in filtered
    computed = ensue.explain_sql(RUNS.format(key="whole % 2"), t=frame)
    assert "read by     Spark: " in computed
    nothing = "SELECT * FROM t MATCH_RECOGNIZE (MEASURES 1 AS one PATTERN (A))"
    assert "read by     Spark: the clause uses no columns" in ensue.explain_sql(nothing, t=frame)


def test_a_file_that_changes_is_told(spark, tmp_path):
    pq.write_table(KEYS, tmp_path / "0.parquet")
    planned = ensue.sql(RUNS.format(key="whole"), t=spark.read.parquet(str(tmp_path)))
    pq.write_table(KEYS.slice(5), tmp_path / "0.parquet")
    with pytest.raises(PythonException, match="has changed since the query was planned"):
        planned.collect()


@pytest.mark.parametrize(
    ("sizes", "tasks", "shared"),
    [
        ((10, 10, 10, 10), 2, ((0, 1), (2, 3))),
        ((10,), 4, ((0,),)),
        ((100, 1, 1, 1), 2, ((0,), (1, 2, 3))),
        ((), 2, ((),)),
    ],
)
def test_row_groups_are_shared_out_in_order(sizes, tasks, shared):
    groups = [RowGroup(0, number, rows, 0, 0) for number, rows in enumerate(sizes)]
    assert tuple(tuple(g.number for g in share) for share in shared_out(groups, tasks)) == shared
