"""Aggregates over all matches: beside writing matches out, a vector a start, and DuckDB; and in longer windows.

`python -m bench.aggregates` measures these lines alone, and keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from bench.vector_a_start import VectorAStart
from bench.windows import alternating
from bench.workloads import TYPES, typed_stream
from ensue.api import query
from ensue.columns.match_totals import column
from ensue.data.events import EventStream, read_events
from ensue.engines.whole_tables import evaluate_table
from ensue.language.parser import parse_query
from ensue.logic.aggregation import COUNT
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.plan.mode import Mode
from ensue.results.totals import Grouping

A, B, C = TYPES[:3]
_Numbers = npt.NDArray[Any]


def aggregates(events: int) -> Iterator[dict[str, Any]]:
    """Each line of the issue that is embedded."""
    stream = typed_stream(events)
    yield beside_a_table_of_matches(stream)
    yield from beside_writing_out(stream)
    yield values_that_are_stored(stream)
    yield from longer_windows(stream)
    yield some_of_them()
    yield from a_vector_a_start(stream)
    yield from beside_duckdb(events // 5)
    yield sixty_events()


def counting(window: int, items: str = "count(*) AS n") -> str:
    return f"AGGREGATE {items} FROM S WHERE {A} ; {B}+ ; {C} WITHIN {window} EVENTS"


def prepared(text: str, table: pa.Table) -> tuple[Choice, EventStream]:
    query = parse_query(text)
    stream = read_events(table, query.streams, unit="s")
    return choose(check(query, text, stream.schema), "automaton"), stream


def one_row(choice: Choice, stream: EventStream) -> pa.Table:
    """The result, by one thread."""
    return _grouping(choice, stream).finished(one_row_of_parts(choice, stream))


def one_row_of_parts(choice: Choice, stream: EventStream) -> pa.Table:
    """What the result is read from."""
    grouping = _grouping(choice, stream)
    return grouping.folded(grouping.rows(evaluate_table(choice, stream, mode=Mode.TOTALS, threads=1), stream))


def _grouping(choice: Choice, stream: EventStream) -> Grouping:
    return Grouping(choice.checked, stream.time_column.type, stream.tick)


def folding(text: str, table: pa.Table) -> Callable[[], pa.Table]:
    choice, stream = prepared(text, table)
    return lambda: one_row(choice.for_totals, stream)


def beside_a_table_of_matches(table: pa.Table) -> dict[str, Any]:
    """What a user would do without: a table of all matches with their sums, which are added up."""
    pattern = f"FROM S WHERE {A} ; ({B} AS y)+ ; {C} WITHIN 100 EVENTS"
    listed = query(f"SELECT sum(y.time) AS s {pattern}")
    folded = query(f"AGGREGATE sum(y.time) AS s {pattern}")

    def of_matches() -> int:
        return int(pc.sum(listed.run(table, unit="s").to_arrow().column("s")).as_py())

    def of_all() -> int:
        return int(folded.run(table, unit="s").to_arrow().column("s")[0].as_py())

    assert of_matches() == of_all()
    written, ours = alternating(of_matches, of_all)
    return {
        "name": "a sum over A;B+;C in 100 events, beside a table of matches",
        "milliseconds": _ms(ours),
        "times_faster": round(written / ours, 1),
        "goal": 20,
    }


def beside_writing_out(table: pa.Table) -> Iterator[dict[str, Any]]:
    for items in ("count(*) AS n", "count(*) AS n, sum(y.time) AS s, max(sum(y.time)) AS m"):
        text = counting(100, items).replace(f"{B}+", f"({B} AS y)+")
        choice, stream = prepared(text, table)
        assert one_row(choice, stream) == one_row(choice.for_totals, stream)
        written, folded = alternating(lambda: one_row(choice, stream), lambda: one_row(choice.for_totals, stream))  # noqa: B023
        name = f"A;B+;C in 100 events, {items.count(' AS ')} items"
        faster = round(written / folded, 1)
        yield {"name": name, "milliseconds": _ms(folded), "times_faster_than_writing_out": faster}


def values_that_are_stored(table: pa.Table) -> dict[str, Any]:
    """Runs with registers: nodes are visited at each end."""
    condition = "FILTER y.time > x.time + 3"
    text = f"AGGREGATE count(*) AS n FROM S WHERE {A} AS x ; ({B} AS y)+ ; {C} {condition} WITHIN 200 EVENTS"
    choice, stream = prepared(text, table)
    assert choice.walked
    assert one_row(choice, stream) == one_row(choice.for_totals, stream)
    written, folded = alternating(lambda: one_row(choice, stream), lambda: one_row(choice.for_totals, stream))
    name = f"A;B+;C in 200 events, {condition}, over nodes"
    return {"name": name, "milliseconds": _ms(folded), "times_faster_than_writing_out": round(written / folded, 1)}


def some_of_them() -> dict[str, Any]:
    """A sample of more matches than any memory holds."""
    table = pa.table({"time": np.arange(60), "type": ["A"] * 60})
    asked = query("SELECT * FROM S WHERE A+ WITHIN 60 EVENTS")
    (seconds,) = alternating(lambda: asked.sample(table, 1_000, seed=1, unit="s"))
    return {"name": "1,000 of 2^60 - 1 matches, drawn at random", "milliseconds": _ms(seconds)}


def longer_windows(table: pa.Table) -> Iterator[dict[str, Any]]:
    works = [folding(counting(window), table) for window in (100, 1_000, 10_000)]
    short, middle, long = alternating(*works)
    for window, seconds in ((1_000, middle), (10_000, long)):
        yield {
            "name": f"in {window:,} events",
            "milliseconds": _ms(seconds),
            "times_that_of_100": round(seconds / short, 2),
            "goal_at_most": 1.3,
        }


@njit(cache=True)
def _vectors(types: _Numbers, window: int, first: _Numbers, kleene: _Numbers) -> float:
    """One vector for each start in the window, as GRETA keeps them: its runs behind A, and those behind B."""
    total, begin, end = 0.0, 0, 0
    start = np.empty(len(types), np.int64)
    for i in range(len(types)):
        while begin < end and start[begin] <= i - window:
            begin += 1
        if types[i] == 0:
            start[end], first[end], kleene[end] = i, 1.0, 0.0
            end += 1
        elif types[i] == 1:
            for s in range(begin, end):
                kleene[s] += kleene[s] + first[s]
        elif types[i] == 2:
            for s in range(begin, end):
                total += kleene[s]
    return total


def a_vector_a_start(table: pa.Table) -> Iterator[dict[str, Any]]:
    named = table.column("type").cast(pa.string()).to_numpy(zero_copy_only=False)
    types = np.select([named == A, named == B, named == C], [0, 1, 2], 3)
    room = np.empty(len(types)), np.empty(len(types))
    for window, goal in ((100, 1), (1_000, 5), (10_000, 40)):
        choice, stream = prepared(counting(window), table)
        plan = choice.for_totals.plan
        assert plan is not None
        alike = VectorAStart(plan, types, window)
        residue = one_row_of_parts(choice.for_totals, stream).column(column(COUNT, "residue"))[0].as_py()
        assert alike.run() == residue
        works = (lambda: one_row(choice.for_totals, stream), alike.run, lambda: _vectors(types, window, *room))  # noqa: B023
        ours, theirs, floats = alternating(*works)
        within = f"in {window:,} events"
        yield {"name": f"a vector a start, {within}", "times_ours": round(theirs / ours, 2), "goal": goal}
        yield {"name": f"the same by hand, of floats only, {within}", "times_ours": round(floats / ours, 2)}


def beside_duckdb(events: int, window: int = 100) -> Iterator[dict[str, Any]]:
    """Three types in sequence, counted by joins over buckets of positions; and with B+, by recursion over these."""
    table = typed_stream(events)
    plain = pa.table({"p": np.arange(events), "type": table["type"].cast(pa.string())})
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("s", plain)
    join = f"""
        WITH e AS (SELECT p, type, p // {window} AS b FROM s),
             a AS (SELECT p, unnest([b, b + 1]) AS b FROM e WHERE type = '{A}'),
             c AS (SELECT p, b FROM e WHERE type = '{C}'),
             ac AS (SELECT a.p AS a, c.p AS c, a.p // {window} AS b
                    FROM a JOIN c USING (b) WHERE a.p < c.p AND c.p - a.p < {window}),
             m AS (SELECT p, unnest([b, b - 1]) AS b FROM e WHERE type = '{B}')
        SELECT count(*) FROM ac JOIN m USING (b) WHERE m.p > ac.a AND m.p < ac.c
    """
    recursion = f"""
        WITH RECURSIVE e AS (SELECT p, type, p // {window} AS b FROM s),
             m AS (SELECT p, unnest([b, b - 1]) AS b FROM e WHERE type = '{B}'),
             c AS (SELECT p, unnest([b, b - 1]) AS b FROM e WHERE type = '{C}'),
             run AS (
                 SELECT e.p AS first, m.p AS last, b FROM e JOIN m USING (b)
                 WHERE e.type = '{A}' AND m.p > e.p AND m.p < e.p + {window}
                 UNION ALL
                 SELECT run.first, m.p, b FROM run JOIN m USING (b) WHERE m.p > run.last AND m.p < run.first + {window}
             )
        SELECT count(*) FROM run JOIN c USING (b) WHERE c.p > run.last AND c.p < run.first + {window}
    """
    for name, middle, sql, goal in (("joins", B, join, 5), ("recursion", f"{B}+", recursion, 25)):
        ours = folding(f"AGGREGATE count(*) AS n FROM S WHERE {A} ; {middle} ; {C} WITHIN {window} EVENTS", table)

        def theirs(sql: str = sql) -> int:
            (row,) = connection.sql(sql).fetchall()
            return int(row[0])

        assert theirs() == ours().column("n")[0].as_py()
        our_seconds, their_seconds = alternating(ours, theirs)
        shown = "A;B;C" if middle == B else "A;B+;C"
        times = round(their_seconds / our_seconds, 1)
        yield {"name": f"DuckDB, {shown} in {window} events, by {name}", "times_ours": times, "goal": goal}


def sixty_events() -> dict[str, Any]:
    table = pa.table({"time": np.arange(60), "type": ["A"] * 60})
    text = "AGGREGATE count(*) AS n FROM S WHERE A+ WITHIN 60 EVENTS GROUP BY END"
    (seconds,) = alternating(folding(text, table))
    assert folding(text, table)().column("n")[59].as_py() == 2**59
    name = "A+ within 60 events: 2^60 - 1 matches in all"
    return {"name": name, "milliseconds": _ms(seconds), "goal_at_most": 10}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


if __name__ == "__main__":
    from bench.report import commit, keep, section

    rows = section("aggregates over all matches, one core", list(aggregates(1_000_000)))
    keep("aggregates.json", {"commit": commit(), "events": 1_000_000, "aggregates": rows})
