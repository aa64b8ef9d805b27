"""Runs a query over Spark DataFrames: checks everything before a job runs, then starts a batch or a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Unpack

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue import pipeline
from ensue.columns.key_columns import with_keys
from ensue.corrections.change_rows import check_names, no_changes
from ensue.corrections.live_options import LiveOptions
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream, log
from ensue.data.reading import Reading, check_column
from ensue.engines.item_lookback import ItemLookBack
from ensue.errors import DataError, EngineError
from ensue.language import ast
from ensue.logic.aggregation import POSITION, items_of, refuse_aggregation
from ensue.logic.check import check
from ensue.logic.classify import is_told_later_than_end
from ensue.logic.outputs import attributes_used
from ensue.logic.rows_of_stream import check_rows_of_stream
from ensue.logic.wall_clock import reads_wall_clock
from ensue.logic.window import looks_back
from ensue.plan import Plan
from ensue.plan.choice import Choice
from ensue.plan.mode import Mode
from ensue.results.detections import shown
from ensue.results.totals import Grouping
from ensue.spark.admission import refuse_growing_state
from ensue.spark.batch import run_batch
from ensue.spark.batch_from_files import run_on_files
from ensue.spark.bucket_count import BucketCount
from ensue.spark.chaining import check_name, is_behind_operator, with_event_time
from ensue.spark.choosing import chosen
from ensue.spark.computed_keys import column_of, with_key_columns
from ensue.spark.frames import EventFrame, Frames, as_schema, check_stream, final_after, read_frames
from ensue.spark.layout import Layout, batch_layout
from ensue.spark.plain_columns import quoted
from ensue.spark.plain_scan import LeftToSpark
from ensue.spark.prerequisites import prepare_session
from ensue.spark.pushdown import Pushdown, nothing_pushed_down, push_down
from ensue.spark.read_by_tasks import ReadByTasks, read_by_tasks
from ensue.spark.recipe import HASH, PROMISE, TIE, TIME, TYPE, WORD, Recipe, travelling_name
from ensue.spark.relevance import Relevance
from ensue.spark.revised_bucket import DOES, Disorder
from ensue.spark.row_sorting import sorted_rows, with_sorting_columns
from ensue.spark.session_zone import session_zone
from ensue.spark.stream_of_matches import begun_by, of_matches
from ensue.spark.streaming import BucketProcessor, run_late, run_streaming
from ensue.spark.task_memory import memory_of_tasks
from ensue.spark.type_mapping import arrow_schema, in_zone, spark_schema
from ensue.spark.variants import without_variants

#: Stands for a missing time in the filter of a stream's events.
_NO_TIME = int(np.iinfo(np.int64).min)
#: Where the JVM evaluates nothing, and no event is left out.
NOTHING = Pushdown({}, None, None, None, None, (), frozenset())


CLOSED_STREAM = (
    "closed=True says that no event follows, and a stream goes on: leave it out. What waits for a deadline is told "
    "when time has passed it, and a window when an event closes it"
)


class OfStream(NamedTuple):
    """What only a streaming query may be told."""

    unbounded: bool = False
    alone: bool = False
    buckets: int | None = None
    name: str = "ensue"
    changing: LiveOptions | None = None  # how events may change, and when matches are told


_AS_USUAL = OfStream()


def run(
    query: ast.Query,
    text: str,
    events: Frames,
    *,
    memory: str | int | None = None,
    closed: bool = False,
    of_stream: OfStream = _AS_USUAL,
    mode: Mode = Mode.ENUMERATE,
    **reading: Unpack[Reading],
) -> DataFrame:
    """The matches as a lazy DataFrame, streaming if the events are. `closed` says that nothing follows a finite one.

    In the mode UNION, one row for each end, with the events that took part in its matches.
    """
    changing = of_stream.changing
    if changing is not None:
        changing.check()
    job = prepare(query, text, events, mode, changing, **reading)
    if mode is Mode.UNION and (query.order or (query.limit is not None and query.per is not ast.Per.END)):
        raise EngineError(
            "detect on Spark tells of all matches of an end: leave ORDER BY out, and LIMIT without PER END"
        )
    pipeline.warn(query, text)
    prepare_session(job.events.frame.sparkSession, streaming=job.events.streaming)
    if closed and job.events.streaming:
        raise EngineError(CLOSED_STREAM)
    recipe = replace(job.recipe, memory=memory_of_tasks(job.events.frame.sparkSession, memory), closed=closed)
    if not job.events.streaming:
        if changing is not None:
            raise EngineError(
                "disorder=, slack=, id=, changes=, delays= and promises= are for streams: the events of a finite "
                "DataFrame are all there"
            )
        if job.choice.expectation is not None:
            log.warning("EXPECT: a batch on Spark does not count unexpected events; a stream does, and so does a table")
        return sorted_rows(_rows_of_batch(job, recipe), job.choice.checked)
    check_rows_of_stream(query, text, revised=job.revised)
    if changing is not None and of_stream.alone:
        raise EngineError("alone=True lets matches wait less: with disorder= or changes=, leave it out")
    if not of_stream.unbounded:
        refuse_growing_state(job.choice, job.events.time)
    frame = job.events.frame
    check_name(frame, of_stream.name)
    behind_operator = is_behind_operator(frame, job.events.time)
    after = final_after(job.events) if of_stream.alone else None
    processor = BucketProcessor(
        recipe,
        BucketCount.of(frame, of_stream.buckets),
        after,
        behind_operator=behind_operator,
        disorder=job.disorder,
    )
    matches = run_streaming(job.streamed, processor, job.result, name=of_stream.name)
    if "end_time" not in job.result.names:
        return matches  # of groups, whose rows have no time of an event
    return of_matches(matches, *begun_by(frame), processor.begun_by, waits=not job.revised)


def _rows_of_batch(job: Job, recipe: Recipe) -> DataFrame:
    if isinstance(job.files, ReadByTasks):
        return run_on_files(job.events.frame.sparkSession, job.files, recipe, job.result)
    return run_batch(job.travelling, job.layout, recipe, job.result)


def late_events(query: ast.Query, text: str, events: Frames, **reading: Unpack[Reading]) -> DataFrame:
    """The events of a stream that matter to the query and came after the watermark had passed them."""
    job = prepare(query, text, events, **reading)
    if not job.events.streaming:
        raise DataError("a finite DataFrame has no late events: all its events are there, and they are sorted")
    if is_behind_operator(job.events.frame, job.events.time):
        raise DataError("no event comes late here: the operator that these events come from has put them in order")
    prepare_session(job.events.frame.sparkSession, streaming=True)
    whole = replace(job, attributes=list(job.events.attributes))
    timed = whole.streamed.filter(F.col(TIME).isNotNull())
    return run_late(timed, T.StructType([job.events.frame.schema[a] for a in whole.attributes]))


@dataclass(frozen=True)
class Job:
    """A query over given events, with all decisions on how to run it."""

    events: EventFrame
    choice: Choice
    pushdown: Pushdown
    layout: Layout
    attributes: list[str]  # the user's columns that are sent to Python
    zone: str  # in which the query sees times
    mode: Mode
    changing: LiveOptions | None = None
    files: ReadByTasks | str = ""  # how the tasks of a batch read files themselves, or why Spark reads them

    @property
    def revised(self) -> bool:
        """Whether matches are told before the watermark has passed them."""
        return self.changing is not None and self.changing.disorder == "revise"

    @property
    def disorder(self) -> Disorder | None:
        """What the buckets of the stream need to know of that."""
        options = self.changing
        if options is None:
            return None
        slack = (options.ticks("slack", self.events.tick) or 0) if self.revised else None
        delays = tuple(sorted(options.delays_in_ticks(self.events.tick).items()))
        said = {"changes": options.changes is not None, "promises": options.promises is not None}
        return Disorder(slack, options.id, tiebreak=self.events.tiebreak, delays=delays, **said)

    @property
    def relevance(self) -> Relevance | None:
        """Which events can change something, for Python to look; None if each may."""
        plan = _pushed_down(self.choice, self.events)
        if plan is None:
            return None
        looking_back = looks_back(*items_of(self.choice.checked.query))
        guards = nothing_pushed_down(plan, items_look_back=looking_back).changing
        return None if guards is None else Relevance(tuple(guards))

    @cached_property
    def result(self) -> T.StructType:
        """The schema of the matches, with the columns that only sort them."""
        table = in_zone(self.events.schema, self.zone).empty_table()
        no_types = pa.chunked_array([], pa.string())
        empty = EventStream(table, no_types, np.zeros(0, dtype=np.int64), None, table.column(self.events.time))
        nothing = with_keys(empty, self.choice.checked.query)
        if self.mode is Mode.TOTALS:
            return self._result_of_groups(empty.time_column.type)
        checked = self.choice.checked
        look_back = ItemLookBack(checked if self.mode is Mode.ENUMERATE else replace(checked, outputs=()))
        matches = shown(self.mode, look_back.checked, look_back.extended(nothing), ComplexEvents.of(()))
        rows = next(matches.tables())
        if self.revised:
            check_names(rows.column_names)
            rows = no_changes(rows)
        schema = spark_schema(rows.schema)
        if not self.events.streaming:
            return schema
        return with_event_time(schema, told_later=is_told_later_than_end(self.choice.checked.query))

    def _result_of_groups(self, times: pa.DataType) -> T.StructType:
        """The schema of the rows of groups; positions mean nothing on Spark."""
        grouping = Grouping(ItemLookBack(self.choice.checked).checked, times, self.events.tick)
        rows = grouping.finished_or_none(grouping.nothing())
        schema = spark_schema(rows.drop_columns([c for c in grouping.by if c == POSITION]).schema)
        later = is_told_later_than_end(self.choice.checked.query)
        return with_event_time(schema, told_later=later) if self.events.streaming else schema

    @cached_property
    def recipe(self) -> Recipe:
        depends_on = tuple(self.recorded().items()) if self.events.streaming else ()
        given, result = self.pushdown.given, arrow_schema(self.result)
        times = in_zone(self.events.schema, self.zone).field(self.events.time).type
        return Recipe(self.choice, self.events.tick, given, result, depends_on, self.zone, mode=self.mode, times=times)

    def recorded(self) -> dict[str, str]:
        """What the state of a stream depends on besides the query: how events are read, and what is sent to Python."""
        events = self.events
        return {
            "time column": events.time,
            "type column": events.type or "",
            "tie-break column": events.tiebreak or "",
            "columns sent to Python": str(self.streamed.schema.simpleString()),
            "conditions evaluated by Spark": str(self.pushdown.given),
            **({} if self.mode is Mode.ENUMERATE else {"matches or detections": self.mode}),
        }

    @property
    def travelling(self) -> DataFrame:
        """The events that matter, with the columns that matter, as they are sent to Python."""
        frame, relevant = self.events.frame, self.pushdown.relevant
        if relevant is not None:
            frame = frame.filter(relevant | F.col(quoted(self.events.time)).isNull())
        return frame.select(*self._columns(self._time_or_error()))

    @property
    def streamed(self) -> DataFrame:
        """The same for a stream, which an event without a time must not stop: it is sent to Python to be counted."""
        frame, relevant, time = self.events.frame, self.pushdown.relevant, F.col(quoted(self.events.time))
        if relevant is not None:
            # The condition uses the time even if the column cannot be NULL: Spark would move a condition that does not
            # use it below the watermark, but all events must advance the watermark.
            relevant = relevant | (F.coalesce(F.unix_micros(time), F.lit(_NO_TIME)) == F.lit(_NO_TIME))
            promises = None if self.changing is None else self.changing.promises
            frame = frame.filter(relevant if promises is None else relevant | F.col(quoted(promises)).isNotNull())
        return frame.select(*self._columns(time))

    def _time_or_error(self) -> Column:
        name = self.events.time
        message = f"the time column '{name}' has a NULL value: an event without a time has no place in the stream"
        column = F.col(quoted(name))
        return F.coalesce(column, F.raise_error(F.lit(message)).cast(self.events.frame.schema[name].dataType))

    def _columns(self, time: Column) -> list[Column]:
        """The travelling columns."""
        # A query with CONSUME BY ANY is not shared out by its keys, and yet matches depend on them.
        down, keys = self.pushdown, {*self.layout.keys, *self.choice.keys}
        columns = [time.alias(TIME)]
        # Of an event that can only be skipped, no attribute is needed, unless all of them identify it.
        markable = down.markable if down.relevant is None and self.changing is None else None
        for a in self.attributes:
            column = column_of(a)
            if markable is not None and a not in keys | down.local_attributes:
                column = F.when(markable, column)
            columns.append(column.alias(travelling_name(a)))
        if down.word is not None:
            columns.append(down.word.alias(WORD))
        if self.changing is not None and self.changing.changes is not None:
            columns.append(F.col(quoted(self.changing.changes)).alias(DOES))
        if self.changing is not None and self.changing.promises is not None:
            columns.append(F.col(quoted(self.changing.promises)).cast("string").alias(PROMISE))
        if down.needs_type or down is NOTHING or self.changing is not None:
            columns.append(self.events.type_column.alias(TYPE))
        if self.events.tiebreak is not None:
            columns.append(F.col(quoted(self.events.tiebreak)).alias(TIE))
        if self.layout.keys:
            columns.append(F.hash(*map(column_of, self.layout.keys)).alias(HASH))
        return columns


def prepare(
    query: ast.Query,
    text: str,
    events: Frames,
    mode: Mode = Mode.ENUMERATE,
    changing: LiveOptions | None = None,
    zone: str | None = None,
    **reading: Unpack[Reading],
) -> Job:
    """Makes all decisions, and raises all errors that can be found before a job runs.

    `zone` is the one in which the query sees times, if others read the same events.
    """
    check(query, text)
    if query.aggregation is not None:
        mode = Mode.TOTALS
    if changing is not None and changing.disorder == "revise":
        hint = "leave disorder= out: a group is told when nothing can change it any more"
        refuse_aggregation(query, text, "disorder='revise' tells changes of single matches", hint)
    query, events = without_variants(query, text, events)
    matches = mode is not Mode.UNION  # what shows whole events needs all columns
    used = attributes_used(query) if matches else None
    if changing is not None and used is not None:
        used = used.union(changing.id or (), changing.about_rows)
    frames = read_frames(events, query.streams, used, **reading)
    if frames.streaming:
        check_stream(frames)
    # Spark SQL shows times in the session's zone; nothing else may depend on it, so that it can change.
    zone = zone or (session_zone(frames.frame.sparkSession) if reads_wall_clock(query) else "UTC")
    schema = as_schema(frames, zone)
    tying = query.aggregation is None or not frames.streaming  # a group of a stream is in one bucket
    choice = with_sorting_columns(chosen(query, text, schema, frames.tick, reading, tying=tying))
    layout, looking_back = batch_layout(choice, frames.tick), matches and looks_back(*items_of(query))
    files: ReadByTasks | str = "" if frames.streaming else _by_tasks(frames, choice, layout, mode, looking_back)
    pushdown = NOTHING
    plan = _pushed_down(choice, frames)
    if plan is not None and isinstance(files, ReadByTasks):
        pushdown = nothing_pushed_down(plan, items_look_back=looking_back)
    elif plan is not None:
        pushdown = push_down(plan, frames, schema, items_look_back=looking_back)
    attributes = _travelling(choice, pushdown, frames, mode, changing)
    frames = with_key_columns(frames, query, schema, zone)
    return Job(frames, choice, pushdown, layout, attributes, zone, mode, changing, files)


def _by_tasks(events: EventFrame, choice: Choice, layout: Layout, mode: Mode, looking_back: bool) -> ReadByTasks | str:
    """How the tasks read the files of the events themselves, or why they do not."""
    if choice.plan is None:
        return "the reference evaluates the query" if choice.engine == "reference" else choice.without_plan
    pushdown = NOTHING
    if _pushed_down(choice, events) is not None:
        pushdown = nothing_pushed_down(choice.plan, items_look_back=looking_back)
    try:
        return read_by_tasks(events, pushdown, layout, _travelling(choice, pushdown, events, mode, None))
    except LeftToSpark as e:
        return str(e)


def _pushed_down(choice: Choice, frames: EventFrame) -> Plan | None:
    """The plan whose conditions the JVM may evaluate; None where all events matter.

    With a deadline each one advances time, any one may close a window, and EXPECT speaks of all events of a stream.
    """
    watched = frames.streaming and choice.watching is not None
    if choice.plan is None or choice.plan.absence is not None or choice.plan.waits or watched:
        return None
    return choice.plan


def _travelling(
    choice: Choice, pushdown: Pushdown, events: EventFrame, mode: Mode, changing: LiveOptions | None
) -> list[str]:
    """The user's columns that Python needs."""
    not_sent = frozenset[str]()
    if changing is not None:  # all that the query uses of an event identifies it
        not_sent = changing.about_rows
        asked = {"id": changing.id or (), "change": (changing.changes,), "promise": (changing.promises,)}
        for role, name in ((role, name) for role, names in asked.items() for name in names if name is not None):
            check_column(events.attributes, name, role)
        used = attributes_used(choice.checked.query)
        used = None if used is None else used.union(changing.id or (), filter(None, [events.tiebreak]))
    elif mode is Mode.UNION:
        used = None
    elif _pushed_down(choice, events) is not None:
        used = choice.attributes_kept
        used = None if used is None else used.union(pushdown.local_attributes, choice.keys)
    else:
        used = attributes_used(choice.evaluated.query)
    computed = [k.attribute for k in choice.checked.query.partition if k.expression is not None]
    return [*(a for a in events.attributes if (used is None or a in used) and a not in not_sent), *computed]
