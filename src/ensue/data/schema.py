"""The schema of events: their attributes with Arrow types, which are grouped into the kinds that expressions know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc


class Kind(StrEnum):
    """The kind of a value, which decides what an expression can do with it."""

    NULL = "NULL"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    LIST = "list"
    OTHER = "other"

    @property
    def numeric(self) -> bool:
        return self in (Kind.INTEGER, Kind.FLOAT)

    @property
    def nested(self) -> bool:
        """Whether its values are made of others: they have fields or elements, but no order and no equality."""
        return self in (Kind.LIST, Kind.OTHER)


@dataclass(frozen=True)
class ValueType:
    """The type of a value: its kind, and the Arrow type of a result column."""

    kind: Kind
    arrow: pa.DataType

    def __str__(self) -> str:
        return str(self.arrow) if self.kind.nested else str(self.kind)


BOOLEAN = ValueType(Kind.BOOLEAN, pa.bool_())
INTEGER = ValueType(Kind.INTEGER, pa.int64())
FLOAT = ValueType(Kind.FLOAT, pa.float64())
STRING = ValueType(Kind.STRING, pa.string())
NULL = ValueType(Kind.NULL, pa.null())


def value_type(arrow: pa.DataType) -> ValueType:
    """The kind of an Arrow type.

    >>> value_type(pa.int32()).kind, value_type(pa.dictionary(pa.int8(), pa.string())).kind
    (<Kind.INTEGER: 'integer'>, <Kind.STRING: 'string'>)
    """
    plain = arrow.value_type if pa.types.is_dictionary(arrow) else arrow
    return ValueType(_kind(plain), arrow)


def is_short_decimal(arrow: pa.DataType) -> bool:
    """Whether floats represent all decimals of the type distinctly and so keep their order, as up to 15 digits."""
    return bool(pa.types.is_decimal(arrow)) and arrow.precision <= 15 and 0 <= arrow.scale <= 15


def _kind(arrow: pa.DataType) -> Kind:
    is_ = pa.types
    if is_.is_null(arrow):
        return Kind.NULL
    if is_.is_boolean(arrow):
        return Kind.BOOLEAN
    if is_.is_integer(arrow):
        return Kind.INTEGER
    if is_.is_floating(arrow) or is_.is_decimal(arrow):
        return Kind.FLOAT
    if is_.is_string(arrow) or is_.is_large_string(arrow) or is_.is_string_view(arrow):
        return Kind.STRING
    if is_.is_timestamp(arrow) or is_.is_date(arrow):
        return Kind.TIMESTAMP
    if is_.is_duration(arrow):
        return Kind.DURATION
    return Kind.LIST if is_list(arrow) else Kind.OTHER


def is_list(arrow: pa.DataType) -> bool:
    """Whether the values of the Arrow type are lists, stored in whatever way."""
    is_ = pa.types
    views = is_.is_list_view(arrow) or is_.is_large_list_view(arrow)
    return bool(is_.is_list(arrow) or is_.is_large_list(arrow) or is_.is_fixed_size_list(arrow) or views)


@dataclass(frozen=True)
class Schema:
    """The attributes of a stream's events. Every event has all of them; a missing value is NULL."""

    attributes: Mapping[str, ValueType]

    @classmethod
    def of(cls, arrow: pa.Schema) -> Schema:
        return cls({field.name: value_type(field.type) for field in arrow})


def timestamp_literal(text: str) -> pa.TimestampScalar | None:
    """The instant that `timestamp('...')` names, or None if the text is not a time."""
    for unit, zone in (("us", None), ("us", "UTC"), ("ns", None), ("ns", "UTC")):
        try:
            return pc.cast(pa.scalar(text), pa.timestamp(unit, zone))
        except pa.ArrowInvalid:
            continue
    return None


def is_zone(name: str) -> bool:
    """Whether this is the name of a time zone, or an offset such as `+02:00`.

    >>> is_zone("Europe/Madrid"), is_zone("-0330"), is_zone("Madrid")
    (True, True, False)
    """
    if re.fullmatch(r"[+-]([01]\d|2[0-3]):?[0-5]\d", name):
        return True
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # KeyError: there is none; OSError: it is a folder of zones
        return False
    return True
