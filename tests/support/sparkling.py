"""Runs many queries in one Spark job or one stream, and compares each with the reference.

A job takes half a second and a stream several seconds, whatever they do. So the results of many queries are reduced to
(number of the case, row as JSON) and joined by UNION ALL into one action, or one streaming query with one checkpoint.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, reduce
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import ensue
from ensue.columns.key_columns import with_keys
from ensue.data.complex_events import merged_by_end
from ensue.data.events import read_events
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.reference import evaluate
from ensue.language import ast
from ensue.language.ast import NANOSECONDS
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.logic.classify import deadline_of
from ensue.own.registry import bound
from ensue.results.detections import Detections
from ensue.results.matches import Matches
from ensue.spark.type_mapping import spark_schema

#: The place of an event in the order of the stream; it distinguishes events that are otherwise equal.
NTH = "nth"
START = datetime(2024, 1, 1, tzinfo=UTC)
#: A time after all events of every case, which lets the watermark pass all of them.
FAR = datetime(2100, 1, 1, tzinfo=UTC)
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}


@dataclass(frozen=True)
class Case:
    """A query over a table, with the options of `run`."""

    name: str
    text: str
    table: pa.Table
    options: dict[str, Any]
    goes_on: bool = False  # as in a stream, where time goes on after the last event, so that all deadlines pass
    detects: bool = False  # its rows are those of `detect`, with the places of the events that took part

    @property
    def time(self) -> str:
        return str(self.options.get("time", "time"))

    @cached_property
    def limited(self) -> bool:
        return parse_query(self.text).limit is not None

    @cached_property
    def expected(self) -> Counter[str]:
        """The rows that the reference gives."""
        return self._rows(parse_query(self.text))

    def matches(self, engine: str = "reference") -> ensue.Matches:
        return ensue.query(self.text).run(self.table, **self.options, engine=engine)

    @cached_property
    def unlimited(self) -> Counter[str]:
        """The rows that the reference gives for the query without its LIMIT."""
        return self._rows(replace(parse_query(self.text), limit=None))

    def _rows(self, tree: ast.Query) -> Counter[str]:
        tree = bound(tree, self.text, {})
        query = ensue.Query(self.text, tree)
        if not self.goes_on or deadline_of(tree.pattern) is None:
            if self.detects:
                return _of_detections(query.detect(self.table, **self.options, engine="reference"))
            return rows_of(query.run(self.table, **self.options, engine="reference").to_arrow())
        stream = read_events(self.table, tree.streams, **self.options)
        checked = check(tree, self.text, stream.schema)
        stream = with_keys(stream, tree)
        found = evaluate(checked, stream, passed=int(FAR.timestamp()) * 10**6)
        if self.detects:
            return _of_detections(Detections(checked, stream, merged_by_end(found)))
        look_back = ItemLookBack(checked)
        return rows_of(Matches(look_back.checked, look_back.extended(stream), found).to_arrow())


def _of_detections(found: Detections) -> Counter[str]:
    return rows_of(found.to_arrow().drop_columns(["position"]))


def found_by(case: Case, events: DataFrame, **options: Any) -> DataFrame:
    """The rows of the case on Spark; a detection shows the places of its events in place of the events."""
    query = ensue.query(case.text)
    if not case.detects:
        rows: DataFrame = query.run(events, **case.options, **options)
        return rows
    found: DataFrame = query.detect(events, **case.options, **options)
    return found.withColumn("took_part", F.transform("took_part", lambda event: event.getField(NTH)))


def case_of(name: str, text: str, events: Any, **options: Any) -> Case:
    """A case whose events are in the order of the stream, with their places in it. Rows without a time get one."""
    query = parse_query(text)
    if options.get("time", "time") is None:
        table = events if isinstance(events, pa.Table) else _table(events)
        events = table.append_column("time", pa.array(range(len(table)), pa.int64()))
        options = {k: v for k, v in options.items() if k != "time"}
    stream = read_events(events, query.streams, **options)
    table = stream.table.append_column(NTH, pa.array(range(len(stream)), pa.int64()))
    return Case(name, text, table, {k: v for k, v in options.items() if k != "tiebreak"})


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """A table of rows, some of which may lack keys of others."""
    return pa.Table.from_pylist([{k: r.get(k) for r0 in rows for k in r0} for r in rows])


def on_a_clock(case: Case) -> Case:
    """The same case for a stream: its times are timestamps, and a tie-break column gives the order."""
    times = case.table.column(case.time)
    if pa.types.is_timestamp(times.type):
        made = times.cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    else:
        tick = NANOSECONDS[case.options.get("unit") or "s"]
        made = pa.array(
            [START + timedelta(microseconds=_exactly(t * tick, 1000)) for t in times.to_pylist()],
            pa.timestamp("us", "UTC"),
        )
    at = case.table.column_names.index(case.time)
    options = {k: v for k, v in case.options.items() if k != "unit"} | {"tiebreak": NTH}
    return replace(case, table=case.table.set_column(at, case.time, made), options=options, goes_on=True)


def _exactly(value: int, unit: int) -> int:
    if value % unit:
        raise ValueError("finer than a microsecond, which is Spark's finest")
    return value // unit


# ---------------------------------------------------------------- rows as text


def rows_of(table: pa.Table) -> Counter[str]:
    """The rows as JSON, in the form of Spark's `to_json`."""
    return Counter(json.dumps([_plain(v) for v in row.values()]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {k: _plain(v) for k, v in value.items()}
        case [tuple(), *_]:  # a map, as Arrow gives it
            return {k: _plain(v) for k, v in value}
        case list():
            return [_plain(v) for v in value]
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%S.%f")
        case date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return float(value)
        case float() if value != value or value in (float("inf"), float("-inf")):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


def as_json(matches: DataFrame, number: int) -> DataFrame:
    """The rows with the number of their case."""
    row = F.to_json(F.struct("*"), {**_TIMES, "ignoreNullFields": "false"})
    return matches.select(F.lit(number).alias("number"), row.alias("row"))


def counted(rows: Iterable[Any], cases: int) -> list[Counter[str]]:
    """The collected rows of each case."""
    found: list[Counter[str]] = [Counter() for _ in range(cases)]
    for number, row in rows:
        found[number][json.dumps(list(json.loads(row).values()))] += 1
    return found


def differences(cases: Sequence[Case], found: Sequence[Counter[str]]) -> list[str]:
    """Texts that say what differs from the reference. With LIMIT, the rows may be others, but as many for each end."""
    told = []
    for case, rows in zip(cases, found, strict=True):
        if not case.limited and rows != case.expected:
            missing, more = case.expected - rows, rows - case.expected
            told.append(f"{case.name}\n{case.text}\nmissing {_few(missing)}\ntoo many {_few(more)}")
        if case.limited and (rows - case.unlimited or ends(rows, case) != ends(case.expected, case)):
            told.append(f"{case.name}\n{case.text}\nwanted {_few(case.unlimited)}\nfound {_few(rows)}")
    return told


def ends(rows: Counter[str], case: Case) -> Counter[str]:
    """The number of matches for each key and end."""
    at = len(parse_query(case.text).partition) + 1
    found: Counter[str] = Counter()
    for row, n in rows.items():
        values = json.loads(row)
        found[json.dumps(values[: at - 1] + values[at : at + 1])] += n
    return found


def _few(rows: Counter[str]) -> list[str]:
    return sorted(rows.elements())[:4]


# ---------------------------------------------------------------- in batch


def run_in_batch(
    spark: SparkSession, cases: Sequence[Case], frames: Sequence[DataFrame] | None = None
) -> list[Counter[str]]:
    """The rows of every case, from one Spark job; `frames` are the cases' events if they are not made here."""
    parts = []
    for i, case in enumerate(cases):
        frame = frame_of(spark, case.table) if frames is None else frames[i]
        parts.append(as_json(found_by(case, frame), i))
    return counted(reduce(DataFrame.unionAll, parts).collect(), len(cases))


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The table as a DataFrame. A column without any value becomes one of integers."""
    table = with_types(table)
    # Without a schema, Spark would give a zone to times that have none.
    return spark.createDataFrame(table, spark_schema(table.schema))


def with_types(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([f.with_type(pa.int64()) if pa.types.is_null(f.type) else f for f in table.schema]))


# ---------------------------------------------------------------- as a stream

#: One source for all cases: the number of the case, the event's time, the event.
SOURCE = "number int, at timestamp, event string"


def run_as_stream(
    spark: SparkSession, cases: Sequence[Case], folder: Path, rng: Random, *, files: int = 4, disorder: float = 3.0
) -> list[Counter[str]]:
    """The rows of every case, from one streaming query over files with events out of order.

    Each file is a micro-batch. An event is sent up to `disorder` seconds after its time. The watermark waits slightly
    longer. So no event is late, and while the stream runs, the watermark passes some events and holds others back.
    """
    cases = [replace(c, table=with_types(c.table)) for c in cases]
    write_files(cases, folder / "source", rng, files, disorder)
    source = spark.readStream.schema(SOURCE).option("maxFilesPerTrigger", 1).parquet(str(folder / "source"))
    source = source.withWatermark("at", f"{int(disorder * 1000) + 1} milliseconds")
    parts = []
    for i, case in enumerate(cases):
        events = events_of(source, case, i)
        matches = found_by(case, events, unbounded=True, buckets=4, name=f"case_{i}")
        parts.append(as_json(matches, i))
    sink = folder / "sink"
    started = (
        reduce(DataFrame.unionAll, parts)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(sink))
    )
    started.awaitTermination()
    return counted(spark.read.schema("number int, row string").parquet(str(sink)).collect(), len(cases))


def events_of(source: DataFrame, case: Case, number: int) -> DataFrame:
    """The events of one case in the shared source."""
    schema = spark_schema(case.table.drop_columns([case.time]).schema)
    # The condition on the time keeps Spark from moving the filter below the watermark, which all cases share.
    mine = source.filter((F.col("number") == number) | F.col("at").isNull())
    event = F.from_json("event", schema, {**_TIMES, "mode": "FAILFAST"})
    columns = [F.col("at").alias(n) if n == case.time else event.getField(n).alias(n) for n in case.table.column_names]
    return mine.select(*columns)


def write_files(cases: Sequence[Case], folder: Path, rng: Random, files: int, disorder: float) -> None:
    """Writes the events of all cases into files in the order of sending, then one event far in the future."""
    folder.mkdir(parents=True)
    sent: list[tuple[datetime, int, datetime, str | None]] = []
    for i, case in enumerate(cases):
        times = case.table.column(case.time).to_pylist()
        for at, event in zip(times, case.table.drop_columns([case.time]).to_pylist(), strict=True):
            text = json.dumps({k: _plain(v) for k, v in event.items()})
            sent.append((at + timedelta(seconds=rng.uniform(0, disorder)), i, at, text))
    sent.sort(key=lambda row: row[0])
    cuts = [0, *sorted(rng.randrange(len(sent) + 1) for _ in range(files - 1)), len(sent)]
    batches = [[row[1:] for row in sent[a:b]] for a, b in itertools.pairwise(cuts)]
    for batch in batches:
        rng.shuffle(batch)
    batches.append([(-1, FAR, None)])
    for k, rows in enumerate(batches):
        write_file(folder / f"{k:03}.parquet", rows, k)


def write_file(path: Path, rows: Sequence[tuple[int, datetime, str | None]], nth: int) -> None:
    """Writes one file of the source. Spark reads the files in the order of their times."""
    schema = pa.schema([("number", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("event", pa.string())])
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    hidden = path.with_name(f".{path.name}")  # the source reads no file whose name begins with a dot
    pq.write_table(pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema), hidden)
    os.utime(hidden, (1_700_000_000 + nth, 1_700_000_000 + nth))
    hidden.rename(path)
