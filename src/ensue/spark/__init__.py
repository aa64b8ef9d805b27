"""Queries over Spark DataFrames, batch and streaming: the same meaning, with Spark's shuffles, state and recovery.

frames             the user's DataFrames: columns, types, watermark, several streams merged
pushdown           what the JVM evaluates: predicates as bits of one word, events that change nothing filtered out
conditions_in_sql  conditions as Spark SQL, with exactly our meaning
prerequisites      what a session must have, set where that does no harm
layout             how the events are distributed: by key, by time slices, or not at all, and why
read_by_tasks      whether the tasks of a batch read its Parquet files themselves, and which task reads what
packing            rows as Arrow blobs, one for each bucket, so that few rows cross the shuffle
batch              a lazy DataFrame of matches over a finite DataFrame
streaming          the same over a stream, with its state in Spark's own state store
several_queries    several queries over one stream, which may come and go while it runs
recognize          MATCH_RECOGNIZE: each clause becomes a DataFrame, and Spark runs the SQL around it
session            a session for the demo, the command line and the tests
deferred           answers what Spark asks of a stream before its first event, without loading the rest
running_page       a page that shows a running query, and loads itself anew
files              reads files and hands over matches for the command line
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ensue.spark.running_page import keep_progress_page, progress_page
    from ensue.spark.session import local_session

__all__ = ["keep_progress_page", "local_session", "progress_page"]


def __getattr__(name: str) -> Any:
    if name == "local_session":  # loaded when it is first used: see ensue/__init__.py
        from ensue.spark.session import local_session

        return local_session
    if name in ("keep_progress_page", "progress_page"):
        from ensue.spark import running_page

        return getattr(running_page, name)
    raise AttributeError(f"module 'ensue.spark' has no attribute '{name}'")
