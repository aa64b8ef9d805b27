"""What `explain_sql` says of clauses over Spark DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ensue.errors import counted
from ensue.row_patterns.arriving_rows import rows_ahead, rows_behind
from ensue.row_patterns.explaining import explain_clause
from ensue.spark.recognize.clause_job import ClauseJob, SparkOptions
from ensue.spark.recognize.rows_from_files import RowsFromFiles
from ensue.spark.recognize.sql_on_spark import jobs_of


def explain_on_spark(text: str, given: Mapping[str, Any]) -> str:
    """How each clause is evaluated, and what Spark does for it."""
    return "\n".join(f"{explain_clause(job.plan)}\n{_on_spark(job)}" for job in jobs_of(text, given, SparkOptions()))


def _on_spark(job: ClauseJob) -> str:
    lines = [
        f"  runs        {'stream' if job.frame.isStreaming else 'batch'}",
        f"  shared out  {_shared_out(job)}",
        f"  columns     {', '.join(map(_shown, job.used)) or 'none'}",
    ]
    if not job.frame.isStreaming:
        read_by = job.files if isinstance(job.files, RowsFromFiles) else f"Spark: {job.files}"
        lines.append(f"  read by     {read_by}")
    if job.frame.isStreaming:
        lines += [f"  keeps       {kept}" for kept in _kept(job)]
    return "\n".join(["on Spark", *lines])


def _kept(job: ClauseJob) -> list[str]:
    """What the state of the stream has, and why it may grow."""
    behind, ahead = rows_behind(job.plan), rows_ahead(job.plan)
    said = ["the rows from the first one on of which it is not decided what begins there"]
    if behind:
        said.append(f"{counted(behind, 'row')} of each key before them, for PREV, MATCH_NUMBER() or ^: for ever")
    if ahead:
        said.append(f"{counted(ahead, 'row')} of each key that NEXT asks for: until then, nothing is told")
    if job.is_unbounded:
        said.append("maybe many: a match has no bound. WITHIN INTERVAL '10' MINUTE behind the pattern gives it one")
    return said


def _shared_out(job: ClauseJob) -> str:
    if not job.clause.partition:
        return "one task for all rows: there is no PARTITION BY"
    return f"by {', '.join(job.clause.partition)}, in buckets"


def _shown(column: str) -> str:
    return "a computed key" if column.startswith("\0") else column
