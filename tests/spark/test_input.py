"""What users give a query on Spark: bad input is refused in words, and odd input means what it means embedded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from every_type import EVERYTHING, everything
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from sparkling import case_of, differences, frame_of, rows_of, run_in_batch

import ensue
from ensue.errors import DataError, EngineError, EnsueError, QueryError

AB = "SELECT * FROM S WHERE A ; B WITHIN 5 s"
ROWS = [{"time": t, "type": x, "k": t % 2} for t, x in enumerate("AABBAB")]
T0 = datetime(2024, 3, 1, 12, 0, 0, tzinfo=UTC)


def frame(spark, rows=ROWS, schema="time long, type string, k long"):
    return spark.createDataFrame(rows, schema)


def collected(matches):
    """The rows as Arrow has them, in the form of the embedded engine's."""
    return rows_of(matches.toArrow())


def a_stream(spark):
    """A stream that never gets an event, with a column `at` of timestamps."""
    return spark.readStream.format("rate").load().select(F.col("timestamp").alias("at"), F.lit("A").alias("type"))


# ---------------------------------------------------------------- refused before a job runs


@pytest.mark.parametrize(
    ("query", "options", "said"),
    [
        (AB, {"time": "tiem", "unit": "s"}, "no time column 'tiem': did you mean 'time'"),
        (AB, {"unit": "s", "type": "kind"}, "no type column 'kind'"),
        (AB, {"unit": "s", "type": "k"}, "type column 'k' is of type bigint, not of strings"),
        (AB, {"unit": "s", "tiebreak": "n"}, "no tie-break column 'n'"),
        (AB, {"time": "type", "unit": "s"}, r"time column 'type' is of type string.*to_timestamp\(type\)"),
        (AB, {"time": None}, "a DataFrame has no order of its own"),
        (AB, {}, "say its unit"),
        (AB, {"unit": "sec0nds"}, "unknown unit of time 'sec0nds'"),
        (f"{AB.replace(' WITHIN', ' PARTITION BY kk WITHIN')}", {"unit": "s"}, "kk"),
        ("SELECT x.vv FROM S WHERE A AS x", {}, "vv"),
        ("SELECT * FROM S WHERE A AS x FILTER x.type > 1", {}, "type"),
        ("SELECT * FROM S, T WHERE A", {}, "streams S, T: give a mapping"),
    ],
)
def test_refused_in_words(spark, query, options, said):
    with pytest.raises(EnsueError, match=said):
        ensue.match(frame(spark), query, **options)


def test_the_same_error_as_embedded(spark):
    """A query error has the place in the text, the same on Spark."""
    text = "SELECT x.K FROM S WHERE A AS x"
    with pytest.raises(QueryError) as embedded:
        ensue.match(ROWS, text)
    with pytest.raises(QueryError) as on_spark:
        ensue.match(frame(spark), text)
    assert str(on_spark.value) == str(embedded.value)


def test_two_columns_of_one_name(spark):
    with pytest.raises(DataError, match="two columns named k"):
        ensue.match(frame(spark).withColumn("v", F.lit(1)).withColumnRenamed("v", "k"), AB, unit="s")


def test_a_time_that_has_its_unit_takes_no_other(spark):
    stamped = frame(spark).withColumn("time", F.timestamp_seconds("time"))
    with pytest.raises(DataError, match="leave out unit="):
        ensue.match(stamped, AB, unit="s")


def test_a_stream_without_a_watermark(spark):
    with pytest.raises(DataError, match="no watermark on 'at'") as refused:
        ensue.match(a_stream(spark), AB, time="at")
    assert 'df.withWatermark("at", "10 seconds")' in str(refused.value)


def test_a_watermark_on_another_column_is_none(spark):
    other = a_stream(spark).withColumn("made", F.current_timestamp()).withWatermark("made", "1 second")
    with pytest.raises(DataError, match="no watermark on 'at'"):
        ensue.match(other, AB, time="at")


def test_a_stream_whose_time_is_no_timestamp(spark):
    with pytest.raises(DataError, match="must be a timestamp; 'n' is of type bigint"):
        ensue.match(a_stream(spark).withColumn("n", F.lit(1).cast("long")), AB, time="n", unit="s")


def test_a_query_without_a_window_on_a_stream(spark):
    events = a_stream(spark).withWatermark("at", "1 second")
    with pytest.raises(EngineError, match="WITHIN, or allow that with unbounded=True"):
        ensue.match(events, "SELECT * FROM S WHERE A ; B", time="at")
    assert ensue.match(events, "SELECT * FROM S WHERE A ; B", time="at", unbounded=True).isStreaming


def test_a_finite_frame_has_no_late_events(spark):
    with pytest.raises(DataError, match="no late events"):
        ensue.query(AB).late(frame(spark), unit="s")


def test_options_of_spark_for_spark_only():
    with pytest.raises(TypeError, match="buckets: for Spark DataFrames only"):
        ensue.match(ROWS, AB, unit="s", buckets=4)  # type: ignore[call-overload]


# ---------------------------------------------------------------- refused by a worker


@pytest.mark.parametrize("pattern", ["A ; B WITHIN 5 s", "A ; B", "Z"])
def test_a_null_time_reaches_the_user(spark, pattern):
    rows = [*ROWS, {"time": None, "type": "C", "k": 0}]
    with pytest.raises(PySparkException, match="time column 'time' has a NULL value"):
        ensue.match(frame(spark, rows), f"SELECT * FROM S WHERE {pattern}", unit="s").collect()


def test_the_engines_own_error_reaches_the_user(spark):
    """Seventeen conditions that the events have in all combinations: more classes of events than 16 bits number."""
    bits = [F.expr(f"id >> {i} & 1").alias(f"b{i}") for i in range(17)]
    events = spark.range(70_000).select(F.col("id").alias("time"), *bits)
    pattern = " ; ".join(f"(S AS x{i} FILTER x{i}.b{i} = 1)" for i in range(17))
    with pytest.raises(PySparkException, match="the query's conditions tell more than 65,535 classes of events apart"):
        ensue.match(events, f"SELECT x0.b0 FROM S WHERE {pattern}").collect()


# ---------------------------------------------------------------- odd, and right


def test_an_empty_frame_gives_an_empty_result_with_the_same_columns(spark):
    for text in (AB, "SELECT A.k AS of, count(B) AS n FROM S WHERE A ; B+ PARTITION BY k"):
        full = ensue.match(frame(spark), text, unit="s")
        empty = ensue.match(frame(spark, []), text, unit="s")
        assert empty.schema == full.schema
        assert empty.collect() == []


def test_odd_frames(spark):
    """Each of these over one job: what they give is what the embedded engine gives."""
    double = [r for row in ROWS for r in (row, row)]
    dotted = [{"time": t, "type": x, "a.b": t, "c`d": x, "e f": -t, "": t, "ü": t} for t, x in enumerate("AABBAB")]
    quoted = "SELECT x.`a.b` AS p, y.`c``d` AS q, y.`e f` AS r FROM S WHERE A AS x ; B AS y FILTER x.`a.b` > 0"
    table = pa.Table.from_pylist
    cases = [
        case_of("duplicates are events like any other", AB, table(double), unit="s"),
        case_of("a key that is NULL", f"{AB[:-11]} PARTITION BY k", table([{**r, "k": r["k"] or None} for r in ROWS])),
        case_of("names with dots, backticks and spaces", quoted, table(dotted)),
        case_of("the same in *", "SELECT * FROM S WHERE A ; B", table(dotted)),
        case_of("a key with a dot", "SELECT * FROM S WHERE A ; B PARTITION BY `a.b`", table(dotted)),
        case_of("types are not names of one another", "SELECT * FROM S WHERE a OR A", table(ROWS)),
        case_of(
            "an empty table",
            AB,
            pa.table({"time": pa.array([], pa.int64()), "type": pa.array([], pa.string())}),
            unit="s",
        ),
    ]
    assert differences(cases, run_in_batch(spark, cases)) == []


def test_names_that_differ_in_case_alone(spark):
    """Spark takes `v` and `V` for one name unless told otherwise; our names are told apart, or refused in words."""
    rows = [{"time": t, "type": x, "v": t, "V": -t} for t, x in enumerate("AABBAB")]
    text = "SELECT x.v AS small, y.V AS large FROM S WHERE A AS x ; B AS y FILTER x.v > 0 AND y.V < 0"
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        events = spark.createDataFrame(pa.Table.from_pylist(rows))
        found = collected(ensue.match(events, text, unit="s"))
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    assert found == rows_of(ensue.match(rows, text, unit="s").to_arrow())


def test_every_type_of_attribute(spark):
    """Whole variables show all columns; each comes back with the type it had, and its value."""
    table = pa.Table.from_pylist([everything(n) for n in range(6)], EVERYTHING)
    shown = ", ".join(f"x.{n} AS {n}_" for n in EVERYTHING.names)
    for text in (
        "SELECT x, y FROM S WHERE A AS x ; B AS y WITHIN 2 s",
        f"SELECT {shown} FROM S WHERE A AS x ; B WITHIN 2 s",
        "SELECT collect(x.price) AS c, max(x.day) AS d, min(x.local) AS l, sum(x.byte) AS s FROM S WHERE (A AS x)+ ; B",
        "SELECT x.price AS p FROM S WHERE A AS x ; B AS y FILTER x.price < y.price AND x.price > 0.1",
        "SELECT y.byte AS p FROM S WHERE A AS x ; B AS y FILTER x.day > timestamp('2024-01-02') AND y.single < 1.0",
    ):
        expected = ensue.match(table, text).to_arrow()
        found = ensue.match(frame_of(spark, table), text).toArrow()
        key = [("start_time", "ascending"), ("end_time", "ascending")]
        assert found.sort_by(key).cast(expected.schema).to_pylist() == expected.sort_by(key).to_pylist()
        assert len(expected)


@pytest.mark.parametrize("key", ["price", "day", "local", "flag", "single"])
def test_every_type_of_key(spark, key):
    events = [everything(n % 3) | {"time": T0 + timedelta(seconds=n)} for n in range(12)]
    table = pa.Table.from_pylist([e | {"type": "AB"[i % 2]} for i, e in enumerate(events)], EVERYTHING)
    table = table.select(["time", "type", key, "byte"])
    text = f"SELECT count(B) AS n FROM S WHERE A ; B+ PARTITION BY {key} WITHIN 20 s"
    expected = ensue.match(table, text).to_arrow()
    assert rows_of(ensue.match(frame_of(spark, table), text).toArrow()) == rows_of(expected)
    assert len(expected)


def test_a_type_that_python_cannot_have(spark):
    odd = frame(spark).withColumn("i", F.expr("make_ym_interval(1, 2)"))
    with pytest.raises(DataError, match="'i' is of type interval year to month, which cannot be handed to Python"):
        ensue.match(odd, AB, unit="s")


def test_keys_that_are_equal_though_not_alike(spark):
    """0.0 and -0.0 are one key, and every NaN is; the columns show what the first event has."""
    zeros = [0.0, -0.0, float("nan"), -float("nan"), 0.0, -0.0]
    rows = [{"time": t, "type": "AB"[t % 2], "k": k} for t, k in enumerate(zeros)]
    text = "SELECT A.time AS a, B.time AS b FROM S WHERE A ; B PARTITION BY k WITHIN 5 s"
    expected = ensue.match(rows, text, unit="s").to_arrow().select(["a", "b"])
    for plan in (text, text.replace(" WITHIN 5 s", "")):
        found = ensue.match(spark.createDataFrame(pa.Table.from_pylist(rows)), plan, unit="s").select("a", "b")
        assert rows_of(found.toArrow()) == rows_of(expected)


def test_several_streams(spark):
    doors = [{"time": 1, "type": "Open"}, {"time": 5, "type": "Close"}]
    alarms = [{"time": 3, "type": "Ring", "n": 7}, {"time": 7, "type": "Ring", "n": 8}]
    text = "SELECT * FROM Doors, Alarms WHERE Open ; Ring ; Close"
    frames = {n: spark.createDataFrame(pa.Table.from_pylist(r)) for n, r in (("Doors", doors), ("Alarms", alarms))}
    expected = ensue.match({"Doors": doors, "Alarms": alarms}, text, unit="s").to_arrow()
    assert collected(ensue.match(frames, text, unit="s")) == rows_of(expected)
    with pytest.raises(DataError, match="no events were given for the stream Alarms"):
        ensue.match({"Doors": frames["Doors"]}, text, unit="s")


def test_streams_whose_names_are_types(spark):
    doors = [{"time": 1, "v": 1}, {"time": 4, "v": 2}]
    alarms = [{"time": 3, "w": 7}, {"time": 7, "w": 8}]
    text = "SELECT d.v AS v, a.w AS w FROM Doors, Alarms WHERE Doors AS d ; Alarms AS a WITHIN 3 s"
    frames = {n: spark.createDataFrame(pa.Table.from_pylist(r)) for n, r in (("Doors", doors), ("Alarms", alarms))}
    expected = ensue.match({"Doors": doors, "Alarms": alarms}, text, unit="s").to_arrow()
    assert collected(ensue.match(frames, text, unit="s")) == rows_of(expected)
    one = "SELECT d.v AS v FROM Doors WHERE Doors AS d"
    assert collected(ensue.match(frames["Doors"], one, unit="s")) == rows_of(ensue.match(doors, one).to_arrow())


@pytest.mark.parametrize("window", ["", " WITHIN 5 s", " PARTITION BY k", " PARTITION BY k WITHIN 5 s"])
def test_a_tie_is_broken_by_the_column(spark, window):
    """Whatever order the rows come in; NULLs of the tie-break last, as in the embedded engine."""
    rows = [{"time": t // 3, "type": "ABC"[t % 3], "k": 0, "n": (t * 7) % 5 if t % 4 else None} for t in range(15)]
    text = f"SELECT x.n AS x, y.n AS y FROM S WHERE A AS x ; B AS y{window}"
    expected = rows_of(ensue.match(rows, text, unit="s", tiebreak="n").to_arrow())
    schema = "time long, type string, k long, n long"
    for given in (rows, rows[::-1]):
        assert collected(ensue.match(frame(spark, given, schema), text, unit="s", tiebreak="n")) == expected


@pytest.fixture
def in_zone(spark):
    """Sets the session's zone until the test ends."""
    yield lambda zone: spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu", "+05:45", "GMT-3"])
def test_parts_of_times_are_those_of_the_session_as_in_spark(spark, in_zone, zone):
    """Around the hour that a clock skips: the same as over a table whose column is in that zone, and as Spark SQL's."""
    stamps = [datetime(2024, 3, 10, 6, 30, tzinfo=UTC) + timedelta(minutes=20 * i) for i in range(6)]
    own = {"GMT-3": "-03:00"}.get(zone, zone)
    table = pa.table({"time": pa.array(stamps, pa.timestamp("us", own)), "type": list("ABABAB")})
    utc = table.set_column(0, "time", table["time"].cast(pa.timestamp("us", "UTC")))
    text = """SELECT hour(x.time) AS h, date(x.time) AS d, y.time AS t FROM S WHERE A AS x ; B AS y
              FILTER minute(y.time) <> 30 WITHIN 40 min"""
    expected = ensue.match(table, text).to_arrow()
    assert len(expected) > 1
    events = frame_of(spark, utc)
    in_zone(zone)
    found = ensue.match(events, text)
    by_spark = found.select(F.hour("start_time").alias("h"), F.to_timestamp(F.to_date("start_time")).alias("d"))
    assert rows_of(by_spark.toArrow()) == rows_of(found.select("h", "d").toArrow())
    as_utc = [f.with_type(pa.timestamp("us", "UTC")) if f.name != "h" else f for f in expected.schema]
    assert rows_of(found.toArrow().cast(pa.schema(as_utc))) == rows_of(expected.cast(pa.schema(as_utc)))


def test_a_zone_that_nobody_knows(spark, in_zone):
    in_zone("PST")
    timed = frame_of(spark, pa.table({"time": pa.array([1, 2], pa.timestamp("us", "UTC")), "type": ["A", "B"]}))
    with pytest.raises(DataError, match="the session's time zone 'PST' is not known"):
        ensue.match(timed, "SELECT hour(x.time) AS h FROM S WHERE A AS x")


TYPES = [("A", "a"), ("a", "A"), ("B", "b "), ("C", "B"), ("B", "B"), ("b", "a")]


@pytest.mark.parametrize("column", ["type", "k"])
@pytest.mark.parametrize("kind", ["string collate UTF8_LCASE", "string collate UNICODE_CI_RTRIM", "char(3)"])
def test_texts_are_compared_by_their_characters(spark, column, kind, tmp_path):
    """As embedded, whatever Spark's own comparison of the column says; CHAR has no trailing spaces."""
    rows = [{"time": t, "type": x, "k": k} for t, (x, k) in enumerate(TYPES)]
    if kind == "char(3)":
        rows = [{**r, column: str(r[column]).rstrip()} for r in rows]
    columns = f"time long, type {'string' if column == 'k' else kind}, k {'string' if column == 'type' else kind}"
    spark.createDataFrame([tuple(r.values()) for r in rows], "time long, type string, k string").write.json(
        str(tmp_path / "rows")
    )
    name = f"of_{column}_{len(kind)}"
    spark.sql(f"CREATE TABLE {name} ({columns}) USING parquet LOCATION '{tmp_path / 'table'}'")
    try:
        stored = spark.read.schema("time long, type string, k string").json(str(tmp_path / "rows"))
        stored.write.insertInto(name)
        events = spark.table(name)
        for text in (
            "SELECT x.k AS k, y.k AS l FROM S WHERE A AS x ; B AS y",
            "SELECT x.k AS k, y.k AS l FROM S WHERE ANY AS x ; B AS y FILTER x.k = 'a' AND y.k >= 'B'",
            "SELECT x.type AS t, count(y) AS n FROM S WHERE ANY AS x ; B+ AS y PARTITION BY k",
            "SELECT x.type AS k, y.k AS l FROM S WHERE ANY AS x ; ANY AS y FILTER x.k = y.k",
        ):
            assert collected(ensue.match(events, text, unit="s")) == rows_of(
                ensue.match(rows, text, unit="s").to_arrow()
            )
    finally:
        spark.sql(f"DROP TABLE {name}")


def test_columns_that_no_part_uses_may_be_anything(spark):
    odd = frame(spark).selectExpr("*", "make_ym_interval(1, 2) AS i", "parse_json('{}') AS j", "k AS w", "k AS W")
    text = "SELECT x.k AS k FROM S WHERE A AS x ; B WITHIN 5 s"
    assert collected(ensue.match(odd, text, unit="s")) == collected(ensue.match(frame(spark), text, unit="s"))
    for item, said in (
        ("x.i", "the column 'i' is of type interval year to month, which cannot be handed to Python"),
        ("x.j", "the column 'j' is of type variant, which cannot be handed to Python"),
        ("x.w", "Spark cannot tell w from another column whose name differs in case alone"),
        ("x", "Spark cannot tell w, W from another column"),
    ):
        with pytest.raises(DataError, match=said):
            ensue.match(odd, text.replace("x.k AS k", f"{item} AS k"), unit="s")


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (["*", "k AS __ensue_time"], {}, "the column __ensue_time has a name that Ensue uses itself"),
        (["*", "k AS __Ensue_word"], {}, "the column __Ensue_word has a name that Ensue uses itself"),
        (["*", "array(k) AS many"], {"tiebreak": "many"}, "'many' is of type array<bigint>, which has no order"),
    ],
)
def test_columns_that_are_refused(spark, columns, options, said):
    with pytest.raises(DataError, match=said):
        ensue.match(frame(spark).selectExpr(*columns), AB, unit="s", **options)


def test_times_before_1970_and_far_ahead(spark):
    stamps = [datetime(1815, 6, 18, 11, 30, 0, 1, UTC), datetime(1815, 6, 18, 11, 30, 3, 0, UTC)]
    stamps += [datetime(9999, 12, 31, 23, 59, 58, 999_999, UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)]
    table = pa.table({"time": pa.array(stamps, pa.timestamp("us", "UTC")), "type": list("ABAB")})
    for text in (AB, "SELECT * FROM S WHERE A ; B", "SELECT * FROM S WHERE A ; B WITHIN 1 us"):
        expected = rows_of(ensue.match(table, text).to_arrow())
        assert collected(ensue.match(frame_of(spark, table), text)) == expected


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.int8(), pa.int16(), pa.int32()])
def test_every_type_of_time(spark, kind):
    times = pa.array([10, 11, 14, 120], pa.int64() if pa.types.is_timestamp(kind) else pa.int32()).cast(kind)
    table = pa.table({"time": times, "type": list("ABBA")})
    unit: Any = {"unit": "s"} if pa.types.is_integer(kind) else {}
    text = "SELECT * FROM S WHERE A ; B WITHIN 3 d"
    expected = ensue.match(table, text, **unit).to_arrow()
    assert collected(ensue.match(frame_of(spark, table), text, **unit)) == rows_of(expected)
    assert len(expected)
