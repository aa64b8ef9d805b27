"""`query`, `match` and `Query`: one query, and all that can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import pyarrow as pa

from ensue import pipeline
from ensue.api.call_options import (
    Call,
    ChangingOptions,
    LiveArguments,
    Options,
    SparkFrame,
    SparkOptions,
    check_known,
    check_spark_engine,
    kind_of,
    live_options,
    options_of_stream,
)
from ensue.data.schema import Schema
from ensue.data.sources import is_spark
from ensue.errors import DataError, EngineError
from ensue.explain import explain, explain_deterministic
from ensue.explain.automaton_picture import automaton_picture
from ensue.language import ast
from ensue.language.own import Draft, Own
from ensue.language.parser import decode, parse_query
from ensue.language.printer import print_query
from ensue.language.query_builder import Select
from ensue.logic.aggregation import refuse_aggregation
from ensue.logic.check import check
from ensue.logic.never import warnings_of
from ensue.own.registry import bound
from ensue.plan.choice import choose
from ensue.plan.mode import Mode
from ensue.plan.redundant import warnings_by_automata
from ensue.results.detections import Detections
from ensue.results.matches import Matches
from ensue.results.svg import Picture

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ensue.corrections.live_queries import Live
    from ensue.report.html_page import Page
    from ensue.why.answer import Why


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

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the query, or a part of it, can never match or adds nothing, each with its place; none is an error.

        >>> print(*query("SELECT * FROM S WHERE A AS x FILTER x.v = NULL").warnings)
        warning: this query never matches: x.v = NULL is never TRUE
          line 1, column 37
            SELECT * FROM S WHERE A AS x FILTER x.v = NULL
                                                ^^^^^^^^^^
          hint: write x.v IS NULL
        """
        return (*warnings_of(self.ast, self.text), *warnings_by_automata(choose(check(self.ast, self.text))))

    def check(self, schema: pa.Schema | None = None) -> None:
        """Checks names and types against the columns of the events; raises a QueryError with all problems.

        What can never match is told in the log, as it is when the query runs.
        """
        check(self.ast, self.text, None if schema is None else Schema.of(schema))
        pipeline.warn(self.ast, self.text)

    def explain(
        self,
        events: SparkFrame | Mapping[str, SparkFrame] | None = None,
        *,
        verbose: bool = False,
        deterministic: bool = False,
        **options: Unpack[ChangingOptions],
    ) -> str:
        """How the query was understood and how it is evaluated; `verbose` adds the determinised automaton.

        `deterministic` adds the deterministic automaton with registers, which reports where a match ends and which
        events took part in it. It needs a window in events; for other queries the text says why there is none.

        With a Spark DataFrame and the options of `run`, the text also shows what Spark does for the query, and Spark's
        own plan.

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
          late          a late event only adds matches
          engine        automaton: constant time per event, plus the size of the matches
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
            from ensue.spark.describe import explain_on_spark

            frames: Any = events
            given: dict[str, Any] = {**options}
            check_spark_engine(given.pop("engine", "auto"))
            reading: Any = {c: given.pop(c) for c in ("time", "type", "unit", "tiebreak") if c in given}
            spark = options_of_stream(given, reading)
            said = explain_on_spark(self.ast, self.text, frames, verbose=verbose, reading=reading, **spark)
        else:
            checked = check(self.ast, self.text)
            said = explain(choose(checked), verbose=verbose)
        return f"{said}\n{explain_deterministic(check(self.ast, self.text))}" if deterministic else said

    def plot(self) -> Picture:
        """The automaton of the query as a picture: states, and transitions with their conditions, marks and registers.

        A notebook shows the picture, `save` writes it as SVG. A query that the reference evaluates has no automaton.
        """
        choice = choose(check(self.ast, self.text))
        if choice.plan is None:
            raise EngineError(f"there is no automaton to draw: {choice.without_plan}")
        return automaton_picture(choice.plan.automaton, print_query(self.ast))

    @overload
    def run(self, events: SparkFrame | Mapping[str, SparkFrame], **options: Unpack[ChangingOptions]) -> DataFrame: ...

    @overload
    def run(self, events: Any, **options: Unpack[Options]) -> Matches: ...

    def run(
        self,
        events: Any,
        *,
        time: str | Mapping[str, str] | None = "time",
        type: str | None = None,
        unit: str | None = None,
        tiebreak: str | None = None,
        engine: str = "auto",
        memory: str | int | None = None,
        progress: Callable[[int, int], None] | None = None,
        closed: bool = False,
        unbounded: bool = False,
        alone: bool = False,
        buckets: int | None = None,
        name: str | None = None,
        disorder: Literal["revise", "wait"] | None = None,
        slack: str | None = None,
        id: str | Sequence[str] | None = None,
        changes: str | None = None,
        delays: Mapping[str, str] | None = None,
        promises: str | None = None,
    ) -> Matches | DataFrame:
        """Returns every complex event of the query over the events; of an `AGGREGATE` query, `Totals`.

        `events`: an Arrow table, a frame, whatever has `__arrow_c_stream__`, dicts or batches in a list or generator,
        or a path, also of a folder or with `*`. For several streams in FROM, a mapping from each name to one of these.
        `time`: the time column, a timestamp, or a number in the given `unit` ("ms"); a mapping if streams have columns
        of other names; with None the rows keep their order. Events out of order are sorted, stably, and logged.
        `type`: the column with each event's type. By default it is the column `type`; if there is none, every event
        has the stream's name in FROM as its type. `tiebreak`: a column that orders events of equal time.
        `engine`: "automaton" or "reference"; "auto" uses the automaton engine if it can evaluate the query, and
        otherwise the reference. `memory`, such as "512 MB": the memory that the query may take, without its events; by
        default a part of all memory. A query that needs more raises an EngineError that says what is large.
        `progress` is called with the work done and the total. With `closed`, what waits for a deadline is told too.

        A Spark DataFrame gives a lazy DataFrame of matches, streaming if the events are. `unbounded` allows a query
        without a window; with `alone`, the stream has no other watermark; `buckets` are the values in the state store;
        `name` is that of the metrics. With `disorder="revise"`, matches are told at once and corrected: see `live`.

        >>> events = [{"time": 1, "type": "A", "v": 7}, {"time": 4, "type": "B", "v": 9}]
        >>> query("SELECT x.v, y.v FROM S WHERE A AS x ; B AS y WITHIN 5 s").run(events, unit="s")
        start_time  end_time  x_v  y_v
        ----------  --------  ---  ---
        1           4         7    9
        1 match
        """
        reading = {"time": time, "type": type, "unit": unit, "tiebreak": tiebreak}
        running = {"engine": engine, "memory": memory, "progress": progress, "closed": closed}
        spark = {"unbounded": unbounded, "alone": alone, "buckets": buckets, "name": name}
        changing = {"disorder": disorder, "slack": slack, "id": id, "changes": changes, "delays": delays}
        call = Call.of({**reading, **running, **spark, **changing, "promises": promises})
        if is_spark(events):
            from ensue.spark.run import run

            return run(self.ast, self.text, events, **call.on_spark())
        options = call.over_table(events)
        return pipeline.run(self.ast, self.text, events, options, reading=call.reading)  # type: ignore[return-value]

    @overload
    def detect(self, events: SparkFrame | Mapping[str, SparkFrame], **options: Unpack[SparkOptions]) -> DataFrame: ...

    @overload
    def detect(self, events: Any, **options: Unpack[Options]) -> Detections: ...

    def detect(self, events: Any, **options: Any) -> Detections | DataFrame:
        """Returns the events at which a match ends, and the events that took part in the matches that end there.

        It takes the same arguments as `run`. The result equals the matches of `run` grouped by their last event: one
        row for each last event, with every event that at least one of its matches marks. There may be exponentially
        many matches; the time that this takes depends on the events that took part, because the matches are not written
        out. They are written out in two cases only: where whole matches are selected or checked (`explain` says so),
        and where the reference evaluates the query.

        A Spark DataFrame gives a lazy DataFrame, streaming if the events are. It has no positions, so `took_part` has
        the events themselves, with all columns of the DataFrame. The options are those of `run`.

        >>> events = [{"time": k, "type": t} for k, t in enumerate("AABBC")]
        >>> query("SELECT * FROM S WHERE A ; B+ ; C WITHIN 4 EVENTS").detect(events, unit="s")
        start_time  end_time  position  took_part
        ----------  --------  --------  ----------
        1           4         4         1, 2, 3, 4
        1 event ends a match
        """
        hint = "AGGREGATE count(*) AS n ... GROUP BY END gives a row for each end"
        check_known(options, "detect", Options, SparkOptions)
        refuse_aggregation(self.ast, self.text, "detect tells which events took part in matches", hint)
        call = Call.of(options)
        if is_spark(events):
            from ensue.spark.run import run

            return run(self.ast, self.text, events, mode=Mode.UNION, **call.on_spark())
        return pipeline.detect(self.ast, self.text, events, call.over_table(events), reading=call.reading)

    def sample(self, events: Any, n: int, *, seed: int | None = None, **options: Unpack[Options]) -> Matches:
        """Returns `n` different matches, drawn at random, every set of `n` equally likely; all if they are fewer.

        There may be exponentially many matches: where `AGGREGATE` would not write them out to count them, only those
        that are drawn are written out. Otherwise all are, and then they must fit in memory. The matches are in the
        order of `run`, whose arguments it takes, for events in memory or in files. The same `seed` gives the same ones.

        >>> events = [{"time": k, "type": "A"} for k in range(60)]
        >>> len(query("SELECT * FROM S WHERE A+").sample(events, 3, seed=1, unit="s"))
        3
        """
        check_known(options, "sample", Options)
        hint = "sample SELECT * with the same pattern"
        refuse_aggregation(self.ast, self.text, "sample draws some of the matches, and AGGREGATE takes all", hint)
        if is_spark(events):
            raise DataError(
                "sample takes events in memory or in files: give a part, such as df.limit(100_000).toPandas()"
            )
        _check_draw(n, seed)
        call = Call.of(options)
        how = call.over_table(events)
        return pipeline.sample(self.ast, self.text, events, pipeline.Draw(n, seed), how, reading=call.reading)

    def why(self, events: Any, **options: Unpack[Options]) -> Why:
        """Returns why the query matches no more of the events than it does. It takes the arguments of `run`.

        For each step of the pattern: how many events have its type, how many satisfy the conditions on such an event
        alone, and how many partial matches reach the step. Then, for each constraint (a filter, window, gap, order,
        partition, absence or selector), how many more would reach it without that constraint; windows and gaps are made
        ten times as wide instead. At last the nearest misses, at most three, with the values that the constraint sees.

        Nothing is counted beyond a million. CONSUME BY and LIMIT only choose among matches, so they are not asked.

        >>> events = [{"time": 1, "type": "A", "v": 7}, {"time": 9, "type": "B", "v": 9}]
        >>> query("SELECT * FROM S WHERE A AS x ; B AS y WITHIN 5 s").why(events, unit="s")
        0 matches
        <BLANKLINE>
           step    events  pass  reached
        1  A AS x       1     1        1
        2  B AS y       1     1        0
        <BLANKLINE>
        ended before B AS y
          1 more without window WITHIN 5 s
        <BLANKLINE>
        nearest misses
          window WITHIN 5 s: it takes 8 s
            x  (time=1, type=A, v=7)
            y  (time=9, type=B, v=9)
        """
        check_known(options, "why", Options)
        if is_spark(events):
            raise DataError("why takes events in memory or in files: give a part, such as df.limit(100_000).toPandas()")
        from ensue.why.asking import why  # only who asks waits for it

        call = Call.of(options)
        return why(self.ast, self.text, events, call.over_table(events), reading=call.reading)

    def report(self, events: Any, **options: Unpack[Options]) -> Page:
        """Returns a page about the query over these events, as one HTML file that needs nothing else.

        It has the query, the matches on a time line, the partitions with the most of them, the first rows, warnings,
        how the query is evaluated, and, if nothing matches, why. The arguments are those of `run`.

        >>> page = query("SELECT * FROM S WHERE A ; B").report([{"time": 1, "type": "A"}, {"time": 2, "type": "B"}])
        >>> page.heading
        '1 match in 2 events'
        """
        if is_spark(events):
            raise DataError("report takes events in memory or in files; streams have ensue.spark.progress_page")
        from ensue.report.of_matches import report  # only who asks waits for it

        found = self.run(events, **options)
        if len(found) or not len(found.stream):
            return report(found)
        asked: Any = {option: value for option, value in options.items() if option != "progress"}
        return report(found, because=str(self.why(events, **asked)))

    def live(self, **options: Unpack[LiveArguments]) -> Live:
        """A query over events that are pushed as they come, in any order: it tells matches at once, and corrects them.

        `push` takes events as `run` does, and returns the changes of the matches: `insert` and `delete`, each with the
        whole row and the match's id. `advance` says up to which time nothing changes any more; with `delay="10 s"`
        this follows the latest event by itself. `save` returns the state, which `state=` takes.

        `disorder="wait"` tells a match when nothing can change it any more; with `"revise"`, `slack="2 s"` waits for
        so long, to take less back. `changes` names the column that says of each row what it does: `insert`, `delete`,
        `update_preimage` or `update_postimage`. `id` names the columns whose values identify an event; by default its
        whole content does. `keep="1 h"` keeps matches for `answer()` so long after the watermark has passed their end.
        `delays={"heat": "1 s"}` says how late events of a type come at most, where others come later.
        The other options are those of `run`.

        >>> live = query("SELECT x.v FROM S WHERE A AS x ; B").live(unit="s")
        >>> live.push([{"time": 5, "type": "B", "v": 0}]).to_arrow().num_rows
        0
        >>> live.push([{"time": 3, "type": "A", "v": 7}]).to_arrow().column("change").to_pylist()
        ['insert']
        """
        from ensue.corrections.live_queries import Live  # numba is loaded where it is used

        made = Live(self, live_options(options))
        if (state := options.get("state")) is not None:
            made.load(state)
        return made

    def late(
        self,
        events: SparkFrame | Mapping[str, SparkFrame],
        *,
        time: str = "time",
        type: str | None = None,
        unit: str | None = None,
        tiebreak: str | None = None,
    ) -> DataFrame:
        """The events of a Spark stream that came too late for the query, as a streaming DataFrame of their own.

        An event is late if the watermark had passed its time before it came. `run` counts such events and drops them;
        this method returns those that the query could have used, with all their columns.
        """
        if not is_spark(events):
            raise DataError(
                f"late events are those of a Spark stream: give a streaming DataFrame, not {kind_of(events)}"
            )
        from ensue.spark.run import late_events

        frames: Any = events
        return late_events(self.ast, self.text, frames, time=time, type=type, unit=unit, tiebreak=tiebreak)


def _check_draw(n: int, seed: int | None) -> None:
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"n: how many matches are drawn, a whole number, not {n!r}")
    if n < 0:
        raise ValueError(f"n: how many matches are drawn, 0 or more, not {n}")
    if not isinstance(seed, int | None) or isinstance(seed, bool):
        raise TypeError(f"seed: a whole number, or None for another sample each time, not {seed!r}")


def query(text: str | bytes | Select, *, params: Mapping[str, Any] | None = None, **own: Own | Draft) -> Query:
    """Makes a query from its text or from the builder in `ensue.dsl`; raises QueryError with every problem found.

    Functions, aggregates and automata of one's own are given by the names that the query has for them:
    `ensue.query(text, score=fn)`, with what `ensue.function(...)` returned. Those that are registered for the whole
    program need not be given.

    `params` are the values of parameters, `$name` in the text, which stand wherever a literal can: numbers, texts,
    truth values, None, `datetime` and `timedelta`, and lists of them behind IN.

    >>> print(query("SELECT x FROM S WHERE A AS x FILTER x.v > $least LIMIT $n", params={"least": 2.5, "n": 3}))
    SELECT x
    FROM S
    WHERE A AS x
    FILTER x.v > 2.5
    LIMIT 3

    >>> query("SELECT x FROM S WHERE A AS x ; B").ast.streams
    ('S',)
    """
    if isinstance(text, Select):
        tree = text.build(params)
        printed = print_query(tree)
        return Query(printed, bound(tree, printed, own))
    if not isinstance(text, str | bytes):
        raise TypeError(f"a query is a text, bytes, or made with ensue.dsl, not {text.__class__.__name__}")
    decoded = decode(text)
    return Query(decoded, bound(parse_query(decoded, params), decoded, own))


@overload
def match(
    events: SparkFrame | Mapping[str, SparkFrame],
    text: str | bytes | Select | Query,
    *,
    params: Mapping[str, Any] | None = None,
    **options: Unpack[ChangingOptions],
) -> DataFrame: ...


@overload
def match(
    events: Any,
    text: str | bytes | Select | Query,
    *,
    params: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Matches: ...


def match(
    events: Any, text: str | bytes | Select | Query, *, params: Mapping[str, Any] | None = None, **options: Any
) -> Matches | DataFrame:
    """Short for `query(text, params=params).run(events, **options)`.

    >>> len(match([{"time": 1, "type": "A"}, {"time": 2, "type": "A"}], "SELECT * FROM S WHERE A ; A", unit="s"))
    1
    """
    if isinstance(text, Query) and params is not None:
        raise TypeError("params: a query that is made has its values; give them to ensue.query")
    made = text if isinstance(text, Query) else query(text, params=params)
    found: Matches | DataFrame = made.run(events, **options)
    return found
