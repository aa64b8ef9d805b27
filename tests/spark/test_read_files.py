"""Tasks that read Parquet files themselves find what Spark finds; where they might not, Spark reads them."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_cases import CORPUS
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as T
from sparkling import differences, rows_of, run_in_batch, with_types

import ensue
from ensue.plan.mode import Mode
from ensue.spark import file_stretches, plain_scan
from ensue.spark.plain_scan import SETTING
from ensue.spark.read_by_tasks import ReadByTasks
from ensue.spark.run import prepare
from ensue.spark.type_mapping import spark_schema

T0 = datetime(2024, 3, 1, 12, 0, 0, tzinfo=UTC)
AB = "SELECT x.k, y.k FROM S WHERE A AS x ; B AS y WITHIN 3 s"
BY_KEY = "SELECT x.v, y.v FROM S WHERE A AS x ; B AS y PARTITION BY k WITHIN 20 s"


@pytest.fixture(autouse=True)
def _many_stretches(monkeypatch):
    """Stretches of few rows, however much is read twice."""
    monkeypatch.setattr(file_stretches, "_FEWEST_ROWS", 0)
    monkeypatch.setattr(file_stretches, "_MOST_READ", 100)


def events(rows=60, **columns):
    table = pa.table(
        {
            "time": pa.array([T0 + timedelta(milliseconds=700 * i) for i in range(rows)], pa.timestamp("us", "UTC")),
            "type": ["ABBC"[i * i % 4] if i % 11 else None for i in range(rows)],
            "k": pa.array([i % 3 for i in range(rows)], pa.int32()),
            "v": [None if i % 7 == 0 else i / 2 for i in range(rows)],
        }
    )
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def written(folder, *tables, rows=8, **how):
    """A folder with a file for each table."""
    folder.mkdir(exist_ok=True)
    for k, table in enumerate(tables):
        pq.write_table(table, folder / f"{k}.parquet", row_group_size=rows, **how)
    return str(folder)


def read_by(frame, query, **options):
    lines = ensue.query(query).explain(frame, **options).splitlines()
    return next(line for line in lines if "read by" in line).split("read by")[1].strip()


def both_ways(spark, frame, query, **options):
    """The rows, after a check that they are the same whoever reads the files."""
    assert read_by(frame, query, **options).startswith("the tasks themselves")
    by_tasks = rows_of(ensue.match(frame, query, **options).toArrow())
    spark.conf.set(SETTING, "false")
    try:
        by_spark = rows_of(ensue.match(frame, query, **options).toArrow())
    finally:
        spark.conf.unset(SETTING)
    assert by_tasks == by_spark
    assert by_spark
    return by_tasks


# ---------------------------------------------------------------- every query


def test_corpus(spark, tmp_path):
    """Every fifth case: the others differ in what the engine does, and not in how it gets its events."""
    cases, frames, themselves = [], [], 0
    for number, case in enumerate(CORPUS[::5]):
        table = with_types(case.table)
        path = str(tmp_path / f"{number}.parquet")
        pq.write_table(table, path, row_group_size=3)
        try:
            frame = spark.read.parquet(path)
        except PySparkException:  # nanoseconds
            continue
        if [f.dataType for f in frame.schema] == [f.dataType for f in spark_schema(table.schema)]:
            cases.append(case)
            frames.append(frame)
            mode = Mode.UNION if case.detects else Mode.ENUMERATE
            job = prepare(ensue.query(case.text).ast, case.text, frame, mode, **case.options)
            themselves += isinstance(job.files, ReadByTasks)
    for first in range(0, len(cases), 60):
        group = slice(first, first + 60)
        assert differences(cases[group], run_in_batch(spark, cases[group], frames[group])) == []
    assert themselves > len(CORPUS) // 20


@pytest.mark.quick
def test_stretches_of_several_files(spark, tmp_path):
    table = events(200)
    parts = [table.slice(0, 90), table.slice(90, 40), table.slice(130)]
    frame = spark.read.parquet(written(tmp_path / "e", *parts))
    assert read_by(frame, BY_KEY) == "the tasks themselves, from 3 files"
    assert "shared out    by time, in 2 stretches\n" in ensue.query(BY_KEY).explain(frame)
    expected = rows_of(ensue.match(table, BY_KEY).to_arrow())
    assert rows_of(ensue.match(frame, BY_KEY).toArrow()) == expected
    assert sum(expected.values()) > 100


@pytest.mark.parametrize("rows", ["LIMIT 7", "ORDER BY x.v DESC LIMIT 7", "LIMIT 1 PER END", "ORDER BY y.v"])
def test_limits_count_what_a_stretch_reports(spark, rows, tmp_path):
    frame = spark.read.parquet(written(tmp_path / "e", events(200, n=pa.array(range(200)))))
    query = f"SELECT x.v, y.v, x.n FROM S WHERE A AS x ; B AS y WITHIN 9 s {rows}"
    assert "in 2 stretches" in ensue.query(query).explain(frame)
    found = both_ways(spark, frame, query)
    assert found == rows_of(ensue.match(events(200, n=pa.array(range(200))), query).to_arrow())


def test_detect(spark, tmp_path):
    frame = spark.read.parquet(written(tmp_path / "e", events(200)))
    by_tasks = rows_of(ensue.query(BY_KEY).detect(frame).toArrow())
    spark.conf.set(SETTING, "false")
    try:
        assert by_tasks == rows_of(ensue.query(BY_KEY).detect(frame).toArrow())
    finally:
        spark.conf.unset(SETTING)
    assert sum(by_tasks.values()) > 30


def test_files_and_rows_out_of_order(spark, tmp_path):
    """The tie-break, and events that wait for those of another file."""
    table = events(120, n=pa.array(range(120)))
    odd, even = table.filter(pa.array([i % 2 == 1 for i in range(120)])), table.take(list(range(118, -1, -2)))
    frame = spark.read.parquet(written(tmp_path / "e", even, odd, rows=25))
    found = both_ways(spark, frame, BY_KEY, tiebreak="n")
    assert found == rows_of(ensue.match(table, BY_KEY).to_arrow())


def test_one_task_without_a_window(spark, tmp_path):
    frame = spark.read.parquet(written(tmp_path / "e", events(50), events(30)))
    found = both_ways(spark, frame, "SELECT x.k, y.k FROM S WHERE A AS x : B AS y")
    assert found
    both_ways(spark, frame, "SELECT x.v, prev(y.v) AS p FROM S WHERE A AS x : B AS y FILTER x.v > 3")


# ---------------------------------------------------------------- every file


@pytest.mark.parametrize("unit", ["ms", "us"])
@pytest.mark.parametrize("zone", ["UTC", None])
def test_units_and_zones(spark, unit, zone, tmp_path):
    table = events()
    table = table.set_column(0, "time", table.column("time").cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone)))
    frame = spark.read.parquet(written(tmp_path / "e", table))
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        both_ways(spark, frame, AB.replace("x.k", "x.time AS t, hour(x.time) AS h"))
        both_ways(spark, frame, AB.replace("WITHIN", "FILTER hour(x.time) > 13 OR x.v > 1 WITHIN"))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("type_", [pa.int16(), pa.int32(), pa.int64(), pa.date32()])
def test_times_of_other_types(spark, type_, tmp_path):
    table = events()
    numbers = pa.array(range(len(table)), pa.int32())
    table = table.set_column(0, "time", numbers.cast(type_))
    frame = spark.read.parquet(written(tmp_path / "e", table))
    options = {} if pa.types.is_date(type_) else {"unit": "d"}
    both_ways(spark, frame, AB.replace("3 s", "3 d"), **options)


def test_columns_of_every_plain_type(spark, tmp_path):
    n = 60
    table = events(
        n,
        flag=pa.array([i % 2 == 0 for i in range(n)]),
        byte=pa.array(range(n), pa.int8()),
        single=pa.array([i / 4 for i in range(n)], pa.float32()),
        price=pa.array([Decimal(i) / 8 for i in range(n)], pa.decimal128(12, 3)),
        day=pa.array([date(2024, 1, 1) + timedelta(days=i) if i % 5 else None for i in range(n)]),
        local=pa.array([datetime(2024, 1, 1) + timedelta(hours=i) for i in range(n)], pa.timestamp("us")),
        word=pa.array([f"wörd {i}" for i in range(n)]).dictionary_encode(),
        large=pa.array(["x" * i for i in range(n)], pa.large_string()),
    )
    frame = spark.read.parquet(written(tmp_path / "e", table))
    shown = "x.flag, x.byte, x.single, x.price, x.day, x.local, x.word, x.large, x.type AS kind, x.time AS at"
    found = both_ways(spark, frame, AB.replace("x.k", shown))
    assert found == rows_of(ensue.match(table, AB.replace("x.k", shown)).to_arrow())
    both_ways(spark, frame, AB.replace("WITHIN", "FILTER x.price > 2 AND y.word LIKE 'w%' WITHIN"))


def test_no_types(spark, tmp_path):
    frame = spark.read.parquet(written(tmp_path / "e", events().drop_columns(["type"])))
    both_ways(spark, frame, "SELECT x.k, y.v FROM S WHERE S AS x ; S AS y FILTER x.v > 3 AND y.v < 9 WITHIN 3 s")


@pytest.mark.parametrize("by", [["part"], ["day", "part"], ["city"]])
def test_partition_columns(spark, by, tmp_path):
    frame = spark.createDataFrame(events().to_pylist(), "time timestamp, type string, k int, v double")
    frame = frame.select(
        "*",
        F.when(F.col("k") > 0, F.col("k") + 7).alias("part"),
        F.date_add(F.lit("2024-02-27").cast("date"), "k").alias("day"),
        F.when(F.col("k") > 0, F.concat(F.lit("São / Paulo="), "k")).alias("city"),
    )
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        frame.write.partitionBy(*by).parquet(str(tmp_path / "e"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    read = spark.read.parquet(str(tmp_path / "e"))
    shown = ", ".join(f"x.{c} AS x{c}, y.{c} AS y{c}" for c in by)
    both_ways(spark, read, AB.replace("x.k", shown))
    both_ways(spark, read, BY_KEY.replace("BY k", f"BY {by[0]}"))


def test_merged_schemas(spark, tmp_path):
    folder = written(tmp_path / "e", events(20).drop_columns(["v"]), events(40).slice(20))
    frame = spark.read.option("mergeSchema", "true").parquet(folder)
    found = both_ways(spark, frame, AB.replace("x.k", "x.v AS a, y.v AS b"))
    assert any("null" in row for row in found)
    both_ways(spark, frame, AB.replace("WITHIN", "FILTER x.v IS NULL WITHIN"))


def test_names_of_any_case_and_with_any_characters(spark, tmp_path):
    table = events(60, **{"a.b c": pa.array(range(60))}).rename_columns(["TIME", "Type", "K", "v", "a.b c"])
    folder = written(tmp_path / "e", table)
    schema = "time timestamp, type string, k int, V double, `a.b c` long"
    frame = spark.read.schema(schema).parquet(folder)
    found = both_ways(spark, frame, "SELECT x.V, x.`a.b c` AS n FROM S WHERE A AS x ; B AS y WITHIN 3 s")
    assert not all("null" in row for row in found)
    renamed = spark.read.parquet(folder).select(
        F.col("TIME").alias("time"), F.col("Type").alias("type"), F.col("v").alias("k"), F.col("K").alias("v")
    )
    both_ways(spark, renamed, AB)


def test_times_of_long_ago(spark, tmp_path):
    table = events()
    long_ago = [datetime(1500, 1, 1) + timedelta(seconds=i) for i in range(len(table))]
    table = table.set_column(0, "time", pa.array(long_ago, pa.timestamp("us", "UTC")))
    both_ways(spark, spark.read.parquet(written(tmp_path / "new", table)), AB)
    told = {b"org.apache.spark.version": b"3.5.0", b"org.apache.spark.legacyDateTime": b""}
    for name, metadata in (("told", told), ("old", {b"org.apache.spark.version": b"2.4.8"})):
        frame = spark.read.parquet(written(tmp_path / name, table.replace_schema_metadata(metadata)))
        assert "may be of the old calendar" in read_by(frame, AB)
        (row,) = set(ensue.match(frame, AB).toArrow()["start_time"].to_pylist()[:1])
        assert row.day != 1  # Spark has moved it
    frame = spark.read.option("datetimeRebaseMode", "LEGACY").parquet(written(tmp_path / "new", table))
    assert "may be of the old calendar" in read_by(frame, AB)


# ---------------------------------------------------------------- left to Spark


def test_what_is_left_to_spark(spark, tmp_path):
    frame = spark.read.parquet(written(tmp_path / "e", events()))
    table = tmp_path / "nulls"
    nothing = pa.array([None] * 60, pa.timestamp("us", "UTC"))
    left = [
        (frame.filter("k > 0"), "Filter is not a plain scan"),
        (frame.limit(10), "Limit"),
        (frame.withColumn("k", F.col("k") + 1), "'k' is computed"),
        (frame.unionByName(frame), "Union"),
        (frame.join(frame.select("k").distinct(), "k"), "not a plain scan"),
        (spark.createDataFrame(events().to_pylist()), "a DataFrame of rows"),
        (spark.read.option("ignoreCorruptFiles", "true").parquet(str(tmp_path / "e")), "option ignorecorruptfiles"),
        (spark.read.parquet(written(table, events().set_column(0, "time", nothing))), "do not say between which times"),
        (frame.select("*", F.col("_metadata.file_name").alias("w")), None),
    ]
    for other, said in left:
        told = read_by(other, AB)
        assert ("the tasks themselves, from 1 file" if said is None else said) in told
    assert "is computed" in read_by(frame, BY_KEY.replace("BY k", "BY k % 2"))
    assert "a key come together by a shuffle" in read_by(frame, "SELECT * FROM S WHERE A ; B PARTITION BY k")
    for setting, value in ((SETTING, "false"), ("spark.sql.files.ignoreMissingFiles", "true")):
        spark.conf.set(setting, value)
        try:
            assert read_by(frame, AB) == f"Spark: {setting} is {value}"
        finally:
            spark.conf.unset(setting)


def test_a_cached_frame_is_what_it_was(spark, tmp_path):
    folder = written(tmp_path / "e", events())
    frame = spark.read.parquet(folder).cache()
    assert frame.count() == 60
    assert "a cached DataFrame is not a plain scan" in read_by(frame, AB)
    frame.unpersist()
    again = spark.read.parquet(folder)
    assert read_by(again, AB).startswith("the tasks themselves")
    again.cache()
    assert "a cached DataFrame is not a plain scan" in read_by(again, AB)
    again.unpersist()


def test_a_cluster_that_does_not_show_its_plan(spark, monkeypatch, tmp_path):
    """Spark reads the files, as it did before."""
    frame = spark.read.parquet(written(tmp_path / "e", events()))

    def refused(*_):
        raise Py4JError("the method is not allowed")

    monkeypatch.setattr(plain_scan, "_relation", refused)
    assert read_by(frame, AB) == "Spark: Spark does not show its plan here (Py4JError)"
    assert rows_of(ensue.match(frame, AB).toArrow()) == rows_of(ensue.match(events(), AB).to_arrow())


def test_views_and_tables(spark, tmp_path):
    folder = written(tmp_path / "e", events())
    spark.read.parquet(folder).createOrReplaceTempView("files_read_by_tasks")
    both_ways(spark, spark.table("files_read_by_tasks"), AB)
    both_ways(spark, spark.sql("SELECT type, time, v AS k FROM files_read_by_tasks"), AB)
    assert "Filter" in read_by(spark.sql("SELECT * FROM files_read_by_tasks WHERE k < 2"), AB)


def test_int96_has_no_times_in_the_footer(spark, tmp_path):
    """As Spark writes timestamps unless it is told otherwise."""
    written(tmp_path / "e", events(), use_deprecated_int96_timestamps=True)
    frame = spark.read.parquet(str(tmp_path / "e"))
    assert "do not say between which times" in read_by(frame, AB)


# ---------------------------------------------------------------- files that change


@pytest.mark.parametrize("change", ["gone", "grown", "touched", "cut"])
def test_a_file_changes_after_planning(spark, change, tmp_path):
    folder = written(tmp_path / "e", events())
    file = tmp_path / "e" / "0.parquet"
    matches = ensue.match(spark.read.parquet(folder), AB)
    match change:
        case "gone":
            file.unlink()
        case "grown":
            pq.write_table(events(70), file)
        case "touched":
            os.utime(file, (1, 1))
        case "cut":
            status = file.stat()
            file.write_bytes(b"PAR1" + bytes(status.st_size - 4))
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    wanted = {"gone": "is gone", "cut": "cannot be read"}.get(change, "has changed")
    with pytest.raises(
        PySparkException, match=f"DataError: the file .*0.parquet {wanted}.*since the query was planned"
    ):
        matches.collect()


def test_a_file_changes_before_planning(spark, tmp_path):
    folder = written(tmp_path / "e", events(), events())
    frame = spark.read.parquet(folder)
    (tmp_path / "e" / "1.parquet").unlink()
    assert "the footer of" in read_by(frame, AB)
    with pytest.raises(Exception, match=r"1.parquet does not exist"):
        ensue.match(frame, AB).collect()


def test_types_that_are_told_in_the_schema(spark, tmp_path):
    """A reader's own schema may widen numbers."""
    folder = written(tmp_path / "e", events())
    schema = T.StructType.fromJson(spark.read.parquet(folder).schema.jsonValue())
    schema["k"].dataType = T.LongType()
    both_ways(spark, spark.read.schema(schema).parquet(folder), AB)
    schema["k"].dataType = T.ShortType()
    assert "'k' of type smallint is int32" in read_by(spark.read.schema(schema).parquet(folder), AB)
