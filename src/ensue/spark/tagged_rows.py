"""The rows of several queries in one table: each says of which query it is, and has the query's own columns as `row`.

Where the queries are known from the start, `row` has a struct for each of them, and all but one are NULL. Where they
come and go, their columns cross as a JSON text, which the JVM makes a VARIANT.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

import pyarrow as pa

from ensue.results.changes import CHANGE, MATCH

#: The columns in front of those that a query tells.
QUERY, ROW = "query", "row"
#: The word in the column of changes for a query that could not be added or removed.
ERROR = "error"
#: The columns of the rows that make queries come and go.
NAME, TEXT = "name", "text"
_START, _END = "start_time", "end_time"
_COLUMNS = [QUERY, CHANGE, MATCH, _START, _END, ROW]


class Failed(NamedTuple):
    """A row that asks for a query to come or go, and why it does not."""

    name: str | None
    text: str | None
    error: str


def rows_of_queries(told: Mapping[str, pa.Table], failed: Sequence[Failed], result: pa.Schema) -> pa.Table | None:
    """The tables of changes of queries as one, with the columns that the JVM takes."""
    tables = [_tagged(name, rows, result) for name, rows in told.items()]
    if failed:
        tables.append(_errors(failed, result))
    return pa.concat_tables(tables) if tables else None


def rows_of_matches(told: Mapping[str, pa.Table], result: pa.Schema) -> pa.Table:
    """The tables of matches of queries as one, where nothing is ever taken back."""
    tables = [pa.table(_told(name, rows, result)) for name, rows in told.items() if len(rows)]
    nothing = pa.table({n: pa.array([], result.field(n).type) for n in (QUERY, _START, _END, ROW)})
    return pa.concat_tables(tables) if tables else nothing


def _tagged(name: str, rows: pa.Table, result: pa.Schema) -> pa.Table:
    told = _told(name, rows.drop_columns([CHANGE, MATCH]), result)
    return pa.table({**told, CHANGE: rows.column(CHANGE), MATCH: rows.column(MATCH)}).select(_COLUMNS)


def _told(name: str, rows: pa.Table, result: pa.Schema) -> dict[str, pa.Array | pa.ChunkedArray]:
    # Spark has microseconds, and no times of other units.
    type_ = result.field(_END).type
    return {
        QUERY: pa.repeat(pa.scalar(name, pa.string()), len(rows)),
        _START: rows.column(_START).cast(type_, safe=False),
        _END: rows.column(_END).cast(type_, safe=False),
        ROW: _row(name, rows, result.field(ROW).type),
    }


def _row(name: str, own: pa.Table, type_: pa.DataType) -> pa.Array:
    if pa.types.is_string(type_):
        plain = own.to_pylist(maps_as_pydicts="lossy")
        return pa.array([json.dumps({n: as_json(v) for n, v in row.items()}) for row in plain], pa.string())
    fields = [type_.field(i) for i in range(type_.num_fields)]
    return pa.StructArray.from_arrays(
        [_struct(own, f.type) if f.name == name else pa.nulls(len(own), f.type) for f in fields], fields=fields
    )


def _struct(own: pa.Table, type_: pa.StructType) -> pa.Array:
    schema = pa.schema([type_.field(i) for i in range(type_.num_fields)])
    cast = own.select(schema.names).cast(schema, safe=False).combine_chunks()
    return pa.StructArray.from_arrays([_one(c) for c in cast.columns], fields=list(schema))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _errors(failed: Sequence[Failed], result: pa.Schema) -> pa.Table:
    no_time = pa.nulls(len(failed), result.field(_END).type)
    columns = {
        QUERY: pa.array([f.name for f in failed], pa.string()),
        CHANGE: pa.array([ERROR] * len(failed), pa.string()),
        MATCH: pa.nulls(len(failed), pa.string()),
        _START: no_time,
        _END: no_time,
        ROW: pa.array([json.dumps({ERROR: f.error, TEXT: f.text}) for f in failed], pa.string()),
    }
    return pa.table(columns).select(_COLUMNS)


def as_json(value: Any) -> Any:
    """The value as JSON has it, from which Spark reads the column's own type again.

    >>> as_json({"at": datetime(2024, 1, 31, 12), "took": timedelta(hours=25), "least": float("-inf")})
    {'at': '2024-01-31T12:00:00', 'took': '1 01:00:00.000000', 'least': '-Infinity'}
    """
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(k): as_json(v) for k, v in value.items()}
        case list() | tuple():
            return [as_json(v) for v in value]
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            sign, value = ("-", -value) if value < timedelta(0) else ("", value)
            hours, rest = divmod(value.seconds, 3600)
            return f"{sign}{value.days} {hours:02}:{rest // 60:02}:{rest % 60:02}.{value.microseconds:06}"
        case bytes():
            return base64.b64encode(value).decode()
    return str(value)  # decimals
