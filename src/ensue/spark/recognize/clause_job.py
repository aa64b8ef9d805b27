"""One clause over one DataFrame: every check that can be made before a job runs, and which columns travel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue.data.events import log
from ensue.errors import Problem, ProblemKind, QueryError, Span
from ensue.language import ast
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.check_clause import COMPUTED, check_clause
from ensue.row_patterns.match_finding import Plan
from ensue.row_patterns.match_terms import Aggregate, CheckedClause, Formula, Navigation
from ensue.row_patterns.result_rows import BUDGET, recognize_rows
from ensue.row_patterns.sql_tokens import tokens_of
from ensue.spark.bucket_count import BucketCount
from ensue.spark.chaining import is_behind_operator
from ensue.spark.crossing import compacted
from ensue.spark.frames import EventFrame, check_stream, final_after
from ensue.spark.packing import PACKED, Packer
from ensue.spark.plain_columns import OWN, quoted, with_plain_columns
from ensue.spark.plain_scan import LeftToSpark
from ensue.spark.recipe import HASH, TIME, travelling_name
from ensue.spark.recognize.row_recipe import RecognizeBuckets, RowRecipe
from ensue.spark.recognize.rows_from_files import RowsFromFiles, rows_from_files
from ensue.spark.recognize.times_as_in_spark import with_session_zone
from ensue.spark.session_zone import session_zone
from ensue.spark.streaming import BucketProcessor, run_streaming
from ensue.spark.task_memory import memory_of_tasks
from ensue.spark.type_mapping import arrow_schema, in_zone, spark_schema


@dataclass(frozen=True)
class SparkOptions:
    """What a query may be told on Spark."""

    steps: int = BUDGET
    memory: str | int | None = None
    buckets: int | None = None
    alone: bool = False
    name: str = "ensue"


@dataclass(frozen=True)
class ClauseJob:
    """A clause over a DataFrame whose columns have the names that `spark_names` gives for those of the clause."""

    frame: DataFrame
    plan: Plan
    written: str  # without spaces and comments
    schema: pa.Schema
    spark_names: Mapping[str, str]
    options: SparkOptions

    @property
    def clause(self) -> CheckedClause:
        return self.plan.clause

    def run(self) -> DataFrame:
        """The rows of the clause, lazily."""
        session = self.frame.sparkSession
        recipe = replace(self.recipe, memory=memory_of_tasks(session, self.options.memory))
        if self.frame.isStreaming:
            return self._stream(recipe)
        tasks = int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        packer = Packer(BucketCount(tasks if self.clause.partition else 1, 0))
        if isinstance(self.files, RowsFromFiles):
            packed = self.files.packed(self.frame, packer)
        else:
            packed = compacted(self.travelling).mapInArrow(packer, PACKED)
        return packed.repartition("bucket").mapInArrow(RecognizeBuckets(recipe), self.result)

    def _stream(self, recipe: RowRecipe) -> DataFrame:
        events = self.checked_stream()
        if self.is_unbounded:
            log.warning(
                "the pattern (%s) has no bound: rows wait in the state of the stream until it is decided whether they "
                "match. WITHIN INTERVAL '10' MINUTE behind it gives it one",
                self.clause.text[self.clause.pattern.span.start : self.clause.pattern.span.end],
            )
        after = final_after(events) if self.options.alone else None
        behind = is_behind_operator(events.frame, events.time)
        buckets = BucketCount.of(self.frame, self.options.buckets)
        processor = BucketProcessor(recipe, buckets, after, behind_operator=behind)
        return run_streaming(self.travelling, processor, self.result, name=self.options.name)

    def checked_stream(self) -> EventFrame:
        """The stream with its time column, the first one of ORDER BY; refuses what a stream cannot have."""
        clause = self.clause
        for end in ast.find(clause.pattern, rows.PartitionEnd):
            hint = "WITHIN INTERVAL '10' MINUTE behind the pattern bounds a match in time"
            raise self._error("a stream has no last row: $ never holds", end.span, hint)
        if clause.frames:
            hint = "PREV(x), and aggregates over rows of the match, can"
            raise self._error("OVER (ROWS ...) cannot be over a stream", clause.pattern.span, hint)
        first = clause.order[0] if clause.order else None
        if first is None or first.descending or first.column.startswith(COMPUTED):
            what = "there is no ORDER BY" if first is None else "its first column has another order"
            message = f"on a stream, ORDER BY begins with the column of the watermark, ascending: {what}"
            raise self._error(message, clause.pattern.span, 'write ORDER BY time, of df.withWatermark("time", ...)')
        time = self.spark_names[first.column]
        events = EventFrame(self.frame, tuple(self.frame.columns), time, None, "", None, None)
        check_stream(events)
        return events

    def _error(self, message: str, span: Span, hint: str) -> QueryError:
        return QueryError(self.clause.text, [Problem(ProblemKind.UNSUPPORTED, message, span, hint)])

    @property
    def is_unbounded(self) -> bool:
        """Whether a match may take any number of rows."""
        loops = ast.find(self.clause.pattern, rows.Quantified)
        return self.clause.within is None and any(q.high is None for q in loops)

    @cached_property
    def used(self) -> list[str]:
        """The columns of the table that Python needs."""
        clause = self.clause
        used = {*clause.partition, *(k.column for k in clause.order), *clause.shown_first, *clause.columns}
        for formula in (*clause.conditions.values(), *(m.formula for m in clause.measures)):
            used.update(_columns_of(formula))
        for frame in clause.frames:
            used.update(chain.from_iterable(v.columns for v in frame.aggregate.values))
        return [n for n in self.schema.names if n in used]

    @cached_property
    def time(self) -> str | None:
        """The first column of ORDER BY, if it is of instants: it crosses to Python as a number."""
        first = self.clause.order[0].column if self.clause.order else None
        if first is None or not isinstance(self.frame.schema[self.spark_names[first]].dataType, T.TimestampType):
            return None
        return first

    @cached_property
    def names_on_the_way(self) -> dict[str, str]:
        """What the columns that Python needs are called on their way, by the names of the DataFrame."""
        return {self.spark_names[n]: TIME if n == self.time else travelling_name(n) for n in self.used}

    @cached_property
    def files(self) -> RowsFromFiles | str:
        """How the tasks of a batch read the files of the table themselves, or why Spark reads them."""
        try:
            return rows_from_files(
                self.frame, self.names_on_the_way, [self.spark_names[k] for k in self.clause.partition]
            )
        except LeftToSpark as e:
            return str(e)

    @property
    def travelling(self) -> DataFrame:
        """The columns as they are sent to Python."""
        columns = [F.col(quoted(name)).alias(own) for name, own in self.names_on_the_way.items()]
        if self.clause.partition:
            columns.append(F.hash(*(F.col(quoted(self.spark_names[k])) for k in self.clause.partition)).alias(HASH))
        if not columns:  # Spark has no rows without columns
            columns.append(F.lit(True).alias(f"{OWN}row"))
        return self.frame.select(*columns)

    @cached_property
    def result(self) -> T.StructType:
        """The columns of the result."""
        return spark_schema(recognize_rows(self.plan, self.schema.empty_table()).schema)

    @cached_property
    def recipe(self) -> RowRecipe:
        schema = pa.schema([self.schema.field(n) for n in self.used])
        recorded = (
            ("clause", hashlib.sha256(self.written.encode()).hexdigest()[:16]),
            ("columns sent to Python", self.travelling.schema.simpleString()),
        )
        return RowRecipe(self.plan, self.time, schema, arrow_schema(self.result), self.options.steps, recorded)


def prepare(
    clause: rows.MatchRecognize,
    text: str,
    frame: DataFrame,
    alias: str | None,
    computed: Mapping[str, str],
    options: SparkOptions,
) -> ClauseJob:
    """Checks the clause. `computed` is what the clause calls the columns that were computed for it."""
    named = _named_in(clause)
    used = None if named is None else frozenset(c for c in frame.columns if c.lower() in named or c in computed)
    frame = with_plain_columns(frame, used)
    zone = session_zone(frame.sparkSession)
    schema = in_zone(arrow_schema(frame.schema), zone)
    schema = pa.schema([f.with_name(computed.get(f.name, f.name)) for f in schema])
    clause = with_session_zone(clause, schema, zone)
    checked = check_clause(clause, text, schema, alias=alias, nulls_first=True)
    names = dict(zip(schema.names, frame.columns, strict=True))
    written = " ".join(token.text for token in tokens_of(text[clause.span.start : clause.span.end]))
    return ClauseJob(frame, Plan.of(checked), written, schema, names, options)


def _named_in(clause: rows.MatchRecognize) -> frozenset[str] | None:
    """The names of all columns that the clause may use, in small letters; None if it shows all."""
    if clause.rows is not rows.RowsPerMatch.ONE:
        return None
    found: set[str] = set()
    for node in ast.walk(clause):
        match node:
            case ast.Name():
                found.add(node.name.lower())
            case ast.Attribute():  # the name before the dot may be that of a column of structs
                found.update((node.name.lower(), node.variable.lower()))
    return frozenset(found)


def _columns_of(formula: Formula) -> Iterator[str]:
    """The columns that a condition or a measure reads."""
    for term in formula.terms.values():
        match term:
            case Navigation():
                yield from term.value.columns
            case Aggregate():
                for value in (*term.arguments, *term.values):
                    yield from value.columns
