"""What the footers of Parquet files say: whether Arrow reads the columns as Spark does, and when each row group is.

The driver reads the footers before the query runs. Where Arrow and Spark could differ, Spark reads the files.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import types as T

from ensue.spark.plain_scan import LeftToSpark, PlainScan, ScannedColumn, value_in_path

#: Footers are small: reading them is mostly waiting.
_AT_A_TIME = 16
#: What Spark writes into a footer: who wrote the file, and whether its dates and times are in the old calendar.
_WRITTEN_BY = b"org.apache.spark.version"
_OLD_CALENDAR, _OLD_CALENDAR_96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
_NEW_CALENDAR_SINCE, _NEW_CALENDAR_96_SINCE = (3, 0), (3, 1)


#: The range of a row group whose footer does not tell it.
ANY_TIME = (-(1 << 63), (1 << 63) - 1)


class RowGroup(NamedTuple):
    """A row group, with the times of its first and its last event in steps of the time column, or `ANY_TIME`."""

    file: int
    number: int
    rows: int
    earliest: int
    latest: int


@dataclass(frozen=True)
class ScannedFile:
    """A file as it was when the query was planned; for each column its name in the file, or else its only value."""

    path: str
    size: int
    modified: int  # nanoseconds
    names: tuple[str | None, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Footers:
    """The files of a scan, and their row groups in the order in which Spark lists the files."""

    files: tuple[ScannedFile, ...]
    groups: tuple[RowGroup, ...]

    @property
    def rows(self) -> int:
        return sum(g.rows for g in self.groups)


def read_footers(scan: PlainScan, time: str | None) -> Footers:
    """The footers of all files; raises LeftToSpark where a column may not be read as Spark reads it.

    Without a time column, no row group has a range.
    """
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        found = list(pool.map(lambda path: _footer(path, scan, time), scan.paths))
    groups = [g._replace(file=number) for number, (_, groups) in enumerate(found) for g in groups]
    return Footers(tuple(file for file, _ in found), tuple(groups))


def _footer(path: str, scan: PlainScan, time: str | None) -> tuple[ScannedFile, list[RowGroup]]:
    import pyarrow.parquet as pq

    try:
        status = os.stat(path)
        with pq.ParquetFile(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
    except (OSError, pa.ArrowException) as e:
        raise LeftToSpark(f"the footer of {path} cannot be read: {e}") from None
    names: list[str | None] = []
    values = []
    for column in scan.columns:
        in_path = column.part is not None
        name = None if in_path else _name_in_file(column.column, schema, scan.case_sensitive, path)
        if name is not None:
            _check_alike(column, schema.field(name), metadata, scan)
        names.append(name)
        values.append(value_in_path(path, column) if in_path else None)
    file = ScannedFile(path, status.st_size, status.st_mtime_ns, tuple(names), tuple(values))
    timed = next((name for name, column in zip(names, scan.columns, strict=True) if column.name == time), None)
    return file, _groups(metadata, schema, timed)


def _name_in_file(column: str, schema: pa.Schema, case_sensitive: bool, path: str) -> str | None:
    """The column's name in this file; None if the file does not have it, so that it is NULL there."""
    if case_sensitive:
        found = [n for n in schema.names if n == column]
    else:
        found = [n for n in schema.names if n.lower() == column.lower()]
    if len(found) > 1:
        raise LeftToSpark(f"{path} has {len(found)} columns '{column}'")
    return found[0] if found else None


# ---------------------------------------------------------------- types

_WHOLE: dict[type[T.DataType], int] = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}


def _check_alike(column: ScannedColumn, field: pa.Field, metadata: Any, scan: PlainScan) -> None:
    """Refuses a column whose values Arrow and Spark may read differently."""
    if not _alike(column.type, field.type):
        shown = column.type.simpleString()
        raise LeftToSpark(f"the column '{column.column}' of type {shown} is {field.type} in a file")
    place = _place(metadata, field.name)
    if pa.types.is_temporal(field.type):
        is_96 = pa.types.is_timestamp(field.type) and field.type.unit == "ns"
        if is_96 and metadata.schema.column(place).physical_type != "INT96":
            raise LeftToSpark(f"the column '{column.column}' has nanoseconds in a file")
        if _may_be_of_old_calendar(metadata.metadata or {}, scan, is_96):
            raise LeftToSpark(f"the dates of the column '{column.column}' may be of the old calendar in a file")


def _alike(spark: T.DataType, arrow: pa.DataType) -> bool:
    is_ = pa.types
    match spark:
        case T.BooleanType():
            return bool(is_.is_boolean(arrow))
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return bool(is_.is_signed_integer(arrow)) and arrow.bit_width <= _WHOLE[type(spark)]
        case T.FloatType():
            return bool(is_.is_float32(arrow))
        case T.DoubleType():
            return bool(is_.is_float32(arrow) or is_.is_float64(arrow))
        case T.StringType():
            plain = arrow.value_type if is_.is_dictionary(arrow) else arrow
            return bool(is_.is_string(plain) or is_.is_large_string(plain))
        case T.DateType():
            return bool(is_.is_date32(arrow))
        case T.TimestampType():
            zoned = is_.is_timestamp(arrow) and arrow.tz is not None
            return bool(zoned and arrow.unit in ("ms", "us")) or arrow == pa.timestamp("ns")
        case T.TimestampNTZType():
            return arrow in (pa.timestamp("ms"), pa.timestamp("us"))
        case T.DecimalType():
            return bool(arrow == pa.decimal128(spark.precision, spark.scale))
    return False


def _may_be_of_old_calendar(written: dict[bytes, bytes], scan: PlainScan, is_96: bool) -> bool:
    """Whether dates long ago are counted as Julius Caesar did: Spark moves them when it reads them."""
    key, since = (_OLD_CALENDAR_96, _NEW_CALENDAR_96_SINCE) if is_96 else (_OLD_CALENDAR, _NEW_CALENDAR_SINCE)
    if _WRITTEN_BY not in written:
        return scan.rebased_int96 if is_96 else scan.rebased
    version = tuple(int(p) for p in written[_WRITTEN_BY].decode().split(".")[:2] if p.isdigit())
    return key in written or version < since


# ---------------------------------------------------------------- times


def _groups(metadata: Any, schema: pa.Schema, time: str | None) -> list[RowGroup]:
    """The row groups of a file; where a time is NULL, the group has no range."""
    place = None if time is None else _place(metadata, time)
    step = 1000 if time is not None and getattr(schema.field(time).type, "unit", "") == "ms" else 1
    groups = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.num_rows:
            earliest, latest = ANY_TIME if place is None else _range(group.column(place), step)
            groups.append(RowGroup(0, number, group.num_rows, earliest, latest))
    return groups


def _place(metadata: Any, name: str) -> int:
    """The number of a column in the footer, where a field of a nested column has a name with a dot."""
    found = [i for i in range(len(metadata.schema)) if metadata.schema.column(i).path == name]
    if len(found) != 1:
        raise LeftToSpark(f"a file has {len(found)} columns '{name}'")
    return found[0]


def _range(column: Any, step: int) -> tuple[int, int]:
    """The least and the largest time, in the steps of Spark's type; INT96 has none."""
    found = column.statistics
    if found is None or not found.has_min_max or not found.has_null_count or found.null_count:
        return ANY_TIME
    return found.min_raw * step, found.max_raw * step
