"""Reading events: whatever the user has, as one ordered stream. Bad data gets an error; nothing is dropped."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.errors import DataError, did_you_mean, listed
from ensue.language.ast import NANOSECONDS, UNITS
from ensue.schema import Schema

log = logging.getLogger("ensue")


@dataclass(frozen=True)
class EventStream:
    """Events in stream order: by time, then by the tie-break column, then by arrival."""

    table: pa.Table
    types: pa.ChunkedArray  # the type of each event, as strings
    times: npt.NDArray[np.int64]
    tick: int | None  # nanoseconds of one step of `times`; None where the unit is not known
    time_column: pa.ChunkedArray  # what start_time and end_time show

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def schema(self) -> Schema:
        return Schema.of(self.table.schema)


def read_events(
    events: Any,
    streams: tuple[str, ...],
    *,
    time: str | None = "time",
    type: str | None = None,
    unit: str | None = None,
    tiebreak: str | None = None,
) -> EventStream:
    """The events of a query's streams as one ordered stream.

    `type` None means: the column `type` where there is one, else the stream's name is every event's type.
    Several streams are given as a mapping of their names, and merged by time.
    """
    tables = []
    for name, source in _sources(events, streams).items():
        table = read_table(source)
        table = table.append_column(_TYPE, _event_types(table, name, type))
        tables.append(table.append_column(_TIME, _event_times(table, time)))
    table = tables[0] if len(tables) == 1 else _merge(tables, streams)
    ordered = _in_order(table, tiebreak, merged=len(tables) > 1, timed=time is not None)
    shown, types = ordered.column(_TIME), ordered.column(_TYPE)
    times, tick = _clock(shown, time, unit)
    return EventStream(ordered.drop_columns([_TYPE, _TIME]), types, times, tick, shown)


# Names that no user's column has, for the columns that travel with the table while it is sorted.
_TYPE, _TIME, _ARRIVAL = "\0type", "\0time", "\0arrival"


# ---------------------------------------------------------------- sources


def _sources(events: Any, streams: tuple[str, ...]) -> Mapping[str, Any]:
    if isinstance(events, Mapping):
        missing = [s for s in streams if s not in events]
        if missing:
            raise DataError(f"no events were given for the stream {listed(missing)}; given are {listed(events)}")
        return {s: events[s] for s in streams}
    if len(streams) > 1:
        example = ", ".join(f"{s!r}: ..." for s in streams)
        raise DataError(f"the query reads the streams {listed(streams)}: give a mapping {{{example}}}")
    return {streams[0]: events}


def read_table(source: Any) -> pa.Table:
    """One source as an Arrow table: a table, batches, a pandas or polars frame, rows, or a path."""
    table = _table(source)
    names = table.column_names
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise DataError(f"the events have two columns named {listed(twice)}")
    return table


def _table(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if isinstance(source, str | Path):
        return _read_file(Path(source))
    library = source.__class__.__module__.partition(".")[0]
    if library == "pandas" and hasattr(source, "columns"):
        return pa.Table.from_pandas(source, preserve_index=False)
    if library == "polars" and hasattr(source, "collect"):
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, list) and all(isinstance(row, Mapping) for row in source):
        return pa.Table.from_pylist(source)
    kind = f"{source.__class__.__module__}.{source.__class__.__qualname__}"
    raise DataError(
        f"cannot read events from {kind}: give an Arrow table or reader, a pandas or polars frame, "
        "a list of dicts, or a path to Parquet, CSV or JSON lines"
    )


def _read_file(path: Path) -> pa.Table:
    if not path.exists():
        raise DataError(f"there is no file {path}")
    endings = [s for s in path.suffixes if s not in (".gz", ".bz2", ".zst")]
    ending = endings[-1].lower() if endings else ""
    try:
        return read_stream_format(path, ending)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as e:
        raise DataError(f"cannot read {path}: {e}") from None


def read_stream_format(source: Any, ending: str) -> pa.Table:
    """A path or an open file in the format that the file name's ending names."""
    match ending:
        case ".parquet" | ".pq":
            import pyarrow.parquet as pq

            return pq.read_table(source)
        case ".csv":
            from pyarrow import csv

            return csv.read_csv(source)
        case ".jsonl" | ".ndjson" | ".json":
            from pyarrow import json

            return json.read_json(source)
        case ".arrow" | ".feather":
            from pyarrow import feather

            return feather.read_table(source)
    raise DataError(f"cannot tell the format of {source}: name it .parquet, .csv, .jsonl or .arrow")


def _merge(tables: list[pa.Table], streams: tuple[str, ...]) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
        raise DataError(f"the streams {listed(streams)} have columns of one name and different types: {e}") from None


# ---------------------------------------------------------------- types, times, order


def _column(table: pa.Table, name: str, role: str, advice: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        hint = did_you_mean(name, table.column_names) or f"the columns are {listed(table.column_names)}"
        raise DataError(f"there is no {role} column '{name}': {hint}\n  {advice}")
    return table.column(name)


def _event_types(table: pa.Table, stream: str, type: str | None) -> pa.ChunkedArray:
    if type is None and "type" not in table.column_names:
        return pa.chunked_array([pa.repeat(pa.scalar(stream), table.num_rows)], pa.string())
    column = _column(table, type or "type", "type", "name it with type=...")
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"the type column '{type or 'type'}' is of type {column.type}, not of strings") from None


def _event_times(table: pa.Table, time: str | None) -> pa.ChunkedArray:
    if time is None:
        return pa.chunked_array([pa.array(np.arange(table.num_rows))], pa.int64())
    advice = "name the time column with time='...', or take rows in the order they have with time=None"
    column = _column(table, time, "time", advice)
    if column.null_count:
        first = pc.index(column.is_null(), True).as_py() + 1
        raise DataError(
            f"the time column '{time}' has {column.null_count} NULL value{'s' if column.null_count > 1 else ''}, "
            f"the first in row {first}: an event without a time has no place in the stream"
        )
    is_ = pa.types
    if is_.is_timestamp(column.type) or is_.is_date(column.type) or is_.is_integer(column.type):
        return column
    if is_.is_string(column.type) or is_.is_large_string(column.type) or is_.is_string_view(column.type):
        return _parse_times(column, time)
    raise DataError(
        f"the time column '{time}' is of type {column.type}: it must be a timestamp, a date, or an integer with a unit"
    )


def _parse_times(column: pa.ChunkedArray, time: str) -> pa.ChunkedArray:
    message = ""
    for type_ in (
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ns"),
        pa.timestamp("ns", "UTC"),
    ):
        try:
            return column.cast(type_)
        except pa.ArrowInvalid as e:
            message = str(e)
    raise DataError(f"the time column '{time}' holds text that is no time: {message}")


def _in_order(table: pa.Table, tiebreak: str | None, *, merged: bool, timed: bool) -> pa.Table:
    if not timed and not merged:
        return table
    if not timed:
        raise DataError("several streams are merged by time: name their time column with time='...'")
    times = table.column(_TIME)
    keys = [(_TIME, "ascending")]
    if tiebreak is not None:
        _column(table, tiebreak, "tie-break", "name it with tiebreak=...")
        keys.append((tiebreak, "ascending"))
    ticks = _as_integers(times)
    steps_back = int(np.count_nonzero(ticks[1:] < ticks[:-1]))
    if steps_back == 0 and tiebreak is None:
        return table
    if steps_back and not merged:
        log.warning("the events were not in the order of time (%d steps back): sorted, stably", steps_back)
    # The arrival as the last key makes the order stable whatever the sort is.
    numbered = table.append_column(_ARRIVAL, pa.array(np.arange(table.num_rows)))
    order = pc.sort_indices(numbered, sort_keys=[*keys, (_ARRIVAL, "ascending")])
    return table.take(order)


def _as_integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    integers: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return integers


def _clock(column: pa.ChunkedArray, time: str | None, unit: str | None) -> tuple[npt.NDArray[np.int64], int | None]:
    ticks = _as_integers(column)
    if time is None:
        return ticks, None
    if pa.types.is_integer(column.type):
        if unit is None:
            return ticks, None
        if unit.lower() not in UNITS:
            raise DataError(f"unknown unit of time '{unit}': {did_you_mean(unit, UNITS) or 'one of ' + listed(UNITS)}")
        return ticks, NANOSECONDS[UNITS[unit.lower()]]
    if unit is not None:
        raise DataError(f"the time column '{time}' is of type {column.type} and has its unit already: leave out unit=")
    if pa.types.is_date32(column.type):
        return ticks, NANOSECONDS["d"]
    return ticks, NANOSECONDS["ms" if pa.types.is_date64(column.type) else column.type.unit]
