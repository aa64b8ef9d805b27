"""The user's DataFrames as one DataFrame of events: checks columns before any job runs, and merges several streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue.data.reading import (
    TimeColumn,
    check_column,
    check_reading,
    events_by_stream,
    nanoseconds_of_a_step,
    no_time_type,
)
from ensue.data.schema import Schema
from ensue.errors import DataError
from ensue.spark.chaining import WATERMARK, has_second_watermark, is_told_later
from ensue.spark.plain_columns import OWN, quoted, with_plain_columns
from ensue.spark.type_mapping import arrow_schema, in_zone

#: The column that holds the types of the events of several merged streams.
STREAM_TYPE = f"{OWN}stream"


#: The user's events: a DataFrame, or one for each stream in FROM.
Frames = DataFrame | Mapping[str, DataFrame]


@dataclass(frozen=True)
class EventFrame:
    """A DataFrame of events, with its columns for time, type and tie-break."""

    frame: DataFrame
    attributes: tuple[str, ...]  # the user's columns
    time: str
    type: str | None  # if None, every event has the type `stream`
    stream: str
    tick: int | None
    tiebreak: str | None

    @property
    def streaming(self) -> bool:
        return bool(self.frame.isStreaming)

    @property
    def schema(self) -> pa.Schema:
        """The attributes with their Arrow types."""
        return arrow_schema(T.StructType([self.frame.schema[a] for a in self.attributes]))

    @property
    def type_column(self) -> Column:
        return F.lit(self.stream) if self.type is None else F.col(quoted(self.type))


def read_frames(
    events: Frames,
    streams: tuple[str, ...],
    used: frozenset[str] | None,
    *,
    time: TimeColumn = "time",
    type: str | None = None,
    unit: str | None = None,
    tiebreak: str | None = None,
) -> EventFrame:
    """The events of a query's streams; raises DataError before any job runs.

    `used` are the columns that the query itself needs, None means all.
    """
    check_reading(time=time, type=type, unit=unit, tiebreak=tiebreak)
    if time is None:
        raise DataError("a DataFrame has no order of its own: name the time column with time='...'")
    if isinstance(time, Mapping):
        raise DataError(
            "on Spark all streams have one time column: rename the others, df.withColumnRenamed('ts', 'time')"
        )
    if used is not None:
        used = used.union(c for c in (time, type or "type", tiebreak) if c is not None)
    given = {name: with_plain_columns(f, used) for name, f in events_by_stream(events, streams).items()}
    frame = given[streams[0]] if len(given) == 1 else _merged(given, type)
    attributes = tuple(c for c in frame.columns if c != STREAM_TYPE)
    check_column(attributes, time, "time")
    if tiebreak is not None:
        check_column(attributes, tiebreak, "tie-break")
        if isinstance(frame.schema[tiebreak].dataType, T.ArrayType | T.MapType | T.StructType | T.VariantType):
            raise DataError(
                f"the tie-break column '{tiebreak}' is of type {_named(frame, tiebreak)}, which has no order"
            )
    if len(given) > 1:
        type = STREAM_TYPE
    elif type is not None or "type" in attributes:
        type = type or "type"
        check_column(attributes, type, "type")
        if not isinstance(frame.schema[type].dataType, T.StringType):
            raise DataError(f"the type column '{type}' is of type {_named(frame, type)}, not of strings")
    tick = _tick(frame, time, unit)
    return EventFrame(frame, attributes, time, type, streams[0], tick, tiebreak)


def _merged(given: Mapping[str, DataFrame], type: str | None) -> DataFrame:
    """One DataFrame of all streams. An event's type is that of the type column or, without one, its stream's name."""
    frames = []
    for name, frame in given.items():
        if type is not None:
            check_column(frame.columns, type, "type")
        column = type or "type"
        typed = F.col(quoted(column)) if column in frame.columns else F.lit(name)
        frames.append(frame.withColumn(STREAM_TYPE, typed))
    merged, *others = frames
    for other in others:
        merged = merged.unionByName(other, allowMissingColumns=True)
    return merged


def _named(frame: DataFrame, column: str) -> str:
    return str(frame.schema[column].dataType.simpleString())


def _tick(frame: DataFrame, time: str, unit: str | None) -> int | None:
    """The nanoseconds of one step of the time column."""
    type_ = frame.schema[time].dataType
    own = None
    if isinstance(type_, T.TimestampType | T.TimestampNTZType | T.DateType):
        own = "d" if isinstance(type_, T.DateType) else "us"
    elif not isinstance(type_, T.ByteType | T.ShortType | T.IntegerType | T.LongType):
        advice = f"; make it one with to_timestamp({time})" if isinstance(type_, T.StringType) else ""
        raise no_time_type(time, _named(frame, time), advice)
    return nanoseconds_of_a_step(time, _named(frame, time), own, unit)


def check_stream(events: EventFrame) -> None:
    """Refuses a stream without a watermark on its time column, which says how long to wait for events out of order."""
    field = events.frame.schema[events.time]
    if not isinstance(field.dataType, T.TimestampType):
        found = _named(events.frame, events.time)
        raise DataError(f"on a stream the time column must be a timestamp; '{events.time}' is of type {found}")
    if is_told_later(field):
        raise DataError(
            f"'{events.time}' is the end of matches that are reported later, when a deadline has passed or a window is "
            "closed: on a stream it cannot be the time column of another query. Write the matches to a table, and read "
            "that as a stream"
        )
    if has_second_watermark(field):
        raise DataError(
            f"'{events.time}' of a stream of matches has a watermark already: leave withWatermark out. A second "
            "watermark would wait for matches, which wait for the watermark"
        )
    if WATERMARK not in field.metadata:
        raise DataError(
            f"the stream has no watermark on '{events.time}': without one, the order of events is never final. Add\n"
            f'  df.withWatermark("{events.time}", "10 seconds")\n'
            "  with the longest time that an event may come late"
        )


#: Operators that pass rows on one by one, and the sources of streams.
_ROW_BY_ROW = {"Project", "Filter", "SubqueryAlias"}
_SOURCES = {"StreamingRelation", "StreamingRelationV2"}


def final_after(events: EventFrame) -> int:
    """The watermark's delay in milliseconds: Spark treats events that are older than this as late.

    The watermark of the next micro-batch is the latest time of this one minus the delay. This holds if the stream is
    one source with one watermark: of several watermarks, and behind stateful operators, Spark takes the slowest. What
    the user does with the matches is not known here, so for that the user's word counts.
    """
    frame = getattr(events.frame, "_jdf", None)  # Spark Connect has no plan to look at
    watermarks = 0 if frame is not None else 1
    plan = None if frame is None else frame.queryExecution().analyzed()
    while plan is not None and (node := plan.nodeName()) not in _SOURCES:
        if node not in _ROW_BY_ROW and node != "EventTimeWatermark":
            raise DataError(
                f"alone=True: the stream's own watermark may not be the only one, because {node} comes before it"
            )
        watermarks += node == "EventTimeWatermark"
        plan = plan.children().head()
    if watermarks != 1:
        raise DataError(f"alone=True: the stream has {watermarks} watermarks")
    return int(events.frame.schema[events.time].metadata[WATERMARK])


def as_schema(events: EventFrame, zone: str) -> Schema:
    """The schema of the events, for the checks of a query; times are shown in this zone."""
    return Schema.of(in_zone(events.schema, zone))
