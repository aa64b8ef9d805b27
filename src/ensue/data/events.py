"""Reads events from every supported source as one ordered stream. Bad data raises an error; nothing is dropped."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.reading import (
    TIME_ADVICE,
    Reading,
    TimeColumn,
    check_column,
    check_reading,
    events_by_stream,
    named_times,
    nanoseconds_of_a_step,
    no_time_type,
    time_of_stream,
)
from ensue.data.schema import Schema, timestamp_literal
from ensue.data.sources import read_table
from ensue.errors import DataError, listed
from ensue.language.ast import NANOSECONDS

Ticks = npt.NDArray[np.int64]
log = logging.getLogger("ensue")


@dataclass(frozen=True)
class EventStream:
    """Events in stream order: by time, then by the tie-break column, then by arrival."""

    table: pa.Table
    types: pa.ChunkedArray  # the type of each event, as strings
    ticks: npt.NDArray[np.int64] | None  # the value of `times`; if None, `times` are the integers of `time_column`
    tick: int | None  # nanoseconds of one step of `times`; None if the unit is not known
    time_column: pa.ChunkedArray  # the times that start_time and end_time show
    #: The results of predicates of the plan that were evaluated before the events came here: bit `k` is predicate `k`.
    predicate_bits: npt.NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def schema(self) -> Schema:
        return Schema.of(self.table.schema)

    @cached_property
    def times(self) -> npt.NDArray[np.int64]:
        """The time of each event. For a long stream in chunks, ask slices within a chunk: these need no copy."""
        return as_integers(self.time_column) if self.ticks is None else self.ticks

    def time_at(self, position: int) -> int:
        """The time of one event."""
        return int(self.slice(position, 1).times[0])

    def slice(self, start: int, length: int) -> EventStream:
        """At most `length` events, from `start` on."""
        return EventStream(
            self.table.slice(start, length),
            self.types.slice(start, length),
            None if self.ticks is None else self.ticks[start : start + length],
            self.tick,
            self.time_column.slice(start, length),
            None if self.predicate_bits is None else self.predicate_bits[start : start + length],
        )

    def at(self, positions: npt.NDArray[np.int64]) -> EventStream:
        """The events at these positions, in their order."""
        places = integers(positions)
        return EventStream(
            self.table.take(places),
            self.types.take(places),
            None if self.ticks is None else self.ticks[positions],
            self.tick,
            self.time_column.take(places),
            None if self.predicate_bits is None else self.predicate_bits[positions],
        )


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def integers(values: npt.NDArray[np.int64]) -> pa.Array:
    """The same integers for Arrow, not copied. `pa.array` would first load pandas if it is installed (0.3 s)."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values, np.int64))])


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """The same numbers for NumPy, not copied, from an array without NULLs: `to_numpy` too would first load pandas."""
    found: npt.NDArray[Any] = np.from_dlpack(array)
    return found


def read_events(
    events: Any,
    streams: tuple[str, ...],
    *,
    time: TimeColumn = "time",
    type: str | None = None,
    unit: str | None = None,
    tiebreak: str | None = None,
    used: frozenset[str] | None = None,
) -> EventStream:
    """The events of a query's streams as one ordered stream.

    If `type` is None, the column `type` has the types; without such a column, every event has its stream's name as its
    type. Several streams are given as a mapping from their names, and are merged by time. `used` names the attributes
    that the query uses, so that a file's other columns need not be read; None means all attributes.
    """
    check_reading(time=time, type=type, unit=unit, tiebreak=tiebreak)
    reading: Reading = {"time": time, "type": type, "unit": unit, "tiebreak": tiebreak}
    arrived, merged = _arrived(events, streams, reading, used)
    return _stream_of(_in_order(arrived, tiebreak, merged=merged, timed=time is not None), time, unit)


def read_arrived(
    events: Any, streams: tuple[str, ...], *, used: frozenset[str] | None = None, **reading: Unpack[Reading]
) -> EventStream:
    """The events in the order in which they came, whatever their times: for those who put them in order themselves."""
    check_reading(**reading)
    arrived, _ = _arrived(events, streams, reading, used)
    if pa.types.is_floating(arrived.column(_TIME).type):
        time = named_times(reading.get("time", "time"))
        raise no_time_type(time, str(arrived.column(_TIME).type), "; events that are pushed have no float times")
    if (tiebreak := reading.get("tiebreak")) is not None:
        _column(arrived, tiebreak, "tie-break")
    return _stream_of(arrived, reading.get("time", "time"), reading.get("unit"))


def _arrived(
    events: Any, streams: tuple[str, ...], reading: Reading, used: frozenset[str] | None
) -> tuple[pa.Table, bool]:
    """The rows of all streams, one stream after the other, with their types and times as two more columns.

    Also whether they are of several streams.
    """
    type, tiebreak = reading.get("type"), reading.get("tiebreak")
    tables = []
    for name, source in events_by_stream(events, streams).items():
        time = time_of_stream(reading.get("time", "time"), name)
        only = None if used is None else used | {c for c in (time, type, tiebreak) if c is not None}
        table = read_table(source, only=only if type else _with_type(only), encoded=type or "type")
        if not table.column_names and not table.num_rows and len(streams) > 1:
            continue  # an empty list of rows has no columns
        types, times = _event_types(table, name, type), _event_times(table, time, reading.get("unit"))
        if time is not None and times.type != table.column(time).type:  # filters too see the times that a text means
            table = table.set_column(table.column_names.index(time), time, times)
        tables.append(table.append_column(_TYPE, types).append_column(_TIME, times))
    if not tables:
        raise DataError("the events have no rows and no columns: give at least the names of the columns")
    return (tables[0], False) if len(tables) == 1 else (_merge(tables, streams), True)


def _stream_of(table: pa.Table, time: TimeColumn, unit: str | None) -> EventStream:
    shown, types = table.column(_TIME), table.column(_TYPE)
    events = table.drop_columns([_TYPE, _TIME])
    if pa.types.is_floating(shown.type):
        return EventStream(events, types, *_ticks_of_floats(shown, named_times(time), unit), shown)
    return EventStream(events, types, None, _tick(shown, None if time is None else named_times(time), unit), shown)


def _with_type(only: frozenset[str] | None) -> frozenset[str] | None:
    """Adds the column `type`, which is read if it exists; a file without it is read whole."""
    return None if only is None else only | {"type"}


# Names that no user's column can have, for the columns that are sorted together with the table.
_TYPE, _TIME, _ARRIVAL = "\0type", "\0time", "\0arrival"


def joined(first: EventStream, second: EventStream) -> EventStream:
    """The events of the first stream and then those of the second, which has the same columns."""
    bits = [s.predicate_bits for s in (first, second) if s.predicate_bits is not None]
    return EventStream(
        pa.concat_tables([first.table, second.table]),
        pa.chunked_array([one_chunk(s.types).cast(pa.string()) for s in (first, second)]),
        np.concatenate([first.times, second.times]),
        second.tick,
        pa.chunked_array([*first.time_column.chunks, *second.time_column.chunks], second.time_column.type),
        np.concatenate(bits) if len(bits) == 2 else None,
    )


# ---------------------------------------------------------------- sources


def _merge(tables: list[pa.Table], streams: tuple[str, ...]) -> pa.Table:
    kinds = {str(t.column(_TIME).type): _kind_of_time(t.column(_TIME).type) for t in tables}
    if len(set(kinds.values())) > 1:
        raise DataError(f"the times of the streams {listed(streams)} do not compare: they are of types {listed(kinds)}")
    if any(pa.types.is_floating(t.column(_TIME).type) for t in tables):
        tables = [_with_times(t, t.column(_TIME).cast(pa.float64())) for t in tables]
    try:
        plain = [t.set_column(t.column_names.index(_TYPE), _TYPE, t.column(_TYPE).cast(pa.string())) for t in tables]
        return pa.concat_tables(plain, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
        raise DataError(f"the streams {listed(streams)} have columns of one name and different types: {e}") from None


def _with_times(table: pa.Table, times: pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(_TIME), _TIME, times)


# ---------------------------------------------------------------- types, times, order


def _column(table: pa.Table, name: str, role: str, advice: str | None = None) -> pa.ChunkedArray:
    check_column([n for n in table.column_names if not n.startswith("\0")], name, role, advice)
    return table.column(name)


def _event_types(table: pa.Table, stream: str, type: str | None) -> pa.ChunkedArray:
    if type is None and "type" not in table.column_names:
        return pa.chunked_array([pa.repeat(pa.scalar(stream), table.num_rows)], pa.string())
    column = _column(table, type or "type", "type")
    if pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type):
        return column  # already the best form for an engine: each name once
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"the type column '{type or 'type'}' is of type {column.type}, not of strings") from None


def _kind_of_time(type_: pa.DataType) -> tuple[bool, bool]:
    """Times compare where both are numbers or neither, and both have a zone or neither."""
    return pa.types.is_integer(type_) or pa.types.is_floating(type_), getattr(type_, "tz", None) is not None


def _event_times(table: pa.Table, time: str | None, unit: str | None) -> pa.ChunkedArray:
    if time is None:
        return pa.chunked_array([integers(np.arange(table.num_rows))], pa.int64())
    column = _column(table, time, "time", TIME_ADVICE)
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
    if is_.is_null(column.type):  # no rows: the file has only its header
        return column.cast(pa.int64())
    if is_.is_floating(column.type):
        return _float_times(column, time, unit)
    raise no_time_type(time, str(column.type), "")


def _float_times(column: pa.ChunkedArray, time: str, unit: str | None) -> pa.ChunkedArray:
    """Times such as 1.25 seconds."""
    if unit is None:
        raise no_time_type(time, str(column.type), "; of floats, too, say the unit, such as unit='s'")
    column = column.cast(pa.float64())
    if not pc.all(pc.is_finite(column)).as_py():
        row = pc.index(pc.is_finite(column), False).as_py() + 1
        raise DataError(f"the time column '{time}' is not finite in row {row}: that event has no place in the stream")
    return column


def _parse_times(column: pa.ChunkedArray, time: str) -> pa.ChunkedArray:
    for type_ in (
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ns"),
        pa.timestamp("ns", "UTC"),
    ):
        try:
            return column.cast(type_)
        except pa.ArrowInvalid:
            continue
    for row, text in enumerate(column.to_pylist(), start=1):
        if timestamp_literal(text) is None:
            wanted = "an ISO time such as 2024-03-31 01:30:00"
            raise DataError(f"the time column '{time}' holds '{text[:40]}' in row {row}, which is not {wanted}")
    raise DataError(f"the time column '{time}' has some times with a zone and some without: give all of them a zone")


def _ticks_of_floats(column: pa.ChunkedArray, time: str, unit: str | None) -> tuple[Ticks, int]:
    """Times in floats, rounded to microseconds, or to the unit if that is shorter; and how long such a step is."""
    length = nanoseconds_of_a_step(time, str(column.type), None, unit)
    assert length is not None, "floats without a unit are refused"
    step = min(length, NANOSECONDS["us"])
    ticks = np.rint(numbers(one_chunk(column)) * (length // step))
    if len(ticks) and np.abs(ticks).max() >= 2**63:
        raise DataError("a time does not fit 64 bits")
    return ticks.astype(np.int64), step


def _in_order(table: pa.Table, tiebreak: str | None, *, merged: bool, timed: bool) -> pa.Table:
    if not timed and tiebreak is not None:
        raise DataError("tiebreak orders events of equal time, but with time=None the rows keep their order")
    if not timed and not merged:
        return table
    if not timed:
        raise DataError("several streams are merged by time: name their time column with time='...'")
    times = table.column(_TIME)
    keys = [(_TIME, "ascending")]
    if tiebreak is not None:
        _column(table, tiebreak, "tie-break")
        keys.append((tiebreak, "ascending"))
    steps_back = _steps_back(times)
    if steps_back == 0 and tiebreak is None:
        return table
    if steps_back and not merged:
        steps = f"{steps_back} step{'' if steps_back == 1 else 's'} back"
        log.warning("the events were not in the order of time (%s): sorted, stably", steps)
    # The arrival as the last key makes the order stable, even if Arrow's sort is not.
    numbered = table.append_column(_ARRIVAL, integers(np.arange(table.num_rows)))
    order = pc.sort_indices(numbered, sort_keys=[*keys, (_ARRIVAL, "ascending")])
    return table.take(order)


def _steps_back(times: pa.ChunkedArray) -> int:
    """The number of times that are less than the previous one; chunk by chunk, as joining the chunks costs more."""
    found, last = 0, None
    for chunk in times.chunks:
        floats = pa.types.is_floating(chunk.type)
        ticks = numbers(chunk) if floats else as_integers(pa.chunked_array([chunk]))
        if len(ticks):
            found += int(np.count_nonzero(ticks[1:] < ticks[:-1])) + int(last is not None and ticks[0] < last)
            last = ticks[-1]
    return found


def as_integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A time column as whole numbers of steps of its unit."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    try:
        return numbers(one_chunk(column.cast(pa.int64())))
    except pa.ArrowInvalid as e:
        raise DataError(f"a time does not fit 64 bits: {e}") from None


def _tick(column: pa.ChunkedArray, time: str | None, unit: str | None) -> int | None:
    """The nanoseconds of one step of the time column; None if its unit is not known."""
    if time is None:
        return None
    is_ = pa.types
    own = None
    if not is_.is_integer(column.type):
        own = "d" if is_.is_date32(column.type) else "ms" if is_.is_date64(column.type) else column.type.unit
    return nanoseconds_of_a_step(time, str(column.type), own, unit)
