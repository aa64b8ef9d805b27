"""Computed keys of PARTITION BY on Spark, in batch and as a stream, equal the reference."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from sparkling import Case, case_of, differences, frame_of, on_a_clock, rows_of, run_as_stream, run_in_batch

import ensue

SELECT = "SELECT x.v AS v, y.v AS w FROM S WHERE A AS x ; B AS y WITHIN 40 min PARTITION BY "
#: Some are computed by the JVM, others in Python.
KEYS = [
    "user.id",
    "user.home.city AS city",
    "v % 3",
    "date(time) AS day",
    "date_trunc('hour', time) AS hour, user.id",
    "tags[1] AS tag",
    "upper(user.home.city) AS city",
    "CASE WHEN v > 10 THEN 'large' WHEN v > 5 THEN 'middle' END AS size",
    "v / 4.0 AS part",
    "epoch(time) > 1711846800 AS late",
    "date_trunc('day', local) AS day",
]
TYPES = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("v", pa.int32()),
        ("local", pa.timestamp("us")),
        ("user", pa.struct([("id", pa.int64()), ("home", pa.struct([("city", pa.string())]))])),
        ("tags", pa.list_(pa.string())),
    ]
)
#: Shortly before the clocks go forward in Europe, and over midnight.
START = datetime(2024, 3, 30, 22, tzinfo=UTC)


def events(rng: Random) -> pa.Table:
    def user() -> Any:
        city = rng.choice((None, {"city": None}, {"city": "Rome"}, {"city": "\u00d6sk\u00f6"}))
        return rng.choice((None, {"id": rng.choice((None, 1, 2)), "home": city}, {"id": 3, "home": city}))

    rows = [
        {
            "time": START + timedelta(minutes=7 * k),
            "type": rng.choice("AB"),
            "v": rng.choice((None, *range(20))),
            "local": rng.choice((None, datetime(2024, 1, rng.randrange(1, 4), rng.randrange(24)))),
            "user": user(),
            "tags": rng.choice((None, [], ["p"], ["q", "p"])),
        }
        for k in range(60)
    ]
    return pa.Table.from_pylist(rows, TYPES)


def cases() -> list[Case]:
    rng = Random("keys")
    return [case_of(keys, SELECT + keys, events(rng)) for keys in KEYS]


def test_in_batch(spark):
    assert all(case.expected for case in cases())
    assert differences(cases(), run_in_batch(spark, cases())) == []


@pytest.mark.parametrize("number", [3, 4, 9])
def test_what_a_clock_shows_is_that_of_the_sessions_zone(spark, number):
    case = cases()[number]
    local = case.table.column("time").cast(pa.timestamp("us", "Europe/Madrid"))
    shown = ensue.query(case.text).run(case.table.set_column(0, "time", local), engine="reference").to_arrow()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Madrid")
    try:
        found = ensue.query(case.text).run(frame_of(spark, case.table)).toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert rows_of(found) == rows_of(shown)
    assert (rows_of(shown) == case.expected) == (number != 3)  # an hour begins at once in all zones of whole hours


def test_as_a_stream(spark, tmp_path):
    timed = [on_a_clock(case) for case in cases()]
    assert differences(timed, run_as_stream(spark, timed, tmp_path, Random("keys"), files=3)) == []


def test_spark_shares_events_out_by_what_the_jvm_computes(spark):
    frame = frame_of(spark, cases()[0].table)
    told = ensue.query(SELECT + "user.id, date(time)").explain(frame)
    assert "shared out    by user.id, date(time), and by time slices of 64 windows" in told
