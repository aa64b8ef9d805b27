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
    """Both ways: from the instant to the clock, and back from the clock, which may show a time twice or never."""
    hours = np.arange(-90 * YEAR, 80 * YEAR, 3600)
    changes = hours[:-1][np.diff(offsets_at(zone, hours)) != 0]
    assert len(changes) or zone == "Asia/Kathmandu"
    seconds = np.unique((changes[:, None] + np.arange(-4_000, 90_000, 1_799)).reshape(-1))
    assert np.asarray(offsets_at(zone, seconds)).tolist() == [offset(zone, s) for s in seconds.tolist()]
    info = zoneinfo.ZoneInfo(zone)
    local = [datetime(1970, 1, 1, tzinfo=info) + timedelta(seconds=s) for s in seconds.tolist()]
    assert offsets_of_local(zone, seconds).tolist() == [int(t.utcoffset().total_seconds()) for t in local]  # type: ignore[union-attr]


def test_far_apart_times_ask_for_the_years_between_them_only_where_they_are() -> None:
    seconds = np.array([-62_000_000_000, 0, 1_720_000_000, 250_000_000_000])
    assert np.asarray(offsets_at("Europe/Berlin", seconds)).tolist() == [
        3208,
        3600,
        7200,
        offset("Europe/Berlin", 250_000_000_000),
    ]


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


@pytest.mark.parametrize("zone", ODD_ZONES)
def test_at_time_zone_around_each_change(zone: str) -> None:
    """Back from the clock: the later instant where it shows a time twice, the offset before where it leaves one out."""
    hours = np.arange(-90 * YEAR, 80 * YEAR, 3600)
    changes = hours[:-1][np.diff(offsets_at(zone, hours)) != 0]
    seconds = np.unique((changes[:, None] + np.arange(-90_000, 90_000, 1_799)).reshape(-1))
    column = pa.array(seconds, pa.int64()).cast(pa.timestamp("s"))
    info = zoneinfo.ZoneInfo(zone)
    expected = []
    for clock in column.to_pylist():
        instants = [clock.replace(tzinfo=info, fold=fold).astimezone(UTC) for fold in (0, 1)]
        shown = [t for t in instants if t.astimezone(info).replace(tzinfo=None) == clock]
        expected.append(shown[-1] if shown else instants[0])
    found = evaluated(parse_expression(f"t AT TIME ZONE '{zone}'"), {"t": column}, len(column))
    assert found.type == pa.timestamp("s", zone)
    assert found.cast(pa.timestamp("s", "UTC")).to_pylist() == expected
    again = evaluated(parse_expression(f"t AT TIME ZONE '{zone}'"), {"t": found}, len(column))
    clocks = [t.astimezone(info).replace(tzinfo=None) for t in expected]
    assert again.to_pylist() == clocks


@pytest.mark.parametrize("zone", [None, "Europe/Madrid", "America/Sao_Paulo", "Asia/Tokyo"])
@pytest.mark.parametrize("unit", ["minute", "hour", "day", "week", "month", "quarter", "year"])
def test_date_trunc_is_the_last_begin_before_the_time(unit: str, zone: str | None) -> None:
    rng = Random(f"{unit} {zone}")
    column = pa.array([rng.randrange(0, 60 * YEAR) for _ in range(300)], pa.int64()).cast(pa.timestamp("s", zone))
    found = evaluated(parse_expression(f"date_trunc('{unit}', t)"), {"t": column}, 300).to_pylist()
    for before, after in zip(found, column.to_pylist(), strict=True):
        begins = before.isocalendar() if unit == "week" else before.timetuple()
        of_its = after.isocalendar() if unit == "week" else after.timetuple()
        parts = {"week": 2, "year": 1, "quarter": 1, "month": 2, "day": 3, "hour": 4, "minute": 5}[unit]
        assert before <= after
        assert begins[:parts] == of_its[:parts]
        assert unit != "quarter" or (before.month - 1) // 3 == (after.month - 1) // 3
        assert before.second == 0
        assert unit == "minute" or before.minute == 0
