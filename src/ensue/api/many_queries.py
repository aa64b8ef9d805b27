"""`live`, `run` and `rows`: several queries over one stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from ensue import pipeline
from ensue.api.call_options import (
    Call,
    LiveArguments,
    Options,
    SeveralOptions,
    SparkFrame,
    check_known,
    kind_of,
    live_options,
)
from ensue.api.one_query import Query, query
from ensue.data.sources import is_spark
from ensue.logic.aggregation import refuse_aggregation
from ensue.results.matches import Matches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ensue.corrections.live_queries import LiveQueries


def live(queries: Mapping[str, Query | str], **options: Unpack[LiveArguments]) -> LiveQueries:
    """Several queries over one stream of events that are pushed as they come: see `Query.live`.

    Each step returns the changes of each query, by its name. Queries can be added and removed in between.
    """
    from ensue.corrections.live_queries import LiveQueries  # numba is loaded where it is used

    made = LiveQueries(_by_name(queries), live_options(options))
    if (state := options.get("state")) is not None:
        made.load(state)
    return made


@overload
def run(
    events: SparkFrame | Mapping[str, SparkFrame],
    asked: Mapping[str, Query | str],
    *,
    queries: SparkFrame | None = None,
    keys: str | Sequence[str] | None = None,
    **options: Unpack[SeveralOptions],
) -> DataFrame: ...


@overload
def run(events: Any, asked: Mapping[str, Query | str], **options: Unpack[Options]) -> dict[str, Matches]: ...


def run(
    events: Any,
    asked: Mapping[str, Query | str],
    *,
    queries: SparkFrame | None = None,
    keys: str | Sequence[str] | None = None,
    **options: Any,
) -> DataFrame | dict[str, Matches]:
    """Several queries over the same events, `asked` by their names: these are read once for all of them.

    Each is a query, or its text.

    Events in memory or in files give the matches of each query, by its name, with the options of `Query.run`. Steps
    that queries with equal windows and keys begin with, under the same names, are evaluated once.

    >>> events = [{"time": k, "type": t} for k, t in enumerate("ABC")]
    >>> texts = {f"then_{t}": f"SELECT A.time FROM S WHERE A ; {t} WITHIN 5 s" for t in "BC"}
    >>> found = run(events, texts, unit="s")
    >>> {name: matches.to_arrow().column("A_time").to_pylist() for name, matches in found.items()}
    {'then_B': [0], 'then_C': [0]}

    A Spark DataFrame gives one lazy DataFrame for all queries. Each row has the query's name as `query`, its
    `start_time` and `end_time`, and in `row` a struct for each query, of which that of its own query has the columns of
    the match; `rows` picks those of one query. The options are those of `Query.run`.

    On a stream, `queries` is another stream, of rows with a `name` and a `text`: each adds a query, or replaces the one
    of that name, or removes it if the text is NULL. Then `row` is a VARIANT. A query that is added reads the events
    after the watermark. A text that is no query gives a row with the `change` "error". `keys` names the columns by
    which events are shared out, and all queries partitioned; by default, the keys that those in `asked` share.
    """
    check_known(options, "run", SeveralOptions, Options)
    given = _by_name(asked)
    if not is_spark(events):
        return _over_table(events, given, {"queries": queries, "keys": keys}, options)
    from ensue.spark.several_queries import ComeAndGo, run_several

    how = Call.of(options).on_spark()
    coming: Any = ComeAndGo(queries, (keys,) if isinstance(keys, str) else keys and tuple(keys))  # type: ignore[arg-type]
    return run_several(given, events, coming=coming, **how)


def _by_name(asked: Mapping[str, Query | str]) -> dict[str, Query]:
    if not isinstance(asked, Mapping):
        raise TypeError(f"several queries are given by their names, as {{'name': query}}, not as {kind_of(asked)}")
    for name, given in asked.items():
        if not isinstance(name, str) or not isinstance(given, Query | str):
            raise TypeError(f"a query, or its text, is to stand behind each name, not {kind_of(given)} behind {name!r}")
    return {name: query(given) if isinstance(given, str) else given for name, given in asked.items()}


def _over_table(
    events: Any, asked: Mapping[str, Query], of_streams: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Matches]:
    wrong = [name for name, value in of_streams.items() if value is not None]
    if wrong:
        raise TypeError(f"{', '.join(wrong)}: for Spark streams only; ensue.live is for events in memory")
    call = Call.of(options)
    how = call.over_table(events)
    for one in asked.values():
        hint = "run that query by itself"
        refuse_aggregation(one.ast, one.text, "each of several queries tells its matches", hint)
    texts = {name: (one.ast, one.text) for name, one in asked.items()}
    return pipeline.run_together(texts, events, how, reading=call.reading)


def rows(found: DataFrame, name: str, query: Query | None = None) -> DataFrame:
    """The rows of one query, with its own columns, of what `run` has returned for several.

    Where queries come and go, give the `query` as well: its columns are not in the type of `row` then. A table to which
    Spark has written the rows will do, too.
    """
    from ensue.spark.several_queries import rows_of

    return rows_of(found, name, query)
