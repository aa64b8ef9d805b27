"""Decides whether the tasks of a batch read its files themselves, and which task reads what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import types as T

from ensue.spark.file_reading import FileReader
from ensue.spark.file_stretches import Stretch, stretches, whole
from ensue.spark.frames import EventFrame
from ensue.spark.layout import Layout
from ensue.spark.parquet_footers import read_footers
from ensue.spark.plain_scan import LeftToSpark, plain_scan
from ensue.spark.pushdown import Pushdown
from ensue.spark.relevance import Relevance
from ensue.spark.type_mapping import arrow_schema


@dataclass(frozen=True)
class ReadByTasks:
    """The files, and a stretch of time for each task."""

    reader: FileReader
    stretches: tuple[Stretch, ...]
    relevance: Relevance | None  # None: every event may change something

    def __str__(self) -> str:
        files = len(self.reader.files)
        return f"{files:,} file{'' if files == 1 else 's'}"


def read_by_tasks(events: EventFrame, down: Pushdown, layout: Layout, attributes: Sequence[str]) -> ReadByTasks:
    """How the tasks read the files; raises LeftToSpark with the reason why Spark reads them."""
    try:
        return _read_by_tasks(events, down, layout, attributes)
    except (Py4JError, PySparkException) as e:  # some clusters allow few calls, and versions of Spark differ
        raise LeftToSpark(f"Spark does not show its plan here ({type(e).__name__})") from None


def _read_by_tasks(events: EventFrame, down: Pushdown, layout: Layout, attributes: Sequence[str]) -> ReadByTasks:
    if any(a.startswith("\0") for a in attributes):
        raise LeftToSpark("a key of PARTITION BY is computed")
    if layout.slices is not None and layout.slices.past:
        raise LeftToSpark("a first pass tells what stands before each slice")
    if layout.slices is None and not layout.one_task:
        raise LeftToSpark("the events of a key come together by a shuffle")
    used = [events.time, *attributes, *(c for c in (events.type, events.tiebreak) if c is not None)]
    scan = plain_scan(events.frame, list(dict.fromkeys(used)))
    footers = read_footers(scan, events.time)
    if layout.slices is None:
        made = [whole(footers.groups)]
    else:
        tasks = events.frame.sparkSession.sparkContext.defaultParallelism
        made = stretches(footers.groups, layout.slices.window, tasks)
    columns = arrow_schema(T.StructType([T.StructField(c.name, c.type) for c in scan.columns]))
    reader = FileReader(
        footers.files, columns, tuple(attributes), events.time, events.type, events.stream, events.tiebreak
    )
    relevance = None if down.changing is None else Relevance(tuple(down.changing))
    return ReadByTasks(reader, tuple(made), relevance)
