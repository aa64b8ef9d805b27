"""What `explain_sql` says of clauses over Spark DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ensue.row_patterns.explaining import explain_clause
from ensue.spark.recognize.clause_job import ClauseJob, SparkOptions
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
    return "\n".join(["on Spark", *lines])


def _shared_out(job: ClauseJob) -> str:
    if not job.clause.partition:
        return "one task for all rows: there is no PARTITION BY"
    return f"by {', '.join(job.clause.partition)}, in buckets"


def _shown(column: str) -> str:
    return "a computed key" if column.startswith("\0") else column
