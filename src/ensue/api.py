"""The public face: `query`, `match`, `Query`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ensue import pipeline
from ensue.explain import explain
from ensue.language import ast
from ensue.language.builder import Select
from ensue.language.parser import decode, parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.schema import Schema
from ensue.sources import is_spark


class Query:
    """A query that parsed and passed every check that needs no data. Make one with `ensue.query`."""

    def __init__(self, text: str, tree: ast.Query) -> None:
        self.text = text
        self.ast = tree
        check(tree, text)

    def __str__(self) -> str:
        return print_query(self.ast)

    def __repr__(self) -> str:
        return f"Query({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and self.ast == other.ast

    def __hash__(self) -> int:
        return hash(self.ast)

    def check(self, schema: pa.Schema) -> None:
        """Checks names and types against the columns of the events; raises a QueryError with all problems."""
        check(self.ast, self.text, Schema.of(schema))

    def explain(self, events: Any = None, *, verbose: bool = False, **options: Any) -> str:
        """What the query was understood as, and how it is evaluated; `verbose` adds the determinised automaton.

        With a Spark DataFrame and the options of `run`, also what Spark does for it, and Spark's own plan.

        >>> print(query("SELECT x FROM S WHERE A AS x ; B+ WITHIN 5 s").explain())
        query
          SELECT x
          FROM S
          WHERE A AS x ; B+
          WITHIN 5 s
        variables
          A  one event
          x  one event
          B  a set of events
        result
          start_time, end_time, x
        evaluation
          filters       each concerns one event
          windows       [<= 5 s]
          engine        automaton: constant time an event, then as long as the matches are
        formula
          as written  A AS x ; B+ WITHIN 5 s
        automaton
          0 -> 1  A / x
          1 -> 1  true /
          1 -> 2* B /
          1 -> 3  B /
          3 -> 2* B /
          3 -> 3  B /
          3 -> 3  true /
        """
        if is_spark(events):
            from ensue.spark import explain_on_spark

            return explain_on_spark(self.ast, self.text, events, verbose=verbose, **options)
        checked = check(self.ast, self.text)
        return explain(checked, pipeline.plan_or_reason(checked), verbose=verbose)

    def run(
        self,
        events: Any,
        *,
        time: str | None = "time",
        type: str | None = None,
        unit: str | None = None,
        tiebreak: str | None = None,
        engine: str = "auto",
        progress: Callable[[int, int], None] | None = None,
        **spark: Any,
    ) -> Any:
        """Every complex event of the query over the events.

        `events`: a pyarrow Table or RecordBatchReader, a pandas or polars frame, a list of dicts, a path to a
        Parquet, CSV or JSON lines file; for several streams in FROM, a mapping of their names to such.
        `time`: the time column, a timestamp, or an integer whose `unit` is given ("ms"); None takes the rows
        in the order they have. Events out of order are sorted, stably, and the log says so.
        `type`: the column with each event's type; by default the column `type` where there is one, else the
        stream's name in FROM is every event's type. `tiebreak`: a column that orders events of equal time.

        >>> events = [{"time": 1, "type": "A", "v": 7}, {"time": 4, "type": "B", "v": 9}]
        >>> query("SELECT x.v, y.v FROM S WHERE A AS x ; B AS y WITHIN 5 s").run(events, unit="s")
        start_time  end_time  x_v  y_v
        ----------  --------  ---  ---
        1           4         7    9
        1 match
        """
        if is_spark(events):
            from ensue.spark import run

            return run(self.ast, self.text, events, time=time, type=type, unit=unit, tiebreak=tiebreak, **spark)
        if spark:
            raise TypeError(f"{', '.join(spark)}: for Spark DataFrames only")
        return pipeline.run(
            self.ast,
            self.text,
            events,
            time=time,
            type=type,
            unit=unit,
            tiebreak=tiebreak,
            engine=engine,
            progress=progress,
        )

    def late(
        self,
        events: Any,
        *,
        time: str | None = "time",
        type: str | None = None,
        unit: str | None = None,
        tiebreak: str | None = None,
        **spark: Any,
    ) -> Any:
        """The events of a Spark stream that came too late for the query, as a streaming DataFrame of their own.

        An event is late when the watermark had passed its time before it came. `run` counts such events and leaves
        them out; this gives them, those that the query could have used, with all their columns.
        """
        from ensue.spark import late_events

        return late_events(self.ast, self.text, events, time=time, type=type, unit=unit, tiebreak=tiebreak, **spark)


def query(text: str | bytes | Select) -> Query:
    """A query from its text, or from the builder in `ensue.dsl`; raises QueryError with all that is wrong."""
    if isinstance(text, Select):
        tree = text.build()
        return Query(print_query(tree), tree)
    if not isinstance(text, str | bytes):
        raise TypeError(f"a query is a text, bytes, or made with ensue.dsl, not {text.__class__.__name__}")
    decoded = decode(text)
    return Query(decoded, parse_query(decoded))


def match(events: Any, text: str | bytes | Select | Query, **options: Any) -> Any:
    """`query(text).run(events, **options)`.

    >>> len(match([{"time": 1, "type": "A"}, {"time": 2, "type": "A"}], "SELECT * FROM S WHERE A ; A", unit="s"))
    1
    """
    made = text if isinstance(text, Query) else query(text)
    return made.run(events, **options)
