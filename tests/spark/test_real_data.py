"""Real data on Spark, with the counts that its SOURCE.txt gives.

The data is not part of this project: where it does not lie beside it, this is skipped.
"""

from __future__ import annotations

import gzip
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

import ensue

DATA = Path(__file__).parents[3] / "shared" / "data"
TAXIS, FLIGHTS = DATA / "taxis", DATA / "nycflights13"
ZONES = ["East Harlem North", "Midwood", "Gravesend", "West Brighton"]


@pytest.mark.skipif(not TAXIS.exists(), reason="the taxi data is not beside the project")
def test_taxis(spark):
    """Three trips, each from where the one before it ended, within 1000 s: the published matches of q1."""
    trips = pyarrow.csv.read_csv(TAXIS / "trips.csv")
    trips = trips.append_column("nth", pa.array(range(len(trips))))
    pattern = " ; ".join(f"TRIP AS t{i}" for i in range(3))
    way = " AND ".join(f"t{i}.pickup_zone = '{ZONES[i]}' AND t{i}.dropoff_zone = '{ZONES[i + 1]}'" for i in range(3))
    items = ", ".join(f"t{i}.nth AS n{i}" for i in range(3))
    text = f"SELECT {items} FROM TRIP WHERE {pattern} FILTER {way} WITHIN [< 1000 s]"
    rows = ensue.match(spark.createDataFrame(trips), text, time="dropoff_datetime", unit="s", tiebreak="nth").toArrow()
    found = Counter(zip(*(rows[f"n{i}"].to_pylist() for i in range(3)), strict=True))
    with gzip.open(TAXIS / "q1.matches.txt.gz", "rt") as lines:
        published = Counter(tuple(map(int, line.split())) for line in lines)
    assert len(rows) == 26_663
    assert found == published


def flights() -> pa.Table:
    """The departures with a tail number; the scheduled local departure is the time, and the day a key."""
    with zipfile.ZipFile(FLIGHTS / "flights.csv.zip") as archive, archive.open(archive.namelist()[0]) as file:
        # R writes a missing value as NA.
        nulls = pyarrow.csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
        table = pyarrow.csv.read_csv(file, convert_options=nulls)
    table = table.filter(pc.is_valid(table["tailnum"]))
    number = {c: table[c].cast(pa.int64()) for c in ("year", "month", "day", "hour", "minute")}
    day = pc.add(pc.multiply(pc.add(pc.multiply(number["year"], 100), number["month"]), 100), number["day"])
    minute = pc.add(pc.multiply(number["hour"], 60), number["minute"])
    return pa.table(
        {
            "time": pc.add(pc.multiply(day, 10_000), minute),  # it orders the flights; no window counts in it
            "tailnum": table["tailnum"],
            "date": day,
            "dep_delay": table["dep_delay"].cast(pa.float64()),
            "nth": pa.array(range(len(table))),
        }
    )


@pytest.mark.skipif(not FLIGHTS.exists(), reason="the flights are not beside the project")
@pytest.mark.parametrize(("then", "count"), [(";", 263), (":", 216)])
def test_flights(spark, then, count):
    """Three departures of one aircraft in a day, each later than the one before.

    With `:` the three follow one another among the aircraft's departures, over midnight if need be: so the day is a
    condition, not a key. It relates events: what the automaton engine does not evaluate, the reference does.
    """
    text = f"""SELECT a.nth AS a, b.nth AS b, c.nth AS c FROM flight
        WHERE flight AS a {then} flight AS b {then} flight AS c
        FILTER a.date = b.date AND b.date = c.date
           AND a.dep_delay > 15 AND a.dep_delay < b.dep_delay AND b.dep_delay < c.dep_delay
        PARTITION BY tailnum{", date" if then == ";" else ""}"""
    events = spark.createDataFrame(flights())
    rows = ensue.match(events, text, tiebreak="nth").toArrow()
    assert len(rows) == count
