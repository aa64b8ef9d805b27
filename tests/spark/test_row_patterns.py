"""MATCH_RECOGNIZE over Spark DataFrames gives what it gives over tables in memory; the SQL around it is Spark's."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from amounts import most, shares
from clauses_on_spark import in_memory, random_case
from pyspark.errors import PythonException

import ensue

DAYS = [("x", day, price) for day, price in enumerate([90, 80, 70, 85, 95, 95, 60, 75])]
V_SHAPE = """MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY day
    MEASURES FIRST(day) AS begins, LAST(DOWN.price) AS bottom
    AFTER MATCH SKIP TO LAST UP
    PATTERN (TOP DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""


@pytest.fixture(scope="module")
def ticks(spark):
    return spark.createDataFrame([*DAYS, *(("y", d, -p) for _, d, p in DAYS)], "k string, day int, price int")


def found(frame):
    return sorted(tuple(row) for row in frame.collect())


# ---------------------------------------------------------------- the same as in memory


@pytest.mark.parametrize("seeds", shares(60, each=30), ids=str)
def test_random_clauses(spark, seeds):
    compared = 0
    for seed in seeds:
        text, table = random_case(seed)
        expected = in_memory(text, table)
        frame = ensue.sql(text, t=spark.createDataFrame(table))
        if expected is None:
            with pytest.raises(PythonException, match="AFTER MATCH SKIP"):
                frame.collect()
            continue
        compared += 1
        assert Counter(map(repr, frame.toArrow().to_pylist())) == expected, f"seed {seed}:\n{text}"
    assert compared > most(seeds, 0.5)


# ---------------------------------------------------------------- the SQL around the clause


def test_a_join_and_a_common_table_expression(ticks):
    query = f"""
        -- MATCH_RECOGNIZE ( in a comment is none
        WITH late AS (SELECT * FROM t WHERE day >= 0),
             shapes (key, first_day, low) AS (SELECT * FROM late AS s {V_SHAPE})
        SELECT m.*, t.price AS top, 'a \\' and {{b}}' AS text
        FROM shapes AS m LEFT JOIN t ON t.k = m.key AND t.day = m.first_day
        WHERE low > 0 ORDER BY first_day LIMIT 10;"""
    assert found(ensue.sql(query, t=ticks)) == [("x", 0, 70, 90, "a ' and {b}"), ("x", 5, 60, 95, "a ' and {b}")]


def test_a_clause_over_the_rows_of_a_clause(ticks):
    query = f"SELECT * FROM t {V_SHAPE} MATCH_RECOGNIZE (ORDER BY begins, k MEASURES count(*) AS n PATTERN (A+)) m"
    assert found(ensue.sql(query, t=ticks)) == [(len(ensue.sql(f"SELECT * FROM t {V_SHAPE}", t=ticks).collect()),)]


def test_a_frame_of_rows_in_a_condition(ticks):
    clause = """MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY day MEASURES MATCH_NUMBER() AS n, count(*) AS c, FIRST(day) AS f PATTERN (A+)
        DEFINE A AS avg(price) OVER (ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) > 80)"""
    expected = ensue.sql(f"SELECT * FROM t {clause}", t=ticks.toArrow()).to_arrow().to_pylist()
    assert len(expected) > 1
    assert found(ensue.sql(f"SELECT * FROM t {clause}", t=ticks)) == sorted(tuple(r.values()) for r in expected)


def test_matches_without_columns_are_counted(ticks):
    clause = "MATCH_RECOGNIZE (ORDER BY k, day PATTERN (A B) DEFINE B AS price > PREV(price))"
    expected = len(ensue.sql(f"SELECT 1 AS one FROM t {clause}", t=ticks.toArrow()))
    assert expected > 1
    assert found(ensue.sql(f"SELECT count(*) AS n FROM t {clause}", t=ticks)) == [(expected,)]
    assert len(ensue.sql(f"SELECT 1 AS one FROM t {clause}", t=ticks).collect()) == expected


def test_two_clauses_a_window_and_a_table_that_is_no_dataframe(ticks):
    names = pa.table({"k": ["x", "y"], "name": ["up", "down"]})
    query = f"""
        SELECT name, row_number() OVER (PARTITION BY name ORDER BY begins) AS n, bottom
        FROM (SELECT * FROM t {V_SHAPE} WHERE k = 'x' UNION ALL SELECT * FROM t {V_SHAPE} AS u WHERE k = 'y') m
        JOIN names USING (k)"""
    expected = Counter(r[0] for r in ensue.sql(f"SELECT * FROM t {V_SHAPE}", t=ticks).collect())
    got = found(ensue.sql(query, t=ticks, names=names))
    assert Counter(r[0] for r in got) == Counter(up=expected["x"], down=expected["y"])
    assert [r for r in got if r[0] == "up"] == [("up", 1, 70), ("up", 2, 60)]


def test_computed_keys_are_sparks(ticks):
    query = """SELECT * FROM t AS s MATCH_RECOGNIZE (
        PARTITION BY concat(s.k, '-z') ORDER BY mod(8 - day, 8), day
        MEASURES FIRST(day) AS first_day, LAST(day) AS last_day PATTERN (A B*) DEFINE B AS day < PREV(day)) m"""
    frame = ensue.sql(query, t=ticks)
    assert frame.columns == ["concat(s.k, '-z')", "first_day", "last_day"]
    assert found(frame) == [("x-z", 0, 0), ("x-z", 7, 1), ("y-z", 0, 0), ("y-z", 7, 1)]


def test_without_keys_there_is_one_task(ticks):
    query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY day, k MEASURES count(*) AS n PATTERN (A+))"
    assert found(ensue.sql(query, t=ticks)) == [(16,)]
    assert "one task for all rows: there is no PARTITION BY" in ensue.explain_sql(query, t=ticks)
    assert found(ensue.sql("SELECT * FROM t MATCH_RECOGNIZE (MEASURES 1 AS n PATTERN (A))", t=ticks)) == [(1,)] * 16


# ---------------------------------------------------------------- as Spark has it


def test_nulls_come_first_and_last_in_descending_order(spark):
    frame = spark.createDataFrame([(2,), (None,), (1,)], "v int")
    query = "SELECT l FROM t MATCH_RECOGNIZE (ORDER BY v {} MEASURES array_agg(v) AS l PATTERN (A+))"
    for order, values in {"": [None, 1, 2], "DESC": [2, 1, None], "NULLS LAST": [1, 2, None]}.items():
        got = ensue.sql(query.format(order).replace("array_agg(v)", "array_agg(coalesce(v, -1))"), t=frame).collect()
        assert got[0][0] == [-1 if v is None else v for v in values]


def test_times_are_seen_in_the_sessions_zone(spark):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = spark.createDataFrame([(datetime(2024, 1, 1, 20, tzinfo=UTC),)], "at timestamp")
        query = """SELECT hour, day, extract(HOUR FROM at) AS same FROM t MATCH_RECOGNIZE (
            ORDER BY at MEASURES EXTRACT(HOUR FROM at) AS hour, CAST(at AS DATE) = DATE '2024-01-02' AS day, at AS at
            PATTERN (A) DEFINE A AS at >= TIMESTAMP '2024-01-02 05:00:00'
              AND LAST(at) < CAST('2024-01-03' AS TIMESTAMP))"""
        assert found(ensue.sql(query, t=frame)) == [(5, True, 5)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_columns_that_python_cannot_have_are_left_out(spark):
    frame = spark.sql("SELECT 1 AS v, parse_json('{}') AS j, interval 1 month AS i")
    query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v MEASURES v AS w {} PATTERN (A))"
    assert found(ensue.sql(query.format(""), t=frame)) == [(1,)]
    with pytest.raises(ensue.DataError, match="cannot be handed to Python"):
        ensue.sql(query.format("ALL ROWS PER MATCH"), t=frame)


# ---------------------------------------------------------------- errors before a job runs


def test_a_problem_has_its_place_in_the_whole_text(ticks):
    query = f"SELECT * FROM t {V_SHAPE} a, t MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS prise > 1)"
    with pytest.raises(ensue.QueryError, match="unknown column 'prise'") as error:
        ensue.sql(query, t=ticks)
    (problem,) = error.value.problems
    assert query[problem.span.start : problem.span.end] == "prise"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM t", "there is no MATCH_RECOGNIZE"),
        ("SELECT MATCH_RECOGNIZE (PATTERN (A))", "stands behind a table|cannot stand here"),
        ("SELECT * FROM MATCH_RECOGNIZE (PATTERN (A))", "stands behind a table"),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)", "ends too early"),
        (
            "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS FINAL LAST(day) > 1)",
            "FINAL cannot stand in DEFINE",
        ),
    ],
)
def test_refused(ticks, query, message):
    with pytest.raises(ensue.QueryError, match=message):
        ensue.sql(query, t=ticks)


def test_options(ticks):
    query = f"SELECT * FROM t {V_SHAPE}"
    with pytest.raises(ensue.EngineError, match="Spark has its own"):
        ensue.sql(query, t=ticks, engine="reference")
    with pytest.raises(TypeError, match="are for Spark DataFrames only"):
        ensue.sql(query, t=[{"k": 1, "day": 1, "price": 1}], memory="1 GB")
    path = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY k, day PATTERN ((A | B)* C) DEFINE C AS sum(A.price) = 1)"
    frame = ensue.sql(path, t=ticks, budget=5)
    with pytest.raises(PythonException, match="took more than 5 steps"):
        frame.collect()
    assert len(ensue.sql(query, t=ticks, memory="200 MB").collect()) > 0
