"""AGGREGATE over runs that store values: the nodes that matches share are visited, and no match is written out."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from aggregating import alike, rows

import ensue
from ensue.data.events import EventStream, read_events
from ensue.engines.whole_tables import evaluate_table
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.plan.mode import Mode
from ensue.results.running_groups import RunningTotals
from ensue.results.totals import Grouping, Totals

ITEMS = (
    "count(*) AS n, sum(y.v) AS s, max(sum(y.v)) AS m, min(count(y)) AS c, avg(y.f) AS f, "
    "avg(end_time - start_time) AS took, min(start_time) AS first"
)
QUERIES = [
    "A AS x ; (B AS y)+ ; C AS z FILTER y.v > x.v FILTER z.v < 3 WITHIN 12 EVENTS",
    "A AS x ; (B AS y)+ ; C AS z FILTER x.v = z.v WITHIN 9 s",
    "A AS x ;[<= 3 s] (B AS y)+ ;[>= 2 s] C WITHIN 10 s",
    "A AS x ; (B AS y)+ FILTER y.v <> x.v WITHIN 8 EVENTS PARTITION BY k",
    "(A AS y)+ ; B AS x FILTER y.v >= x.v WITHIN 7 EVENTS CONSUME BY ANY",
    "A AS x ;[<= 2 s] (B AS y)+ ; C WITHIN 6 EVENTS WITHIN 9 s PARTITION BY k CONSUME BY PARTITION",
    "A AS x ; (B AS y){2} ; C FILTER y.v > x.v",  # without a window
]


def events(count: int) -> pa.Table:
    rng = Random("walked")
    columns = {
        "time": pa.array(sorted(rng.randrange(count) for _ in range(count)), pa.int64()),
        "type": pa.array([rng.choice("AABBC") for _ in range(count)]),
        "v": pa.array([rng.choice((0, 1, 2, 3, 4, None, 2**62)) for _ in range(count)], pa.int64()),
        "f": pa.array([rng.choice((0.5, -3.25, None, 1e6)) for _ in range(count)], pa.float64()),
        "k": pa.array([rng.randrange(3) for _ in range(count)], pa.int64()),
    }
    return pa.table(columns)


def prepared(text: str, table: pa.Table) -> tuple[Choice, EventStream]:
    query = ensue.query(text)
    stream = read_events(table, query.ast.streams, unit="s")
    return choose(check(query.ast, query.text, stream.schema), "automaton"), stream


def by_end(choice: Choice, stream: EventStream, batch: int) -> list[tuple[object, ...]]:
    found = evaluate_table(choice, stream, mode=Mode.TOTALS, threads=1, batch=batch)
    grouping = Grouping(choice.checked, stream.time_column.type, stream.tick)
    return rows(grouping.finished(grouping.folded(grouping.rows(found, stream))))


@pytest.mark.parametrize("pattern", QUERIES)
def test_what_matches_come_to_at_each_end(pattern: str) -> None:
    count = 1_500 if "WITHIN" in pattern else 150
    choice, stream = prepared(f"AGGREGATE {ITEMS} FROM S WHERE {pattern} GROUP BY END", events(count))
    assert choice.walked
    written_out = by_end(choice, stream, count)
    assert len(written_out) > count / 100
    for batch in (97, count):  # what events of earlier batches weigh is kept
        assert alike(by_end(choice.for_totals, stream, batch), written_out, 1e6)


def test_more_matches_than_could_be_written_out() -> None:
    rng = Random("huge")
    values = [rng.randrange(10) for _ in range(150)]
    table = [{"time": k, "type": "A" if k % 3 == 0 else "B", "v": v} for k, v in enumerate(values)]
    text = "AGGREGATE count(*) AS n FROM S WHERE A AS x ; (B AS y)+ FILTER y.v > x.v GROUP BY END"
    totals = ensue.query(text).run(table, unit="s")
    assert isinstance(totals, Totals)
    greater: Counter[int] = Counter()  # of each A, how many later B are greater
    expected: dict[int, int] = {}
    for k, v in enumerate(values):
        if k % 3 == 0:
            continue
        for start in range(0, k, 3):
            if values[start] < v:
                expected[k] = expected.get(k, 0) + 2 ** greater[start]
                greater[start] += 1
    assert totals.exact("n") == list(expected.values())
    assert max(expected.values()) > 2**64
    assert totals.to_arrow().column("position").to_pylist() == list(expected)


def test_a_state_keeps_what_events_weigh() -> None:
    table = events(400)
    text = f"AGGREGATE {ITEMS} FROM S WHERE {QUERIES[0]} GROUP BY EVERY 20 s"
    choice, stream = prepared(text, table)
    whole = rows(ensue.query(text).run(table, unit="s").to_arrow())
    running, found = RunningTotals(choice, stream.tick, stream.time_column.type), []
    for start in range(0, len(stream), 37):
        found += rows(running.push(stream.slice(start, 37)))
        state = running.save()
        running = RunningTotals(choice, stream.tick, stream.time_column.type)
        running.load(state)
    found += rows(running.groups_left())
    assert alike(found, whole, 1e6)


def test_explain_says_what_is_visited_and_why() -> None:
    def told(pattern: str) -> str:
        said = ensue.query(f"AGGREGATE count(*) AS n FROM S WHERE {pattern}").explain()
        return next(line.strip() for line in said.splitlines() if "aggregation" in line)

    shared = "aggregation   folded at each end, over the nodes that its matches share: "
    stored = shared + "runs are told apart by the values and times that they store"
    assert told("A AS x ; B AS y FILTER y.v > x.v") == stored
    assert told("A ;[<= 2 s] B ;[<= 2 s] C") == stored
    twice = "two runs that store different values, or times, may be the same match"
    assert told("A ; B OR A ;[> 1 s] B") == f"aggregation   matches are written out, and folded at each end: {twice}"
