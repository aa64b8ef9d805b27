"""Which values `CAST` can convert to which types, and what to write where it cannot."""

from __future__ import annotations

import pyarrow as pa

from ensue.data.schema import BOOLEAN, FLOAT, INTEGER, STRING, Kind, ValueType

#: The type of each kind of CAST.
CASTS: dict[str, ValueType] = {
    "boolean": BOOLEAN,
    "integer": INTEGER,
    "float": FLOAT,
    "string": STRING,
    "timestamp": ValueType(Kind.TIMESTAMP, pa.timestamp("us")),
    "timestamptz": ValueType(Kind.TIMESTAMP, pa.timestamp("us", "UTC")),
}
_PLAIN = frozenset((Kind.BOOLEAN, Kind.INTEGER, Kind.FLOAT, Kind.STRING))


def can_be_cast(given: ValueType, wanted: str) -> bool:
    """Whether CAST takes a value of this type; a value that has no counterpart becomes NULL all the same."""
    match wanted:
        case "timestamp" | "timestamptz":
            if given.kind is Kind.TIMESTAMP:
                return (wanted == "timestamptz") == has_zone(given)
            return given.kind is Kind.STRING
        case "string":
            return given.kind in (*_PLAIN, Kind.TIMESTAMP)
    return given.kind in _PLAIN


def type_of_cast(given: ValueType | None, wanted: str) -> ValueType:
    """The type that CAST gives; a time that is one already keeps its unit and its zone."""
    if given is not None and given.kind is Kind.TIMESTAMP and wanted.startswith("timestamp"):
        return given
    return CASTS[wanted]


def has_zone(type_: ValueType) -> bool:
    return bool(pa.types.is_timestamp(type_.arrow)) and type_.arrow.tz is not None


def instead_of_cast(given: ValueType, wanted: str) -> str | None:
    """What to write for a conversion that CAST does not make."""
    match given.kind:
        case Kind.DURATION:
            return "divide it by a unit: d / 1 s"
        case Kind.TIMESTAMP if wanted.startswith("timestamp"):
            return "name the zone: t AT TIME ZONE 'Europe/Madrid'"
        case Kind.TIMESTAMP:
            return "epoch(t) gives the seconds since 1970"
        case Kind.INTEGER | Kind.FLOAT:
            return "add a duration to a time: timestamp('1970-01-01') + 1 s * x"
    return None
