"""`live`, `run` and `rows`: several queries over one stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ensue.api.call_options import Call, LiveArguments, SeveralOptions, SparkFrame, check_known, kind_of, live_options
from ensue.api.one_query import Query
from ensue.data.sources import is_spark
from ensue.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ensue.corrections.live_queries import LiveQueries


def live(queries: Mapping[str, Query], **options: Unpack[LiveArguments]) -> LiveQueries:
    """Several queries over one stream of events that are pushed as they come: see `Query.live`.

    Each step returns the changes of each query, by its name. Queries can be added and removed in between.
    """
    from ensue.corrections.live_queries import LiveQueries  # numba is loaded where it is used

    made = LiveQueries(queries, live_options(options))
    if (state := options.get("state")) is not None:
        made.load(state)
    return made


def run(
    events: SparkFrame | Mapping[str, SparkFrame],
    asked: Mapping[str, Query],
    *,
    queries: SparkFrame | None = None,
    keys: str | Sequence[str] | None = None,
    **options: Unpack[SeveralOptions],
) -> DataFrame:
    """Several queries over one Spark DataFrame, `asked` by their names: a stream is read once for all of them.

    Each row has the query's name as `query`, its `start_time` and `end_time`, and in `row` a struct for each query, of
    which that of its own query has the columns of the match; `rows` picks those of one query. The options are those of
    `Query.run`.

    On a stream, `queries` is another stream, of rows with a `name` and a `text`: each adds a query, or replaces the one
    of that name, or removes it if the text is NULL. Then `row` is a VARIANT. A query that is added reads the events
    after the watermark. A text that is no query gives a row with the `change` "error". `keys` names the columns by
    which events are shared out, and all queries partitioned; by default, the keys that those in `asked` share.
    """
    check_known(options, "run", SeveralOptions)
    if not is_spark(events):
        raise DataError(
            f"run takes a Spark DataFrame, not {kind_of(events)}: for events in memory, call the `run` of each query, "
            "or ensue.live"
        )
    from ensue.spark.several_queries import ComeAndGo, run_several

    how = Call.of(options).on_spark()
    del how["closed"]
    frames: Any = events
    coming: Any = ComeAndGo(queries, (keys,) if isinstance(keys, str) else keys and tuple(keys))  # type: ignore[arg-type]
    return run_several(asked, frames, coming=coming, **how)


def rows(found: DataFrame, name: str, query: Query | None = None) -> DataFrame:
    """The rows of one query, with its own columns, of what `run` has returned for several.

    Where queries come and go, give the `query` as well: its columns are not in the type of `row` then. A table to which
    Spark has written the rows will do, too.
    """
    from ensue.spark.several_queries import rows_of

    return rows_of(found, name, query)
