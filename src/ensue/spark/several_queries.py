"""Several queries over one Spark DataFrame: a stream is read once, crosses to Python once, and has one set of states.

While a stream runs, another one can add and remove queries: its rows go to all buckets before the events of the same
micro-batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple, Protocol, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue import pipeline
from ensue.corrections.change_rows import check_names
from ensue.corrections.live_options import LiveOptions
from ensue.data.reading import Reading, check_column
from ensue.errors import DataError, EngineError, did_you_mean, listed
from ensue.language import ast
from ensue.logic.check import check
from ensue.logic.partition_keys import column_shown
from ensue.logic.rows_of_stream import check_rows_of_stream
from ensue.logic.wall_clock import reads_wall_clock
from ensue.results.changes import CHANGE, MATCH
from ensue.spark.admission import refuse_growing_state
from ensue.spark.bucket_count import BucketCount
from ensue.spark.chaining import WATERMARK, check_name, is_behind_operator, is_told_later, with_event_time
from ensue.spark.frames import Frames, read_frames
from ensue.spark.plain_columns import quoted
from ensue.spark.prerequisites import prepare_session
from ensue.spark.query_set import Adding, QuerySet, refuse_together
from ensue.spark.relevance import Relevance
from ensue.spark.run import CLOSED_STREAM, NOTHING, Job, OfStream, prepare
from ensue.spark.run import run as run_one
from ensue.spark.session_zone import session_zone
from ensue.spark.stream_of_matches import begun_by, of_matches
from ensue.spark.stream_work import StreamWork
from ensue.spark.streaming import BucketProcessor, run_streaming
from ensue.spark.tagged_rows import ERROR, NAME, QUERY, ROW, TEXT
from ensue.spark.task_memory import memory_of_tasks
from ensue.spark.type_mapping import arrow_schema, in_zone
from ensue.spark.variants import without_variants
from ensue.spark.waiting_queries import WaitingQueries

#: The metadata of `row` where its columns are not in its type: the columns of the events, and how they are read.
_EVENTS = "ensue.events"


class Asked(Protocol):
    """A query with its text."""

    @property
    def ast(self) -> ast.Query: ...

    @property
    def text(self) -> str: ...


class ComeAndGo(NamedTuple):
    """The stream that adds and removes queries, and the columns by which all that ever come are partitioned."""

    control: DataFrame | None = None
    keys: tuple[str, ...] | None = None


def run_several(
    queries: Mapping[str, Asked],
    events: Frames,
    *,
    memory: str | int | None = None,
    closed: bool = False,
    of_stream: OfStream,
    coming: ComeAndGo,
    **reading: Unpack[Reading],
) -> DataFrame:
    """The matches of all queries as one lazy DataFrame."""
    _check_queries(queries)
    changing = of_stream.changing or LiveOptions(reading, "wait")
    changing.check()
    if of_stream.alone:
        raise EngineError("alone=True is for one query: leave it out")
    if not all(f.isStreaming for f in _frames_of(events)):
        if coming.control is not None or of_stream.changing is not None:
            raise EngineError(
                "queries=, disorder=, slack=, id=, changes=, delays= and promises= are for streams: the events of a "
                "finite DataFrame are all there"
            )
        return _of_batch(queries, events, {"memory": memory, "closed": closed}, reading)
    if closed:
        raise EngineError(CLOSED_STREAM)
    for query in queries.values():
        check_rows_of_stream(query.ast, query.text, revised=changing.disorder == "revise")
        pipeline.warn(query.ast, query.text)
    together = _prepared(queries, events, changing, coming, of_stream.unbounded, reading)
    session = together.sent.events.frame.sparkSession
    prepare_session(session, streaming=True)
    frame = together.sent.events.frame
    check_name(frame, of_stream.name)
    in_task = together.query_set(memory_of_tasks(session, memory))
    work: StreamWork | QuerySet = in_task
    disorder = together.sent.disorder
    assert disorder is not None
    if coming.control is not None:
        disorder = replace(disorder, controlled=True)
    elif together.only_waits:
        work, disorder = WaitingQueries(in_task, together.relevance), None
    processor = BucketProcessor(
        work,
        BucketCount.of(frame, of_stream.buckets),
        behind_operator=is_behind_operator(frame, together.sent.events.time),
        disorder=disorder,
    )
    told = run_streaming(
        together.sent.streamed, processor, together.crossing, name=of_stream.name, control=together.control
    )
    if coming.control is not None:
        row = F.parse_json(ROW).alias(ROW, metadata=together.described)
        told = told.select(*(row if c == ROW else F.col(c) for c in told.columns))
    return of_matches(told, *begun_by(frame), processor.begun_by, waits=not together.sent.revised)


def _check_queries(queries: Mapping[str, Asked]) -> None:
    if not queries:
        raise EngineError("there is no query: give at least one")
    for query in queries.values():
        check(query.ast, query.text)
        refuse_together(query.ast, query.text)
    lower = [name.lower() for name in queries]
    alike = [name for name in queries if lower.count(name.lower()) > 1]
    if alike:
        raise EngineError(f"Spark cannot tell the names {listed(alike)} apart: they differ in case alone")


def _frames_of(events: Frames) -> list[DataFrame]:
    return list(events.values()) if isinstance(events, Mapping) else [events]


# ---------------------------------------------------------------- a stream


@dataclass(frozen=True)
class _Together:
    """The queries over given events, with all decisions on how to run them."""

    jobs: Mapping[str, Job]
    sent: Job  # what is sent to Python for all of them
    coming: ComeAndGo
    changing: LiveOptions
    reading: Reading
    unbounded: bool

    @property
    def controlled(self) -> bool:
        return self.coming.control is not None

    @property
    def only_waits(self) -> bool:
        """Whether the queries and the events stay as they are, and nothing but the watermark settles them."""
        said = self.changing
        return not (self.controlled or self.sent.revised or said.changes or said.delays or said.promises)

    @property
    def relevance(self) -> dict[str, Relevance]:
        """Which events matter to each query for which not all of them do."""
        return {name: found for name, job in self.jobs.items() if (found := job.relevance) is not None}

    @property
    def control(self) -> DataFrame | None:
        """The rows that add and remove queries, as they are sent to Python."""
        control = self.coming.control
        return None if control is None else control.select(*(F.col(quoted(c)).cast("string") for c in (NAME, TEXT)))

    @cached_property
    def plain(self) -> dict[str, T.StructType]:
        """The columns of the matches of each query."""
        return {name: replace(job, changing=None).result for name, job in self.jobs.items()}

    @cached_property
    def crossing(self) -> T.StructType:
        """The columns as the workers return them."""
        return result_of(self.plain, changes=self.controlled or self.sent.revised, controlled=self.controlled)

    @property
    def described(self) -> dict[str, Any]:
        """What is needed to find the columns of a query that was added."""
        events = self.sent.events
        columns = T.StructType([T.StructField(a, events.frame.schema[a].dataType) for a in events.attributes])
        zone = self.sent.zone
        return {_EVENTS: {"columns": columns.json(), "reading": json.dumps(self.reading), "zone": zone}}

    def query_set(self, memory: Any) -> QuerySet:
        recipes = {
            name: replace(job.recipe, given=0, result=arrow_schema(self.plain[name]), recorded=(), memory=memory)
            for name, job in self.jobs.items()
        }
        recorded = {**self.sent.recorded(), "shared out by": listed(self.sent.layout.keys)}
        # What was made when all conditions were evaluated in Python does not depend on what else the JVM evaluates.
        recorded.pop("conditions evaluated by Spark")
        return QuerySet(recipes, arrow_schema(self.crossing), self._adding, tuple(recorded.items()))

    @property
    def _adding(self) -> Adding | None:
        if not self.controlled:
            return None
        events, by_from = self.sent.events, self.sent.events.type is None
        streams = next(iter(self.jobs.values())).choice.checked.query.streams
        return Adding(
            in_zone(replace(events, attributes=tuple(self.sent.attributes)).schema, self.sent.zone),
            events.tick,
            tuple(self.reading.items()),  # type: ignore[arg-type]  # its values are texts
            self.sent.layout.keys,
            streams if by_from or len(streams) > 1 else None,
            self.sent.revised,
            self.unbounded,
        )


def _prepared(
    queries: Mapping[str, Asked],
    events: Frames,
    changing: LiveOptions,
    coming: ComeAndGo,
    unbounded: bool,
    reading: Reading,
) -> _Together:
    """Makes all decisions, and raises all errors that can be found before a job runs."""
    asked: dict[str, tuple[ast.Query, str]] = {}
    for name, query in queries.items():
        tree, events = without_variants(query.ast, query.text, events)
        asked[name] = (tree, query.text)
    controlled = coming.control is not None
    if controlled:
        _check_control(coming.control, changing)
    session = _frames_of(events)[0].sparkSession
    by_clock = controlled or any(reads_wall_clock(tree) for tree, _ in asked.values())
    zone = session_zone(session) if by_clock else "UTC"
    jobs = {
        name: prepare(tree, text, events, changing=changing, zone=zone, **reading)
        for name, (tree, text) in asked.items()
    }
    first = next(iter(jobs.values()))
    _check_streams(jobs, first)
    for job in jobs.values():
        if not unbounded:
            refuse_growing_state(job.choice, job.events.time)
        if controlled or job.revised:
            check_names(replace(job, changing=None).result.names)
    # Of an event without an id of its own, all columns identify it; and a query that is added may use each of them.
    whole = controlled or (changing.id is None and (changing.disorder == "revise" or changing.changes is not None))
    used = frozenset(a for job in jobs.values() for a in job.attributes)
    streams = tuple(dict.fromkeys(s for tree, _ in asked.values() for s in tree.streams))
    needed = used.union(changing.about_rows) if not whole else None
    frames = read_frames(events, streams, needed, **reading)
    attributes = [a for a in frames.attributes if (whole or a in used) and a not in changing.about_rows]
    keys = _shared_keys(jobs, coming.keys, frames.attributes)
    relevant = None if controlled else _relevant([job.pushdown.relevant for job in jobs.values()])
    layout = replace(first.layout, keys=keys, slices=None)
    pushdown = replace(NOTHING, relevant=relevant)
    sent = Job(frames, first.choice, pushdown, layout, attributes, zone, first.mode, changing)
    return _Together(jobs, sent, coming, changing, reading, unbounded)


def _check_control(control: Any, changing: LiveOptions) -> None:
    if not getattr(control, "isStreaming", False):
        raise DataError(f"queries= takes a streaming DataFrame with the columns {NAME} and {TEXT}")
    for column in (NAME, TEXT):
        check_column(control.columns, column, "control", f"queries= has rows of a query's '{NAME}' and its '{TEXT}'")
    late = [f.name for f in control.schema.fields if WATERMARK in f.metadata]
    if late:
        raise DataError(
            f"queries= has a watermark on '{late[0]}', which would hold that of the events back: leave it out"
        )
    if changing.delays or changing.promises:
        raise EngineError(
            "delays= and promises= are for queries that are known from the start: with queries=, leave them out"
        )


def _check_streams(jobs: Mapping[str, Job], first: Job) -> None:
    streams = first.choice.checked.query.streams
    others = [name for name, job in jobs.items() if job.choice.checked.query.streams != streams]
    if others and (first.events.type is None or len(streams) > 1):
        raise EngineError(
            f"the query {listed(others)} names other streams in FROM than the first one, {listed(streams)}: without a "
            "column of types, these tell what an event is"
        )


def _shared_keys(jobs: Mapping[str, Job], wanted: Sequence[str] | None, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns by which events are shared out: those that are keys of all queries."""
    common = [k for k in next(iter(jobs.values())).layout.keys if k in columns]
    shared = tuple(k for k in common if all(k in job.layout.keys for job in jobs.values()))
    for key in wanted or ():
        check_column(columns, key, "key", "keys= names columns by which all queries are partitioned")
        without = [name for name, job in jobs.items() if key not in job.layout.keys]
        if without:
            raise EngineError(f"keys={column_shown(key)!r}: the query {listed(without)} is not partitioned by it")
    return shared if wanted is None else tuple(wanted)


def _relevant(conditions: list[Column | None]) -> Column | None:
    """Whether an event can change anything for one of the queries; None if each may."""
    known = [c for c in conditions if c is not None]
    return reduce(Column.__or__, known) if len(known) == len(conditions) else None


# ---------------------------------------------------------------- the rows


def result_of(plain: Mapping[str, T.StructType], *, changes: bool, controlled: bool) -> T.StructType:
    """The columns of the rows of queries whose matches have these."""
    ends = [schema["end_time"] for schema in plain.values()]
    row = T.StringType() if controlled else T.StructType([T.StructField(n, _bare(s)) for n, s in plain.items()])
    text = T.StringType()
    before = [T.StructField(name, text) for name in (QUERY, *((CHANGE, MATCH) if changes else ()))]
    times = [T.StructField(name, ends[0].dataType) for name in ("start_time", "end_time")]
    told_later = controlled or any(is_told_later(end) for end in ends)
    result = T.StructType([*before, *times, T.StructField(ROW, row)])
    return with_event_time(result, told_later=told_later)


def _bare(schema: T.StructType) -> T.StructType:
    return T.StructType([T.StructField(f.name, f.dataType) for f in schema])


def _of_batch(queries: Mapping[str, Asked], events: Frames, options: Mapping[str, Any], reading: Reading) -> DataFrame:
    """The rows of each query over finite events, with the columns that a stream has."""
    found = {n: run_one(q.ast, q.text, events, **options, **reading) for n, q in queries.items()}
    parts = []
    for name, frame in found.items():
        own = {n: F.lit(None).cast(other.schema) for n, other in found.items()}
        own[name] = F.struct(*(F.col(quoted(c)) for c in frame.columns))
        row = F.struct(*(column.alias(n) for n, column in own.items()))
        parts.append(frame.select(F.lit(name).alias(QUERY), "start_time", "end_time", row.alias(ROW)))
    return reduce(DataFrame.union, parts)


def rows_of(found: DataFrame, name: str, query: Asked | None = None) -> DataFrame:
    """The rows of one of the queries with its own columns."""
    if QUERY not in found.columns or ROW not in found.columns:
        raise DataError(f"these are no rows of several queries: they have no columns '{QUERY}' and '{ROW}'")
    field = found.schema[ROW]
    own = found.filter(F.col(QUERY) == name)
    before = [F.col(c) for c in (CHANGE, MATCH) if c in found.columns]
    if isinstance(field.dataType, T.StructType):
        if name not in field.dataType.names:
            hint = did_you_mean(name, field.dataType.names) or f"there are {listed(field.dataType.names)}"
            raise EngineError(f"there is no query named '{name}': {hint}")
        names = found.select(f"{ROW}.{quoted(name)}.*").columns
        columns = {c: F.col(f"{ROW}.{quoted(name)}.{quoted(c)}") for c in names}
    else:
        columns = {c.name: F.variant_get(ROW, _path(c.name), c.dataType.simpleString()) for c in _columns(found, query)}
        own = own.filter(F.col(CHANGE) != ERROR)
    columns["end_time"] = F.col("end_time")  # it is event time
    return own.select(*before, *(column.alias(c) for c, column in columns.items()))


def _columns(found: DataFrame, query: Asked | None) -> list[T.StructField]:
    """The columns of a query that is not in the type of the rows."""
    events = found.schema[ROW].metadata.get(_EVENTS)
    if query is None or events is None:
        raise EngineError(
            "the columns of a query that may come and go are not in the type of 'row': give the query as well, and the "
            "table that ensue.run has made"
        )
    schema = T.StructType.fromJson(json.loads(events["columns"]))
    empty = found.sparkSession.createDataFrame([], schema)
    job = prepare(query.ast, query.text, empty, zone=events["zone"], **json.loads(events["reading"]))
    return list(job.result.fields)


def _path(column: str) -> str:
    return f"$['{column}']" if "'" not in column else f'$["{column}"]'
