"""The wall clock over columns, in every zone, is that of Python's zoneinfo at every instant."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from ensue.columns.evaluation import evaluated
from ensue.columns.time_zones import offsets_at, offsets_of_local
from ensue.language.parser import parse_expression

ZONES = sorted(zoneinfo.available_timezones() - {"localtime"})
#: Many changes, changes of half an hour, at midnight, in Ramadan, of a whole day, and none.
ODD_ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca"]
ODD_ZONES += ["Pacific/Apia", "Asia/Gaza", "Asia/Kathmandu", "Africa/Freetown", "Antarctica/Troll", "Asia/Tehran"]
YEAR = 31_556_952


def offset(zone: str, second: int) -> int:
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    return int(instant.astimezone(zoneinfo.ZoneInfo(zone)).utcoffset().total_seconds())  # type: ignore[union-attr]


@pytest.mark.parametrize("part", range(4))
def test_the_offset_in_every_zone(part: int) -> None:
    rng = Random(part)
    for zone in ZONES[part::4]:
        first = rng.randrange(-130 * YEAR, 130 * YEAR)
        seconds = [first + rng.randrange(8 * YEAR) for _ in range(100)]
        assert (offsets_at(zone, np.array(seconds)) + np.zeros(100)).tolist() == [offset(zone, s) for s in seconds], (
            zone
        )


@pytest.mark.parametrize("zone", ODD_ZONES)
def test_the_hours_around_each_change(zone: str) -> None:
    """Both ways: from the instant to the clock, and from the clock to the instant, where it may be shown twice or never."""
    hours = np.arange(-90 * YEAR, 80 * YEAR, 3600)
    changes = hours[:-1][np.diff(offsets_at(zone, hours)) != 0]
    assert len(changes) or zone == "Asia/Kathmandu"
    seconds = np.unique((changes[:, None] + np.arange(-4_000, 90_000, 1_799)).reshape(-1))
    assert offsets_at(zone, seconds).tolist() == [offset(zone, s) for s in seconds.tolist()]
    info = zoneinfo.ZoneInfo(zone)
    local = [datetime(1970, 1, 1, tzinfo=info) + timedelta(seconds=s) for s in seconds.tolist()]
    assert offsets_of_local(zone, seconds).tolist() == [int(t.utcoffset().total_seconds()) for t in local]  # type: ignore[union-attr]


def test_far_apart_times_ask_for_the_years_between_them_only_where_they_are() -> None:
    seconds = np.array([-62_000_000_000, 0, 1_720_000_000, 250_000_000_000])
    assert offsets_at("Europe/Berlin", seconds).tolist() == [3208, 3600, 7200, offset("Europe/Berlin", 250_000_000_000)]


@pytest.mark.parametrize("zone", [None, "UTC", "+05:45", "-0230", "Europe/Berlin", "America/Sao_Paulo"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_part(unit: str, zone: str | None) -> None:
    rng = Random(f"{unit} {zone}")
    steps = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    ticks = [rng.randrange(-150 * YEAR, 150 * YEAR) * steps + rng.randrange(steps) for _ in range(500)] + [None]
    column = pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone))
    info = UTC if zone is None else (datetime(1970, 1, 1, tzinfo=UTC)).tzinfo
    if zone and "/" in zone:
        info = zoneinfo.ZoneInfo(zone)
    elif zone and zone != "UTC":
        info = datetime.fromisoformat(f"1970-01-01T00:00:00{zone}").tzinfo
    clocks = [
        None if t is None else (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=t // steps)).astimezone(info)
        for t in ticks
    ]
    for part in ("year", "month", "day", "hour", "minute", "second"):
        found = evaluated(parse_expression(f"{part}(t)"), {"t": column}, len(ticks)).to_pylist()
        assert found == [None if c is None else getattr(c, part) for c in clocks], part
    found = evaluated(parse_expression("weekday(t)"), {"t": column}, len(ticks)).to_pylist()
    assert found == [None if c is None else c.isoweekday() for c in clocks]
    found = evaluated(parse_expression("date(t)"), {"t": column}, len(ticks))
    midnights = [None if c is None else c.replace(hour=0, minute=0, second=0, microsecond=0, fold=0) for c in clocks]
    assert found.type == column.type
    assert found.cast(pa.int64()).to_pylist() == [None if m is None else int(m.timestamp()) * steps for m in midnights]
