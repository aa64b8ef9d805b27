"""`Query.detect` says what grouping the matches by their last event would say, however it finds it out."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from amounts import most, shares
from detecting import Row, as_rows, by_end
from engines import plan_of, run_plan
from strategies import events_table, random_query, random_selecting_query, random_stream
from without_jit import counted_without_jit

import ensue
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream, read_events
from ensue.engines import reference
from ensue.errors import DataError, EngineError
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.plan import Plan
from ensue.results.matches import Matches


def rows_of(found: ComplexEvents) -> list[Row]:
    places = [slice(found.offset[m], found.offset[m + 1]) for m in range(len(found))]
    marked = [tuple(found.position[place].tolist()) for place in places]
    return list(zip(found.end.tolist(), found.start.tolist(), marked, strict=True))


def prepared(text: str, table: pa.Table) -> tuple[Plan, EventStream]:
    query = parse_query(text)
    stream = read_events(table, query.streams, unit="s")
    plan = plan_of(check(query, text, stream.schema))
    assert plan is not None
    return plan, stream


def compare(seed: int, *, selecting: bool = False) -> str:
    """One random query over a random stream: in batches and in shares, against the matches of the reference."""
    rng = Random(seed)
    query = random_selecting_query(rng) if selecting else random_query(rng)
    text = print_query(query)
    stream = read_events(events_table(random_stream(rng, 12)), query.streams, unit="s")
    checked = check(parse_query(text), text, stream.schema)
    plan = plan_of(checked)
    if plan is None:
        return "refused"
    told = f"seed {seed}:\n{text}\nover {stream.table.to_pylist()}"
    # With LIMIT it is not laid down which of the matches are taken.
    matches = reference.evaluate(checked, stream) if query.limit is None else run_plan(plan, stream, threads=1)
    found = rows_of(run_plan(plan, stream, union=True, threads=1, batch=rng.choice([1, 2, 5, 100])))
    assert found == as_rows(by_end(Matches(checked, stream, matches))), told
    assert rows_of(run_plan(plan, stream, union=True, threads=rng.choice([2, 3]))) == found, told
    return "enumerated" if plan.decided_last else "walked"


@pytest.mark.parametrize("seeds", shares(2_000, each=500, first=100_000))
def test_random_queries(seeds: range) -> None:
    became = [compare(seed) for seed in seeds]
    assert became.count("walked") > most(seeds, 0.2)
    assert became.count("enumerated") > most(seeds, 0.05)


@pytest.mark.parametrize("seeds", shares(300, each=300))
def test_random_queries_with_selectors_at_any_depth(seeds: range) -> None:
    became = [compare(seed, selecting=True) for seed in seeds]
    assert became.count("walked") > most(seeds, 0.3)


@pytest.mark.slow
def test_random_queries_without_the_compiler() -> None:
    expression = "sum(compare(seed) == 'walked' for seed in range(200_000, 200_100))"
    (walked,) = counted_without_jit("test_detect", expression)
    assert walked > 20


# ---------------------------------------------------------------- registers, slices, shares, little room


def stream_of(n: int, types: str = "ABC", seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "time": pa.array(np.cumsum(rng.integers(0, 3, n))),
            "type": pa.array(rng.choice(list(types), n)),
            "v": pa.array(rng.integers(0, 8, n), mask=rng.random(n) < 0.1),
            "w": pa.array(rng.choice([0.5, 1.0, 2.5, np.nan], n)),
            "s": pa.array(rng.choice(["a", "b", "c"], n), mask=rng.random(n) < 0.1),
            "k": pa.array(rng.integers(0, 5, n)),
        }
    )


WALKED = [
    "SELECT * FROM S WHERE A ; B+ ; C WITHIN 9 EVENTS",
    "SELECT * FROM S WHERE A ; B+ ; C WITHIN 8 s WITHIN 7 EVENTS",
    "SELECT y FROM S WHERE (A AS x)+ ; B AS y WITHIN 9 s",
    "SELECT B FROM S WHERE A ; B ; C PARTITION BY k WITHIN 12 EVENTS",
    "SELECT * FROM S WHERE A ; B ; C PARTITION BY k CONSUME BY PARTITION WITHIN 30 s",
    "SELECT * FROM S WHERE A ; B+ CONSUME BY ANY WITHIN 30 s",
    "SELECT * FROM S WHERE A AS x ; B AS y ; C AS z FILTER x.v < z.v WITHIN 10 EVENTS",
    "SELECT * FROM S WHERE A AS x ; (B AS y)+ ; C AS z FILTER x.v = z.v WITHIN 10 s",
    "SELECT * FROM S WHERE A AS x ; B AS y ; C AS z FILTER x.s = y.s FILTER x.w <= z.w WITHIN 12 EVENTS",
    "SELECT * FROM S WHERE A AS x ;[<= 4 s] B AS y ;[>= 1 s] C AS z WITHIN 12 s",
    "SELECT * FROM S WHERE (A AS x)+ ; B AS y FILTER x.v < y.v WITHIN 8 EVENTS",
    "SELECT * FROM S WHERE (A ;[< 3 s] B) OR (A ;[> 2 s] B) WITHIN 9 EVENTS",
    "SELECT x FROM S WHERE A AS x ; B AS y FILTER x.s = y.s WITHIN 15 EVENTS",
    "SELECT * FROM S WHERE ANY : ANY WITHIN 2 EVENTS",
]
ENUMERATED = [
    ("SELECT * FROM S WHERE A ; B+ ; C WITHIN 9 EVENTS LIMIT 2 PER END", "LIMIT takes some of the matches of an end"),
    ("SELECT NEXT * FROM S WHERE A ; B+ ; C WITHIN 9 EVENTS", "NEXT chooses among the matches of an end"),
    (
        "SELECT MAX * FROM S WHERE A AS x ; B AS y FILTER x.v < y.v WITHIN 9 s",
        "MAX chooses among the matches of an end",
    ),
    ("SELECT * FROM S WHERE (A AS x)+ ; B AS y FILTER x.v <> y.v WITHIN 9 s", "conditions are judged on whole matches"),
]


@pytest.mark.parametrize("text", [*WALKED, *(text for text, _ in ENUMERATED)])
def test_any_number_of_threads_and_any_batches(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensue.engines.parallel.SMALL", 100)
    plan, stream = prepared(text, stream_of(1500))
    checked = check(parse_query(text), text, stream.schema)
    wanted = as_rows(by_end(Matches(checked, stream, run_plan(plan, stream, threads=1))))
    assert wanted
    for threads, batch in ((1, 1 << 20), (1, 137), (2, 1 << 20), (3, 500)):
        found = rows_of(run_plan(plan, stream, union=True, threads=threads, batch=batch))
        assert found == wanted, (threads, batch)


@pytest.mark.parametrize("text", WALKED)
def test_against_the_reference(text: str) -> None:
    query = ensue.query(text)
    ended = 0
    for seed in range(8):
        table = stream_of(24, seed=seed)  # the reference makes all of an iteration before it looks at the window
        found, wanted = (query.detect(table, unit="s", engine=engine) for engine in ("automaton", "reference"))
        assert found.to_arrow().equals(wanted.to_arrow())
        assert len(found) == found.ends.sum()
        ended += len(found)
    assert ended


@pytest.mark.parametrize(("text", "reason"), ENUMERATED)
def test_explain_says_where_the_matches_are_written_out(text: str, reason: str) -> None:
    assert f"\n  detection     from the matches, because {reason}\n" in ensue.query(text).explain()


@pytest.mark.parametrize("text", WALKED)
def test_explain_says_nothing_of_it_elsewhere(text: str) -> None:
    assert "\n  detection " not in ensue.query(text).explain()


def test_more_matches_than_could_ever_be_written_out() -> None:
    """There are 2^5000 - 1 matches that end at the C, and as many at the next; room is short for nodes and output."""
    types = ["A", *["B"] * 5000, "C", "C"]
    table = pa.table({"time": pa.array(np.arange(len(types))), "type": pa.array(types)})
    found = ensue.query("SELECT * FROM S WHERE A ; B+ ; C").detect(table, unit="s")
    assert found.end.tolist() == [5001, 5002]
    first, second = found.to_arrow().column("took_part").to_pylist()
    assert first == list(range(5002))
    assert second == [*range(5001), 5002]


def test_events_that_took_part_may_be_more_than_a_buffer_holds() -> None:
    n = 1200
    table = pa.table({"time": pa.array(np.arange(n)), "type": pa.array(["A"] * n)})
    plan, stream = prepared("SELECT * FROM S WHERE A+", table)
    found = Runner(plan, stream.tick, union=True).push(stream)
    assert len(found.pieces) > 2
    assert found.marked == n * (n + 1) // 2
    assert rows_of(found)[-1] == (n - 1, 0, tuple(range(n)))


def test_a_node_is_visited_once_for_each_end() -> None:
    """A pattern of 16 steps over events that fit them all: the ways through the nodes are far more than the nodes."""
    table = pa.table({"time": pa.array(np.arange(200)), "type": pa.array(["A"] * 200)})
    found = ensue.query("SELECT * FROM S WHERE A{16} WITHIN 100 EVENTS").detect(table, unit="s")
    assert found.end.tolist() == list(range(15, 200))
    assert found.to_arrow().column("took_part").to_pylist()[-1] == list(range(100, 200))


def test_a_limit_of_what_memory_holds() -> None:
    table = pa.table({"time": pa.array(np.arange(6000)), "type": pa.array(["A"] * 6000)})
    with pytest.raises(EngineError) as e:
        ensue.query("SELECT * FROM S WHERE A+").detect(table, unit="s", memory="64 MB")
    told = re.sub(r"[\d,]{9,}", "N", re.sub(r"6\d\.\d MB", "S MB", str(e.value))).splitlines()[0]
    assert told == (
        "the query needs at least S MB of memory and may take 64 MB: N events took part in matches, counted once "
        "for each end of a match"
    )


# ---------------------------------------------------------------- what people see

ROWS: list[dict[str, Any]] = [
    {"time": 1, "type": "A", "room": "attic"},
    {"time": 2, "type": "A", "room": "hall"},
    {"time": 3, "type": "B", "room": "hall"},
    {"time": 5, "type": "A", "room": "hall"},
    {"time": 5, "type": "B", "room": "hall"},
]
IN_ROOMS = ensue.query("SELECT * FROM S WHERE A ; B PARTITION BY room")


def test_the_table() -> None:
    found = IN_ROOMS.detect(ROWS, unit="s")
    assert found.to_arrow().schema == pa.schema(
        [
            ("room", pa.string()),
            ("start_time", pa.int64()),
            ("end_time", pa.int64()),
            ("position", pa.int64()),
            ("took_part", pa.list_(pa.int64())),
        ]
    )
    assert list(found) == [
        {"room": "hall", "start_time": 2, "end_time": 3, "position": 2, "took_part": [1, 2]},
        {"room": "hall", "start_time": 2, "end_time": 5, "position": 4, "took_part": [1, 3, 4]},
    ]
    assert (len(found), found.ends.tolist()) == (2, [False, False, True, False, True])
    assert (found.start.tolist(), found.end.tolist()) == ([1, 1], [2, 4])
    assert found.to_pandas()["position"].tolist() == found.to_polars()["position"].to_list() == [2, 4]


def test_the_text() -> None:
    assert repr(IN_ROOMS.detect(ROWS, unit="s")) == (
        "room  start_time  end_time  position  took_part\n"
        "----  ----------  --------  --------  ---------\n"
        "hall  2           3         2         1, 2\n"
        "hall  2           5         4         1, 3, 4\n"
        "2 events end a match"
    )
    every = ensue.query("SELECT * FROM S WHERE A")
    many = repr(every.detect([{"time": k, "type": "A"} for k in range(25)], unit="s"))
    assert many.endswith("\n25 events end a match, the first 20 shown")
    assert "<td>1, 3, 4</td>" in IN_ROOMS.detect(ROWS, unit="s")._repr_html_()


@pytest.mark.parametrize("engine", ["auto", "automaton", "reference"])
def test_nothing_ends(engine: str, caplog: pytest.LogCaptureFixture) -> None:
    found = ensue.query("SELECT * FROM S WHERE A ; D").detect(ROWS, unit="s", engine=engine)
    assert (len(found), found.to_arrow().num_rows, found.ends.tolist()) == (0, 0, [False] * len(ROWS))
    assert "no event has the type 'D'" in caplog.text
    assert found.to_arrow().schema.field("took_part").type == pa.list_(pa.int64())


def test_what_only_the_reference_evaluates() -> None:
    text = "SELECT * FROM S WHERE (A AS a FILTER RUNNING count(DISTINCT a.room) < 2)->+ ; B"
    found = ensue.query(text).detect(ROWS, unit="s")
    assert [(r["position"], r["took_part"]) for r in found] == [(2, [0, 1, 2]), (4, [0, 1, 3, 4])]
    with pytest.raises(ensue.QueryError, match="DISTINCT"):
        ensue.query(text).detect(ROWS, unit="s", engine="automaton")


def test_only_the_columns_that_count_are_read(tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    pa.parquet.write_table(pa.table({"time": [1, 2], "type": ["A", "B"], "v": [1, 2], "rest": ["x", "y"]}), file)
    found = ensue.query("SELECT * FROM S WHERE A AS x ; B AS y FILTER x.v < y.v").detect(file, unit="s")
    assert found._stream.table.column_names == ["time", "type", "v"]
    assert found.ends.tolist() == [False, True]


def test_it_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    IN_ROOMS.detect(ROWS, unit="s", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (5, 5)


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("SELECT * FROM S WHERE A ; B WITHIN 5 s", {}, DataError, "the time column 'time' is an integer: say its unit"),
        ("SELECT * FROM S WHERE A", {"engine": "fast"}, EngineError, "unknown engine 'fast'"),
        (
            "SELECT * FROM S WHERE A",
            {"engine": "spark"},
            EngineError,
            "engine='spark' takes a Spark DataFrame",
        ),
        ("SELECT * FROM S WHERE A PARTITION BY position", {}, DataError, "'position' is also a column of the result"),
        ("SELECT x.u FROM S WHERE A AS x", {}, ensue.QueryError, "unknown attribute 'u' of x"),
    ],
)
def test_what_is_refused(text: str, options: dict[str, Any], error: type[Exception], message: str) -> None:
    events = [{"time": 1, "type": "A", "position": 1}]
    with pytest.raises(error, match=message):
        ensue.query(text).detect(events, **options)
