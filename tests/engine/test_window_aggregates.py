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
from window_rows import choice_of, in_batches, rows_with_marks, shown, texts

import ensue
from ensue.engines.whole_tables import evaluate_table
from ensue.plan.spans import Folded, Spans
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery


def by_brute_force(windows: Windows, rows: list[Row]) -> list[tuple[Any, ...]]:
    """The rows of the result: the times of both ends, and each item."""
    return [
        (rows[first]["time"], rows[last]["time"], *(aggregate_by_brute_force(item, inside) for item in windows.items))
        for first, last, inside in windows_by_brute_force(windows, rows)
    ]


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


CHOSEN = (
    "SELECT NEXT {items} FROM S WINDOW w AS (IS A : ANY:* : B) {partition}",
    "SELECT LAST {items} FROM S WINDOW w AS (IS A:+) {partition} WITHIN 3 EVENTS",
    "SELECT MAX {items} FROM S WINDOW w AS (IS A:+ : B?) FILTER max(w.i) > 0 {partition} WITHIN 3 EVENTS",
    "SELECT LAST {items} FROM S WINDOW w AS (IS A:+ : B?) FILTER sum(w.i) > 0 {partition}",
    "SELECT {items} FROM S WINDOW w AS (IS A:+ : B) {partition} CONSUME BY ANY",
    "SELECT {items} FROM S WINDOW w AS (IS A ; B) {partition} WITHIN 3 s",
    "SELECT {items} FROM S WINDOW w AS (IS ANY:{{3}}) {partition}",
    "SELECT {items} FROM S WINDOW w AS (IS ANY:{{3}}) {partition} CONSUME BY PARTITION",
    "SELECT LAST {items} FROM S WINDOW w AS (AFTER (ANY:{{2}}):* IS ANY : A:{{2}}) FILTER count(w.i) > 1 {partition}",
    "SELECT {items} FROM S WINDOW w AS (IS B : ANY[i > PREV(i)]:{{1}}) {partition} CONSUME BY PARTITION",
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
    "text",
    [
        "IS A:+ : B) PARTITION BY k",
        "IS A:+ : B) WITHIN 9 s",
        "IS A:+ : B) WITHIN 5 EVENTS",
        "IS A:+ : B) PARTITION BY k WITHIN 20 EVENTS",
        "IS A:+ : B) PARTITION BY k CONSUME BY ANY",
        "IS ANY:{4}) PARTITION BY k",
        "IS B : A:{3}) PARTITION BY k CONSUME BY PARTITION",
        "AFTER (ANY:{3}):* IS ANY:{7})",
    ],
)
def test_several_cores_give_the_same_rows(text: str) -> None:
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
    query = ensue.query(f"SELECT count(w) AS n, sum(w.v) AS s, max(w.v) AS m FROM S WINDOW w AS ({text}")
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
        "SELECT sum(w.v) AS n FROM S WINDOW w AS (IS A:+) FILTER w.v > 1 OR count(w) > 2",
        "SELECT sum(w.v) AS n FROM S WINDOW w AS (IS A:+) FILTER w[v > 1] OR count(w) > 2",
        "SELECT sum(w.v) AS n FROM S WINDOW w AS (IS A:+) FILTER w.v >= avg(w.v)",
    ],
)
def test_with_their_events(text: str) -> None:
    assert spans_of(text) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("IS ANY:{100}", 100),
        ("IS A:{3}", 3),
        ("IS A : B:{4}", 5),
        ("AFTER (ANY:{2}):* IS ANY:{3}", 3),
        ("IS ANY : ANY[v > PREV(v)]:{3}", 4),
        ("IS A", None),
        ("IS A : B : A", None),
        ("IS A:{2,3}", None),
        ("IS A OR A : A", None),
    ],
)
def test_windows_that_a_ring_counts(text: str, count: int | None) -> None:
    spans = spans_of(f"SELECT count(w) AS n FROM S WINDOW w AS ({text})")
    assert spans is not None
    assert spans.count == count


@pytest.mark.parametrize(
    ("text", "size"), [("A : (A OR B):* : B", 4), ("A:* : B", 4), ("A : B : ANY", 4), ("(A OR B) : (A OR B):+", 3)]
)
def test_states_from_which_the_same_comes_are_one(text: str, size: int) -> None:
    """Runs that differ only in how they began are in one list."""
    plan = choice_of(ensue.query(f"SELECT count(w) AS n FROM S WINDOW w AS (IS {text})"), EVENTS)[0].for_rows.plan
    assert plan is not None
    assert plan.automaton.size == size


def test_what_is_folded_over_one_event() -> None:
    spans = spans_of("SELECT sum(w.v * 2) AS n FROM S WINDOW w AS (IS A:+)")
    assert spans is not None
    (folded,) = spans.folded
    assert isinstance(folded, Folded)
    assert (spans.variable, str(folded.kind)) == ("w", "integer")


@pytest.mark.parametrize(
    "items",
    ["*", "w", "collect(w.i) AS c", "w, sum(w.f) AS s", "max(w.s) AS m, median(w.f) AS d", "sum(w.i - PREV(w.i)) AS p"],
)
@pytest.mark.parametrize("rest", ["", " PARTITION BY k", " PARTITION BY k WITHIN 3 EVENTS"])
def test_windows_that_are_judged_before_they_are_written_out(items: str, rest: str) -> None:
    text = f"SELECT {items} FROM S WINDOW w AS (IS A:+ : ANY) FILTER avg(w.i) > 0 FILTER count(w) > 1{rest}"
    table = table_of(random_rows(Random("judged"), 40))
    query = ensue.query(text)
    choice, _ = choice_of(query, table)
    spans = choice.for_table.plan.spans if choice.for_table.plan is not None else None
    assert spans is not None
    assert spans.shown
    found, expected = (query.run(table, unit="s", engine=engine) for engine in ("automaton", "reference"))
    assert _marked(found) == _marked(expected) != []
    assert sorted(map(repr, found.to_arrow().to_pylist())) == sorted(map(repr, expected.to_arrow().to_pylist()))


def test_the_events_are_there_when_they_are_asked_for() -> None:
    matches = ensue.query("SELECT count(w) AS n FROM S WINDOW w AS (IS A:+)").run(EVENTS, unit="s")
    assert _marked(matches) == [[0], [0, 1], [1]]


@pytest.mark.parametrize(
    ("text", "open_"),
    [
        ("IS ANY:{3}", 2),
        ("IS ANY:{4}", 3),
        ("IS B : ANY:{3}", 1),
        ("IS A:{3}", 0),
        ("IS A : ANY:* : B", 2),
        ("IS B:+", 1),
    ],
)
def test_how_many_are_open(text: str, open_: int) -> None:
    choice, stream = choice_of(ensue.query(f"SELECT count(w) AS n FROM S WINDOW w AS ({text})"), EVENTS)
    running = RunningQuery(choice, stream.tick)
    running.push(stream)
    assert running.open_windows == open_


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
