"""What lets operators with state follow one another in a stream: matches of matches, Spark's aggregations of matches.

Spark gives each operator of a chain its own watermark. It finds the time column of an operator by metadata on this
column. `withWatermark` would also set it, but it would add a watermark that only advances with the matches themselves,
and Spark waits for the slowest watermark: nothing would ever be released. So the results carry the metadata themselves.

In a micro-batch, an operator releases what the watermark has just passed. Where its rows arrive as events, they are
therefore not late, although the watermark has passed them.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ensue.errors import EngineError

#: The metadata of the time column in which Spark keeps the delay of a watermark.
WATERMARK = "spark.watermarkDelayMs"
#: Our own metadata: the rows are matches, which are reported when they end, or later, when a deadline has passed.
_MATCHES, _TOLD_LATER = "ensue.matches", "ensue.told_later"
#: Spark's logical operators that keep state; a join does if both of its sides are streams.
_STATEFUL = {
    "Aggregate",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Distinct",
    "FlatMapGroupsInPandasWithState",
    "FlatMapGroupsWithState",
    "TransformWithState",
    "TransformWithStateInPySpark",
}


def with_event_time(result: T.StructType, *, told_later: bool) -> T.StructType:
    """The schema of a stream of matches, with `end_time` as its event time if matches are reported when they end."""
    metadata = {_TOLD_LATER: True} if told_later else {WATERMARK: 0, _MATCHES: True}
    fields = [
        T.StructField(f.name, f.dataType, f.nullable, metadata) if f.name == "end_time" else f for f in result.fields
    ]
    return T.StructType(fields)


def is_told_later(field: T.StructField) -> bool:
    """Whether this is the end of matches that are reported later: when a deadline has passed, or a window is closed."""
    return _TOLD_LATER in field.metadata


def is_event_time(field: T.StructField) -> bool:
    """Whether this is the end of matches, by which the operators that follow can tell the time."""
    return _MATCHES in field.metadata and field.metadata[WATERMARK] == 0


def has_second_watermark(field: T.StructField) -> bool:
    """Whether `withWatermark` was called for the end of matches."""
    return _MATCHES in field.metadata and field.metadata[WATERMARK] != 0


def is_behind_operator(frame: DataFrame, time: str) -> bool:
    """Whether the rows of a stream come from an operator with state; over Spark Connect only ours are recognised."""
    if _MATCHES in frame.schema[time].metadata:
        return True
    inner = getattr(frame, "_jdf", None)
    return inner is not None and _has_state(inner.queryExecution().analyzed())


def check_name(frame: DataFrame, name: str) -> None:
    """Refuses the name of a query that comes earlier in the same stream; Spark Connect refuses it at the start."""
    if name in names_of_metrics(frame):
        raise EngineError(
            f"two queries in one stream have the name '{name}', under which their metrics are reported: give this one "
            "another, with name='...'"
        )


def names_of_metrics(frame: DataFrame) -> set[str]:
    """The names under which queries in this stream report their metrics."""
    inner = getattr(frame, "_jdf", None)
    return set() if inner is None else _observed(inner.queryExecution().analyzed())


def _observed(plan: Any) -> set[str]:
    """The names of the metrics in a plan."""
    own = {str(plan.name())} if plan.nodeName() == "CollectMetrics" else set()
    children = (plan.children().apply(i) for i in range(plan.children().size()))
    return own.union(*map(_observed, children))


def _has_state(plan: Any) -> bool:
    if not plan.isStreaming():
        return False
    children = [plan.children().apply(i) for i in range(plan.children().size())]
    if plan.nodeName() in _STATEFUL or (plan.nodeName() == "Join" and all(c.isStreaming() for c in children)):
        return True
    return any(map(_has_state, children))
