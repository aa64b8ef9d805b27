"""UNTIL and END: engine, reference and brute force over pairs of positions agree, in batches and with saved states."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from amounts import most, shares
from window_expressions import (
    Row,
    Windows,
    aggregate_by_brute_force,
    random_closed_windows,
    random_rows,
    table_of,
    windows_by_brute_force,
)
from window_rows import choice_of, in_batches, shown, texts

import ensue
from ensue.engines.whole_tables import evaluate_table
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.results.matches import Matches


def by_brute_force(windows: Windows, rows: list[Row], *, ended: bool) -> list[tuple[Any, ...]]:
    """The rows of the result: the times of both ends, and each item."""
    return [
        (rows[first]["time"], rows[last]["time"], *(aggregate_by_brute_force(item, inside) for item in windows.items))
        for first, last, inside in windows_by_brute_force(windows, rows, ended=ended)
    ]


def compare(seed: int) -> str:
    """Random windows with UNTIL over a random stream, which has ended or not, by every way there is."""
    rng = Random(f"until {seed}")
    windows, rows = random_closed_windows(rng), random_rows(rng, rng.choice([1, 5, 12, 25]))
    table, closed = table_of(rows), rng.random() < 0.5
    query = ensue.query(windows.text)
    expected = texts(by_brute_force(windows, rows, ended=closed))
    matches = query.run(table, unit="s", closed=closed)
    assert shown(matches.to_arrow()) == expected, (seed, windows.text)
    assert matches.end.tolist() == sorted(matches.end.tolist()), (seed, windows.text)
    assert in_batches(query, table, rng, closed=closed) == expected, (seed, windows.text)
    if seed % 4 == 0:
        reference = query.run(table, unit="s", engine="reference", closed=closed)
        assert shown(reference.to_arrow()) == expected, (seed, windows.text)
        assert _detected(query, table, closed, "auto") == _detected(query, table, closed, "reference"), seed
    assert choice_of(query, table)[0].plan is not None, (seed, windows.text)
    return "compared" if expected else "without a match"


def _detected(query: ensue.Query, table: pa.Table, closed: bool, engine: str) -> list[str]:
    return sorted(map(repr, query.detect(table, unit="s", engine=engine, closed=closed).to_arrow().to_pylist()))


@pytest.mark.parametrize("seeds", shares(400, each=100))
def test_random_windows_with_until(seeds: range) -> None:
    assert [compare(seed) for seed in seeds].count("compared") > most(seeds, 0.3)


@pytest.mark.parametrize("text", ["IS A:+", "AFTER (ANY:{3}):* IS A:+ : B", "IS ANY:{4}"])
@pytest.mark.parametrize("clauses", ["", "PARTITION BY k", "WITHIN 9 s", "PARTITION BY k CONSUME BY PARTITION"])
def test_several_cores_give_the_same_rows(text: str, clauses: str) -> None:
    rng = Random("cores")
    count = 70_000  # a smaller table is not shared out
    table = pa.table(
        {
            "time": pa.array(sorted(rng.choices(range(3 * count), k=count))),
            "type": pa.array(rng.choices("AABC", k=count)),
            "k": pa.array(rng.choices(range(40), k=count)),
            "v": pa.array(rng.choices([None, 1, 2, 3], k=count)),
        }
    )
    until = f"WINDOW w AS ({text} UNTIL (ANY[v > PREV(v)] OR END))"
    query = ensue.query(f"SELECT count(w) AS n, sum(w.v) AS s, last(w.v) AS l FROM S {until} {clauses}")
    choice, stream = choice_of(query, table)
    ways = ((1, None), (1, 3000), (2, None), (4, 20_000))
    found = [
        Matches(
            choice.checked, stream, evaluate_table(choice.for_rows, stream, threads=n, batch=b, closed=True)
        ).to_arrow()
        for n, b in ways
    ]
    assert len(found[0]) > 500
    assert all(other.equals(found[0]) for other in found[1:])


# ---------------------------------------------------------------- by hand

EVENTS = [{"time": t, "type": c, "k": t % 2} for t, c in enumerate("ABAABA")]


@pytest.mark.parametrize("engine", ["automaton", "reference"])
@pytest.mark.parametrize(
    ("text", "open_", "closed"),
    [
        ("IS A:+ UNTIL END)", [], [(5, 5)]),
        ("IS A:+ UNTIL (B OR END))", [(0, 0), (2, 3), (3, 3)], [(0, 0), (2, 3), (3, 3), (5, 5)]),
        ("IS A:+ UNTIL B)", [(0, 0), (2, 3), (3, 3)], [(0, 0), (2, 3), (3, 3)]),
        ("IS A:+ UNTIL (B : B OR END))", [], [(5, 5)]),
        ("IS ANY UNTIL END) PARTITION BY k", [], [(4, 4), (5, 5)]),
    ],
)
def test_end_of_a_closed_table(engine: str, text: str, open_: list[Any], closed: list[Any]) -> None:
    """By hand: END comes behind the last event of each partition, once it is said that nothing follows."""
    query = ensue.query(f"SELECT count(w) AS n FROM S WINDOW w AS ({text}")
    for ended, expected in ((False, open_), (True, closed)):
        found = query.run(EVENTS, unit="s", engine=engine, closed=ended)
        assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == expected
        told = query.detect(EVENTS, unit="s", engine=engine, closed=ended)
        assert sorted(set(told.to_arrow()["end_time"].to_pylist())) == sorted({end for _, end in expected})


def test_only_windows_that_may_be_closed_are_looked_for() -> None:
    """Of windows that grow with each event, those that end before the last one are some 200 million; none is closed."""
    events = pa.table({"time": range(20_000), "type": ["A"] * 20_000})
    query = ensue.query("SELECT count(w) AS n FROM S WINDOW w AS (IS A:+ UNTIL (B OR END))")
    assert len(query.run(events, unit="s", memory="64 MB")) == 0
    assert len(query.run(events, unit="s", memory="64 MB", closed=True)) == 20_000


def test_first_rows_are_those_that_end_first() -> None:
    """By hand: the window of key 0 ends first and is closed last."""
    rows = [(0, 0, "A"), (1, 1, "A"), (2, 1, "B"), (3, 0, "B")]
    events = [{"time": t, "k": k, "type": c} for t, k, c in rows]
    query = ensue.query("SELECT count(w) AS n FROM S WINDOW w AS (IS A UNTIL B) PARTITION BY k LIMIT 1")
    for engine in ("automaton", "reference"):
        assert query.run(events, unit="s", engine=engine).start.tolist() == [0]


@pytest.mark.parametrize("text", ["IS A:+ UNTIL B", "IS A:+ UNTIL B : C", "IS A:+ UNTIL END"])
def test_the_builder_says_the_same(text: str) -> None:
    a, b, c = ensue.dsl.types("A", "B", "C")
    windows = ensue.dsl.window("w").being(a.repeated(link=":"))
    built = {"B": windows.until(b), "B : C": windows.until(b.directly(c)), "END": windows.until(or_end=True)}
    made = ensue.dsl.select(ensue.dsl.call("count", ensue.dsl.variables("w")[0]).named("n")).from_("S")
    tree = made.matching(built[text.partition("UNTIL ")[2]]).build()
    assert tree == ensue.query(f"SELECT count(w) AS n FROM S WINDOW w AS ({text})").ast


def test_what_the_builder_refuses() -> None:
    (a,) = ensue.dsl.types("A")
    windows = ensue.dsl.window("w")
    with pytest.raises(ValueError, match="stands behind being"):
        windows.until(a)
    with pytest.raises(ValueError, match="takes a pattern, or_end=True, or both"):
        windows.being(a).until()
    with pytest.raises(ValueError, match="a pair has one until"):
        windows.being(a).until(a).until(or_end=True)


@pytest.mark.parametrize(
    "pair",
    [
        "IS a+ UNTIL b",
        "AFTER q IS a:+ FILTER a.v > 1 UNTIL (b OR END)",
        "AFTER () IS a UNTIL END",
        "IS a UNTIL (b : c OR d OR END)",
        "IS `UNTIL` UNTIL `END`",
        "IS a UNTIL b FILTER b.v > 1",
        "IS (b TO e WHERE b < e) UNTIL c",
    ],
)
def test_printed_and_read_again(pair: str) -> None:
    tree = parse_query(f"SELECT count(w) AS n FROM S WINDOW w AS ({pair}) OR (IS k)")
    printed = print_query(tree)
    assert f"WINDOW w AS ({pair}) OR (IS k)" in printed
    assert parse_query(printed) == tree


def test_names_that_are_words_here_only() -> None:
    """UNTIL is a name wherever one can stand; END is one everywhere but behind UNTIL."""
    text = "SELECT count(w) AS until FROM until WINDOW w AS (IS UNTIL : END UNTIL END)"
    rows = [{"time": k, "type": t} for k, t in enumerate(["UNTIL", "END"])]
    assert ensue.query(text).run(rows, unit="s", closed=True).to_arrow()["until"].to_pylist() == [2]


def compare_live(seed: int) -> int:
    """Events that come in any order: after each step, the answer is that over the events that are there."""
    rng = Random(f"live until {seed}")
    windows, rows = random_closed_windows(rng), random_rows(rng, rng.choice([5, 12]))
    table = table_of(rows)
    table = table.set_column(
        0, "time", pa.array(range(len(table)))
    )  # the order of equal times would be that of arrival
    query, found = ensue.query(windows.text), 0
    live, order = query.live(unit="s", keep="all"), rng.sample(range(len(table)), len(table))
    came = 0
    while came < len(order):
        size = rng.choice([1, 2, 5])
        live.push(table.take(pa.array(order[came : came + size])))
        came += size
        expected = query.run(table.take(pa.array(sorted(order[:came]))), unit="s").to_arrow()
        answer = live.answer().to_arrow()
        assert shown(answer.select(expected.column_names)) == shown(expected), (seed, windows.text)
        found += len(expected)
    return found


@pytest.mark.parametrize("seeds", shares(20, each=20))
def test_live_windows_with_until(seeds: range) -> None:
    assert sum(map(compare_live, seeds)) > most(seeds, 1)
