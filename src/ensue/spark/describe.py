"""Describes what Spark does for a query, and prints Spark's own plan."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from pyspark.sql import DataFrame

from ensue.data.reading import Reading
from ensue.explain import explain
from ensue.language import ast
from ensue.language.printer import print_sort_key
from ensue.logic.partition_keys import column_shown
from ensue.spark.frames import Frames
from ensue.spark.read_by_tasks import ReadByTasks
from ensue.spark.run import Job, OfStream, prepare, run


def explain_on_spark(
    query: ast.Query,
    text: str,
    events: Frames,
    *,
    verbose: bool = False,
    reading: Reading,
    **spark: Any,
) -> str:
    """The text of `explain`, followed by what Spark does for the query over these events."""
    job = prepare(query, text, events, changing=spark.get("changing"), **reading)
    options: dict[str, Any] = {name: spark.pop(name) for name in ("memory", "closed") if name in spark}
    matches = run(query, text, events, of_stream=OfStream(**spark), **options, **reading)
    more = {"spark": describe(job), "spark's plan": spark_plan(matches)}
    return explain(job.choice, verbose=verbose, more=more)


def describe(job: Job) -> list[str]:
    """One line for each decision."""
    down = job.pushdown
    lines = [f"runs          {'stream' if job.events.streaming else 'batch'}", f"shared out    {_shared_out(job)}"]
    if not job.events.streaming:
        lines.append(f"read by       {_read_by(job)}")
    lines.append(f"in the JVM    {', '.join(map(str, down.bits)) or 'no condition'}")
    if down.local:
        lines.append(f"in Python     {', '.join(map(str, down.local))}")
    if job.choice.runs is not None:
        lines.append("in Python     all: the register is asked there")
    elif job.choice.layers is not None:
        lines.append("in Python     all: what the parts find is put together there")
    elif job.choice.plan is None:
        lines.append(f"in Python     all, by the reference: {job.choice.because}")
    lines.append(f"events        {down.kept}")
    carried = ", ".join(map(column_shown, job.attributes)) or "none but the time"
    lines.append(f"columns       {carried}")
    if down.relevant is None and down.markable is not None:
        lines.append("              NULL in events that no match shows")
    if job.choice.expectation is not None and not job.events.streaming:
        lines.append("unexpected    not counted in a batch")
    return lines + _rows(job.choice.checked.query)


def _read_by(job: Job) -> str:
    if isinstance(job.files, ReadByTasks):
        return f"the tasks themselves, from {job.files}"
    return f"Spark: {job.files}"


def _rows(query: ast.Query) -> list[str]:
    """What Spark does with the rows of the tasks."""
    if query.aggregation is not None:
        own = "as the tasks give them: each end is in one" if query.aggregation.per_end else "put together by one task"
        return [f"groups        {own}"]
    keys = ", ".join(print_sort_key(k) for k in query.order) or "end_time"
    if query.limit is not None and query.per is ast.Per.RESULT:
        return [f"rows          the first {query.limit} by {keys}"]
    return [f"rows          sorted by {keys}"] if query.order else []


def _shared_out(job: Job) -> str:
    if isinstance(job.files, ReadByTasks) and job.layout.slices is not None:
        tasks = len(job.files.stretches)
        return f"by time, in {tasks} stretches" if tasks > 1 else "one task for all: there are few events"
    if not job.events.streaming:
        return str(job.layout)
    if not job.layout.keys:
        return "one task for all: a stream without PARTITION BY has one state"
    return f"by {', '.join(map(column_shown, job.layout.keys))}, in buckets"


def spark_plan(frame: DataFrame) -> list[str]:
    """Spark's own plan, as `DataFrame.explain` prints it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain()
    return [line for line in printed.getvalue().splitlines() if line.strip()]
