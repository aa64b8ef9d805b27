"""What `CAST` is worth, one Python value at a time: section 4 of the language page.

Times are integers of nanoseconds. A text that does not name a value of the type, and a number that does not fit, have
no result: NULL.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from ensue.data.schema import Kind, ValueType
from ensue.engines.reference.scalar_functions import half_away, in_years, utc_offset

_SPACE = " \t\n\r\v\f"
_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?"
)
_EPOCH = datetime(1970, 1, 1)


def cast(value: Any, given: ValueType, wanted: str) -> Any:
    """The value, which is of the type `given`, as one of the type that CAST names."""
    if value is None:
        return None
    if wanted == "string":
        return _written(value, given)
    if wanted.startswith("timestamp"):
        return _read_time(value.strip(_SPACE), zoned=wanted == "timestamptz") if isinstance(value, str) else value
    if isinstance(value, str):
        return _read(value.strip(_SPACE), wanted)
    if wanted == "boolean":
        return value != 0
    if wanted == "float":
        return float(value)
    if isinstance(value, float):
        value = int(half_away(value)) if math.isfinite(value) else None
    return value if value is None else _fitting(int(value))


def _fitting(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


# ---------------------------------------------------------------- from texts


def _read(text: str, wanted: str) -> Any:
    if wanted == "boolean":
        return _TRUTH.get(text.lower())
    if wanted == "float":
        return float(text) if _FLOAT.fullmatch(text) else None
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    return _fitting(int(digits) * (-1 if text[0] == "-" else 1)) if len(digits) <= 19 else None


def _read_time(text: str, *, zoned: bool) -> int | None:
    """The time in nanoseconds, cut off to whole microseconds."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    *clock, fraction, zone = found.groups()
    if (zone is not None) != zoned:
        return None
    try:
        local = datetime(*(int(part or 0) for part in clock))  # type: ignore[arg-type]
    except ValueError:
        return None
    seconds = int((local - _EPOCH) / timedelta(seconds=1)) - (_offset(zone) if zone else 0)
    return (seconds * 10**6 + int((fraction or "0").ljust(6, "0")[:6])) * 1000


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    size = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -size if zone[0] == "-" else size


# ---------------------------------------------------------------- to texts


def _written(value: Any, given: ValueType) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _float(value)
    if given.kind is Kind.TIMESTAMP:
        return _time(value, getattr(given.arrow, "tz", None))
    return str(value)


def _float(value: float) -> str:
    """The shortest digits that name the float; with an exponent from 10^10 on and below 0.000001."""
    if not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))  # digits before the point
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0"
    if not -6 <= point - 1 < 10:
        rest = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{rest}e{point - 1:+d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[point:]}" if digits[point:] else ""
    return f"{sign}{digits[:point].ljust(point, '0')}{rest}"


def _time(nanoseconds: int, zone: str | None) -> str | None:
    """As `2024-01-31 12:00:00.5+01:00`: without the zeros at the end of the fraction; the offset if there is a zone."""
    if not in_years(nanoseconds):
        return None
    offset = utc_offset(nanoseconds, zone) if zone else 0
    local = nanoseconds + offset * 10**9
    if not in_years(local):
        return None
    clock = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=local // 10**9)
    fraction = f".{local % 10**9:09d}".rstrip("0").rstrip(".")
    return f"{clock.replace(tzinfo=None).isoformat(' ')}{fraction}{_suffix(offset) if zone else ''}"


def _suffix(offset: int) -> str:
    hours, rest = divmod(abs(offset), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}" + (f":{seconds:02d}" if seconds else "")
