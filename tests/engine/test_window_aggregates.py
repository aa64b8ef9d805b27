"""Aggregates of windows without their events: engine, reference and brute force over pairs of positions agree."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from amounts import shares
from window_expressions import (
    ITEMS,
    Row,
    Windows,
    aggregate_by_brute_force,
    random_rows,
    random_windows,
    table_of,
    windows_by_brute_force,
)

import ensue
from ensue.data.events import EventStream, read_events
from ensue.engines.whole_tables import evaluate_table
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.plan.spans import Folded, Spans
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery


def by_brute_force(windows: Windows, rows: list[Row]) -> list[tuple[Any, ...]]:
    """The rows of the result: the times of both ends, and each item."""
    return [
        (rows[first]["time"], rows[last]["time"], *(aggregate_by_brute_force(item, inside) for item in windows.items))
        for first, last, inside in windows_by_brute_force(windows, rows)
    ]


def shown(table: pa.Table) -> list[str]:
    """The rows as sorted texts, without the key. Zero has no sign in them."""
    plain = table.drop_columns([n for n in table.column_names if n == "k"])
    return texts(tuple(row.values()) for row in plain.to_pylist())


def texts(rows: Any) -> list[str]:
    return sorted(repr(tuple(v + 0.0 if isinstance(v, float) else v for v in row)) for row in rows)


def choice_of(query: ensue.Query, table: pa.Table) -> tuple[Choice, EventStream]:
    stream = read_events(table, query.ast.streams, unit="s")
    return choose(check(query.ast, query.text, stream.schema)), stream


def in_batches(query: ensue.Query, table: pa.Table, rng: Random) -> list[str]:
    """The rows over random batches; the state is sometimes saved and restored between two."""
    choice, stream = choice_of(query, table)
    running = RunningQuery(choice, stream.tick)
    found, start = [], 0
    while start < len(stream):
        size = rng.choice([0, 1, 2, 5, len(stream)])
        found.append(running.push(stream.slice(start, size)))
        start += size
        if rng.random() < 0.4:
            state = running.save()
            running = RunningQuery(choice, stream.tick)
            running.load(state)
    return shown(pa.concat_tables(found)) if found else []


def compare(seed: int) -> str:
    """Random windows over a random stream, by every way there is."""
    rng = Random(f"windows {seed}")
    windows, rows = random_windows(rng), random_rows(rng, rng.choice([1, 5, 12, 25]))
    table = table_of(rows)
    query = ensue.query(windows.text)
    expected = texts(by_brute_force(windows, rows))
    matches = query.run(table, unit="s", engine="automaton")
    assert shown(matches.to_arrow()) == expected, (seed, windows.text)
    assert in_batches(query, table, rng) == expected, (seed, windows.text)
    if seed % 4 == 0:
        reference = query.run(table, unit="s", engine="reference")
        assert shown(reference.to_arrow()) == expected, (seed, windows.text)
        both = zip(_marked(matches), _marked(reference), strict=True)
        assert all(a == b for a, b in both), (seed, windows.text)
    folded = choice_of(query, table)[0].for_rows.plan
    if not expected:
        return "without a match"
    return "compared" if folded is not None and folded.spans is not None else "with events"


def _marked(matches: ensue.Matches) -> list[list[int]]:
    return sorted(matches.marks["w"].of(m).tolist() for m in range(len(matches))) if len(matches) else []


@pytest.mark.parametrize("seeds", shares(400, each=100))
def test_random_windows(seeds: range) -> None:
    told = [compare(seed) for seed in seeds]
    assert told.count("compared") > len(seeds) // 4


# ---------------------------------------------------------------- beside the same with a mark on each event


def rows_with_marks(choice: Choice, stream: EventStream) -> pa.Table:
    """The rows of the windows whose events are all marked: how it is where events are shown."""
    assert choice.plan is not None
    assert choice.plan.spans is None
    return Matches(choice.checked, stream, evaluate_table(choice, stream, threads=1)).to_arrow()


CHOSEN = (
    "SELECT NEXT {items} FROM S WINDOW w AS (IS A : ANY:* : B) {partition}",
    "SELECT LAST {items} FROM S WINDOW w AS (IS A:+) {partition} WITHIN 3 EVENTS",
    "SELECT MAX {items} FROM S WINDOW w AS (IS A:+ : B?) FILTER max(w.i) > 0 {partition} WITHIN 3 EVENTS",
    "SELECT LAST {items} FROM S WINDOW w AS (IS A:+ : B?) FILTER sum(w.i) > 0 {partition}",
    "SELECT {items} FROM S WINDOW w AS (IS A:+ : B) {partition} CONSUME BY ANY",
    "SELECT {items} FROM S WINDOW w AS (IS A ; B) {partition} WITHIN 3 s",
    "SELECT MAX {items} FROM S WINDOW w AS (IS A ; B ; A) {partition} WITHIN 6 s",
    "SELECT {items} FROM S WINDOW w AS (IS NEXT(A ; B) : ANY:*) {partition} WITHIN 6 s WITHIN 4 EVENTS",
)


def compare_chosen(seed: int) -> str:
    """Selectors, consumption, several windows, gaps: the rows are those of the windows with all marks."""
    rng = Random(f"chosen {seed}")
    rows = random_rows(rng, rng.choice([5, 15, 30]))
    items = ", ".join(f"{e} AS r{n}" for n, e in enumerate(rng.sample(ITEMS, 3)) if e != "max(w.s)")
    partition = rng.choice(["", "PARTITION BY k"])
    query = ensue.query(rng.choice(CHOSEN).format(items=items, partition=partition))
    table = table_of(rows)
    expected = shown(rows_with_marks(*choice_of(query, table)))
    assert shown(query.run(table, unit="s").to_arrow()) == expected, (seed, query.text)
    assert in_batches(query, table, rng) == expected, (seed, query.text)
    return "compared" if expected else "without a match"


@pytest.mark.parametrize("seeds", shares(200, each=100))
def test_random_choices_among_windows(seeds: range) -> None:
    assert [compare_chosen(seed) for seed in seeds].count("compared") > len(seeds) // 4


@pytest.mark.parametrize(
    "rest",
    [
        "PARTITION BY k",
        "WITHIN 9 s",
        "WITHIN 5 EVENTS",
        "PARTITION BY k WITHIN 20 EVENTS",
        "PARTITION BY k CONSUME BY ANY",
    ],
)
def test_several_cores_give_the_same_rows(rest: str) -> None:
    rng = Random("cores")
    count = 70_000  # a smaller table is not shared out
    table = pa.table(
        {
            "time": pa.array(sorted(rng.choices(range(3 * count), k=count))),
            "type": pa.array(rng.choices("AAABC", k=count)),
            "k": pa.array(rng.choices(range(40), k=count)),
            "v": pa.array([rng.choice([None, rng.gauss(0, 1e6), rng.random()]) for _ in range(count)]),
        }
    )
    query = ensue.query(f"SELECT count(w) AS n, sum(w.v) AS s, max(w.v) AS m FROM S WINDOW w AS (IS A:+ : B) {rest}")
    choice, stream = choice_of(query, table)
    ways = ((1, None), (1, 3000), (2, None), (4, 20_000))
    found = [evaluate_table(choice.for_rows, stream, threads=threads, batch=batch) for threads, batch in ways]
    assert {f.span for f in found} == {"w"}
    first, *others = (Matches(choice.checked, stream, f).to_arrow() for f in found)
    assert shown(first) == shown(rows_with_marks(choice, stream))
    assert all(other.equals(first) for other in others)


# ---------------------------------------------------------------- which windows are found by their ends

EVENTS = pa.table(
    {
        "time": [0, 1, 2],
        "type": ["A", "A", "B"],
        "v": [1, 2, 3],
        "s": ["x", "y", "z"],
        "d": pa.array([1, 2, 3], pa.decimal128(9, 2)),
        "u": pa.array([1, 2, 3], pa.uint64()),
    }
)


def spans_of(text: str) -> Spans | None:
    plan = choice_of(ensue.query(text), EVENTS)[0].for_rows.plan
    return None if plan is None else plan.spans


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("SELECT count(w) AS n FROM S WINDOW w AS (IS A:+)", ["count(w)"]),
        ("SELECT first(w.s) AS a, last(w.d) AS b FROM S WINDOW w AS (IS A:+)", []),
        ("SELECT sum(w.d) AS n FROM S WINDOW w AS (IS A:+)", ["sum(w.d)"]),
        ("SELECT first(w.v) AS n FROM S WINDOW w AS (IS A:+) FILTER avg(w.v) > 1", ["avg(w.v)"]),
        ("SELECT max(w.v) - min(w.v) AS n FROM S WHERE SPAN(A ; B) AS w", ["max(w.v)", "min(w.v)"]),
        ("SELECT sum(a.v) AS n FROM S WHERE A:+ AS a", ["sum(a.v)"]),
    ],
)
def test_by_their_ends(text: str, folded: list[str]) -> None:
    spans = spans_of(text)
    assert spans is not None
    assert [f.text for f in spans.folded] == folded


@pytest.mark.parametrize(
    "text",
    [
        "SELECT w FROM S WINDOW w AS (IS A:+)",
        "SELECT * FROM S WINDOW w AS (IS A:+)",
        "SELECT collect(w.v) AS n FROM S WINDOW w AS (IS A:+)",
        "SELECT max(w.s) AS n FROM S WINDOW w AS (IS A:+)",
        "SELECT max(w.d) AS n FROM S WINDOW w AS (IS A:+)",
        "SELECT sum(w.u) AS n FROM S WINDOW w AS (IS A:+)",
        "SELECT sum(w.v - PREV(w.v)) AS n FROM S WINDOW w AS (IS A:+)",
        "SELECT sum(w.v) AS n FROM S WINDOW w AS (IS A ; NOT B WITHIN 1 s)",
        "SELECT sum(w.v) AS n FROM S WINDOW w AS (IS A AS a ; A AS b FILTER b.v > a.v)",
        "SELECT sum(a.v) AS n FROM S WHERE (A AS a)+ ; B",
    ],
)
def test_with_their_events(text: str) -> None:
    assert spans_of(text) is None


def test_what_is_folded_over_one_event() -> None:
    spans = spans_of("SELECT sum(w.v * 2) AS n FROM S WINDOW w AS (IS A:+)")
    assert spans is not None
    (folded,) = spans.folded
    assert isinstance(folded, Folded)
    assert (spans.variable, str(folded.kind)) == ("w", "integer")


def test_the_events_are_there_when_they_are_asked_for() -> None:
    matches = ensue.query("SELECT count(w) AS n FROM S WINDOW w AS (IS A:+)").run(EVENTS, unit="s")
    assert _marked(matches) == [[0], [0, 1], [1]]


def test_sums_of_floats_of_all_sizes_over_many_batches() -> None:
    """Each batch brings larger and smaller floats, so that what was summed up before has to move."""
    values = [0.1, 1e100, -1e100, 5e-324, 1e-200, 1.7e308, 1.7e308, -1.7e308, 3.0, 1e16, 1.0]
    table = pa.table({"time": range(len(values)), "type": ["A"] * len(values), "v": values})
    query = ensue.query("SELECT sum(w.v) AS s, avg(w.v) AS a FROM S WINDOW w AS (IS ANY:+)")
    choice, stream = choice_of(query, table)
    expected = shown(rows_with_marks(choice, stream))
    running = RunningQuery(choice, stream.tick)
    found = []
    for k in range(len(values)):
        found.append(running.push(stream.slice(k, 1)))
        state = running.save()
        running.load(state)
    assert shown(pa.concat_tables(found)) == expected


def test_a_state_with_events_is_another() -> None:
    """A query whose windows are found by their ends cannot go on from a state that has their events."""
    choice, stream = choice_of(ensue.query("SELECT sum(w.v) AS s FROM S WINDOW w AS (IS A:+)"), EVENTS)
    assert choice.made_by(stream.tick) != choice.for_rows.made_by(stream.tick)
