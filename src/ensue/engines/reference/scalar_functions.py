"""What each scalar function is worth, one Python value at a time: section 4 of the language page.

Times are integers of nanoseconds, and NULL is None. The engine has its own implementation over columns, which shares
nothing with this one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.schema import Kind, ValueType
from ensue.language.ast import NANOSECONDS

#: The mean radius of the earth in metres (IUGG).
EARTH_RADIUS = 6_371_008.8


@dataclass(frozen=True)
class Meaning:
    """How a function is computed. It is not asked where an argument is NULL, unless it is `lenient`."""

    compute: Callable[..., Any]
    lenient: bool = False
    exact: bool = False  # it gets decimals as they are, to compare them; other functions get them as floats
    zoned: bool = False  # it gets the time zone of its last argument as well


def aligned(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values as they are compared and computed with: where one is a float, the other number becomes one."""
    if isinstance(left, float) and isinstance(right, int | Decimal):
        return left, float(right)
    if isinstance(right, float) and isinstance(left, int | Decimal):
        return float(left), right
    return left, right


def as_computed(value: Any) -> Any:
    """A value as arithmetic takes it: decimals are compared and chosen exactly, and computed with as floats."""
    return float(value) if isinstance(value, Decimal) else value


def as_typed(value: Any, type_: ValueType) -> Any:
    """What a function gives, as a value of its type: a float where that is the type, NULL where it does not fit."""
    if value is None:
        return None
    arrow = type_.arrow
    match type_.kind:
        case Kind.FLOAT:
            return float(value)
        case Kind.INTEGER:
            low, high = (0, 2**64) if pa.types.is_uint64(arrow) else (-(2**63), 2**63)
            return value if low <= value < high else None
        case Kind.TIMESTAMP | Kind.DURATION if not pa.types.is_date(arrow):
            return value if -(2**63) <= value // NANOSECONDS[arrow.unit] < 2**63 else None
    return value


# ---------------------------------------------------------------- numbers


def _of_floats(compute: Callable[..., float]) -> Meaning:
    """A function of floats that has no result for some: NULL there."""

    def guarded(*values: float) -> float | None:
        try:
            return float(compute(*values))
        except (ValueError, OverflowError, ZeroDivisionError):
            return None

    return Meaning(guarded)


def half_away(value: float) -> float:
    """Half away from zero; exact, since a float minus its whole part is."""
    whole = math.trunc(value)
    return whole + math.copysign(1.0, value) if abs(value - whole) >= 0.5 else whole


def _whole(compute: Callable[[float], float]) -> Meaning:
    """Rounding: integers stay as they are, and a zero keeps the sign, as IEEE 754 has it."""

    def rounded(value: float) -> float:
        if isinstance(value, int) or not math.isfinite(value):
            return value
        return math.copysign(float(compute(value)), value)

    return Meaning(rounded)


def _round(value: float, digits: int = 0) -> float | None:
    """To so many digits after the point, or before it where there are less than 0; halves go away from zero."""
    if isinstance(value, int):
        step: int = 10 ** min(max(-digits, 0), 30)
        size = (2 * abs(value) + step) // (2 * step) * step
        return -size if value < 0 else size
    if not math.isfinite(value) or digits > 308:
        return value
    if digits < -308:
        return math.copysign(0.0, value)
    # A power of ten below one is no float, so that is divided by.
    power = float(f"1e{abs(digits)}")
    scaled = value * power if digits > 0 else value / power
    if abs(scaled) >= 2.0**52:
        return value
    whole = half_away(scaled)
    found = math.copysign(whole / power if digits > 0 else whole * power, value)
    return found if math.isfinite(found) else None


def _distance(*degrees: float) -> float | None:
    """The metres between two places, given as latitude and longitude in degrees, on a globe (haversine)."""
    if any(math.isinf(d) for d in degrees) or abs(degrees[0]) > 90 or abs(degrees[2]) > 90:
        return None
    lat, lon, other_lat, other_lon = map(math.radians, map(float, degrees))
    across = math.sin((other_lat - lat) / 2)
    along = math.sin((other_lon - lon) / 2)
    part = across * across + math.cos(lat) * math.cos(other_lat) * (along * along)
    return 2 * EARTH_RADIUS * math.asin(min(math.sqrt(part), 1.0)) if part == part else part


def _sign(value: float) -> float:
    if value != value:
        return value  # NaN has no sign
    return type(value)((value > 0) - (value < 0))


# ---------------------------------------------------------------- strings


def _arrow(name: str) -> Meaning:
    # Case mapping is Arrow's, so that every engine that runs on Arrow columns gives the same letters.
    function = getattr(pc, name)
    return Meaning(lambda text: function(pa.scalar(text)).as_py())


def _substr(text: str, start: int, length: int | None = None) -> str:
    """SQL's: positions count from 1; a negative start counts from the end."""
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


def _contains(of: Any, wanted: Any) -> bool | None:
    """Whether a text has the part, or a list an element that equals the value: as with IN, a NULL element may."""
    if isinstance(of, str):
        return wanted in of
    found = [e for e in of if e is not None]
    if any(left == right for left, right in (aligned(e, wanted) for e in found)):
        return True
    return None if len(found) < len(of) else False


# ---------------------------------------------------------------- times


def _local(nanoseconds: int, zone: str | None) -> datetime | None:
    """The wall clock in the zone, to the second; None outside the years 1 to 9999."""
    try:
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=nanoseconds // 10**9)
        return utc.astimezone(_zone(zone)) if zone else utc
    except OverflowError:
        return None


def in_years(nanoseconds: int) -> bool:
    """Whether the time lies in the years 1 to 9999: others have no calendar."""
    return -62_135_596_800 <= nanoseconds // 10**9 <= 253_402_300_799


def utc_offset(nanoseconds: int, zone: str) -> int:
    """The seconds that the clock of the zone is ahead at this instant; at the ends of all years, a day from there."""
    seconds = min(max(nanoseconds // 10**9, -62_135_596_800 + 86_400), 253_402_300_799 - 86_400)
    local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(_zone(zone))
    offset = local.utcoffset()
    assert offset is not None
    return int(offset / timedelta(seconds=1))


def _zone(name: str) -> tzinfo:
    # Arrow also writes fixed offsets such as +02:00 as zones.
    if name[:1] in "+-" and len(name) in (5, 6):
        digits = name.replace(":", "")
        offset = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5]))
        return timezone(-offset if name[0] == "-" else offset)
    return ZoneInfo(name)


def _clock(part: Callable[[datetime], int]) -> Meaning:
    def compute(nanoseconds: int, zone: str | None) -> int | None:
        local = _local(nanoseconds, zone)
        return None if local is None else part(local)

    return Meaning(compute, zoned=True)


def _midnight(nanoseconds: int, zone: str | None) -> int | None:
    local = _local(nanoseconds, zone)
    if local is None:
        return None
    start = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return int((start - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)) * 10**9


def _epoch(nanoseconds: int) -> float:
    return nanoseconds // 10**9 + nanoseconds % 10**9 / 10**9


def _begin_of(unit: str, day: datetime) -> datetime:
    """The first day of the week, month, quarter or year."""
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)
    return day


def date_trunc(unit: str, nanoseconds: int, zone: str | None) -> int | None:
    """The begin of the hour, the day and so on, as the clock in the zone shows it."""
    local = _local(nanoseconds, zone)
    if local is None:
        return None
    unit = unit.lower()
    steps = {"microsecond": 10**3, "millisecond": 10**6, "second": 10**9}.get(unit)
    if steps is not None:
        return nanoseconds - nanoseconds % steps
    second = nanoseconds - nanoseconds % 10**9
    if unit in ("minute", "hour"):  # by what the clock shows, without a change of its offset
        return second - (local.second + (local.minute * 60 if unit == "hour" else 0)) * 10**9
    start = _begin_of(unit, local.replace(hour=0, minute=0, second=0, fold=0))
    return int((start - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)) * 10**9


def at_time_zone(nanoseconds: int, given: str | None, zone: str) -> int | None:
    """What the clock in `zone` shows at an instant or, of a time without a zone, the instant at which it shows that.

    Where the clock shows a time twice, it is the later instant; where it leaves a time out, the offset before holds on.
    """
    if given is not None:
        shown = _local(nanoseconds, zone)
        if shown is None:
            return None
        seconds = int((shown.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1))
    else:
        clock = _local(nanoseconds, None)
        if clock is None:
            return None
        readings = [clock.replace(tzinfo=_zone(zone), fold=fold).utcoffset() for fold in (0, 1)]
        seconds = nanoseconds // 10**9 - int(min(r for r in readings if r is not None) / timedelta(seconds=1))
        if not in_years(seconds * 10**9):
            return None
    return seconds * 10**9 + nanoseconds % 10**9


# ---------------------------------------------------------------- choice


def _null_if(value: Any, other: Any) -> Any:
    if value is None or other is None:
        return value
    left, right = aligned(value, other)
    return None if left == right else value


def nan_last(value: Any) -> tuple[bool, Any]:
    """The order in which the least and the greatest are found: NaN is above every number."""
    return (True, 0.0) if isinstance(value, float) and math.isnan(value) else (False, value)


def _extreme(best: Callable[..., Any]) -> Meaning:
    def compute(*values: Any) -> Any:
        known = [v for v in values if v is not None]
        return best(known, key=nan_last) if known else None

    return Meaning(compute, lenient=True, exact=True)


MEANINGS: dict[str, Meaning] = {
    # numbers
    "abs": Meaning(abs),
    "sign": Meaning(_sign),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": Meaning(_round),
    "sqrt": _of_floats(math.sqrt),
    "exp": _of_floats(math.exp),
    "ln": _of_floats(math.log),
    "log10": _of_floats(math.log10),
    "power": _of_floats(math.pow),
    "sin": _of_floats(math.sin),
    "cos": _of_floats(math.cos),
    "tan": _of_floats(math.tan),
    "asin": _of_floats(math.asin),
    "acos": _of_floats(math.acos),
    "atan": _of_floats(math.atan),
    "atan2": _of_floats(math.atan2),
    "distance": Meaning(_distance),
    "radians": _of_floats(math.radians),
    "degrees": _of_floats(math.degrees),
    # strings
    "lower": _arrow("utf8_lower"),
    "upper": _arrow("utf8_upper"),
    "length": Meaning(len),
    "trim": Meaning(lambda t: t.strip(" ")),
    "substr": Meaning(_substr),
    "concat": Meaning(lambda *t: "".join(t)),
    "replace": Meaning(lambda t, old, new: t.replace(old, new) if old else t),
    "contains": Meaning(_contains, exact=True),
    "starts_with": Meaning(str.startswith),
    "ends_with": Meaning(str.endswith),
    "regexp_matches": Meaning(lambda t, pattern: pc.match_substring_regex(pa.scalar(t), pattern).as_py()),
    "split": Meaning(str.split),
    # times, in the zone of their column
    "year": _clock(lambda t: t.year),
    "month": _clock(lambda t: t.month),
    "day": _clock(lambda t: t.day),
    "weekday": _clock(lambda t: t.isoweekday()),
    "hour": _clock(lambda t: t.hour),
    "minute": _clock(lambda t: t.minute),
    "second": _clock(lambda t: t.second),
    "quarter": _clock(lambda t: (t.month + 2) // 3),
    "week": _clock(lambda t: t.isocalendar().week),
    "day_of_year": _clock(lambda t: t.timetuple().tm_yday),
    "epoch": Meaning(_epoch),
    "date": Meaning(_midnight, zoned=True),
    "date_trunc": Meaning(date_trunc, zoned=True),
    # choice
    "coalesce": Meaning(lambda *values: next((v for v in values if v is not None), None), lenient=True),
    "nullif": Meaning(_null_if, lenient=True, exact=True),
    "greatest": _extreme(max),
    "least": _extreme(min),
    "if": Meaning(lambda test, yes, no: yes if test is True else no, lenient=True),
}
