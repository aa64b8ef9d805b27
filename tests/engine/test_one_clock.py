"""Queries with one clock and bounds on one side of it: the matches, constant work an event, and what is kept."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from amounts import amount
from engines import choice_of, found_events, plan_of, run_plan
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import ensue
from ensue.data.events import EventStream, read_events
from ensue.engines import reference
from ensue.engines.finishing import finished
from ensue.kernels import clock_evaluator
from ensue.kernels.arena import USED
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_query
from ensue.logic.check import Checked, check
from ensue.plan import Plan

_ATOMS = st.sampled_from(["A AS x", "B AS y", "C AS z", "(A OR B) AS w", "A", "B", "ANY"])
_UPPER, _LOWER = ["[<= 1 s]", "[< 2 s]", "[<= 3 s]"], ["[>= 1 s]", "[> 1 s]", "[>= 2 s]"]


def _patterns(bounds: list[str]) -> st.SearchStrategy[str]:
    """Patterns with such gaps, one of them at least, and with such windows inside."""
    gaps = st.sampled_from(["", "", *bounds])

    def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        sequence = st.tuples(part, st.sampled_from([";", ";", ":"]), gaps, part).map(
            lambda p: f"({p[0]} {p[1]}{p[2]} {p[3]})"
        )
        repeated = st.tuples(part, st.sampled_from(["+", "+", ":+"]), gaps).map(lambda p: f"({p[0]}){p[1]}{p[2]}")
        either = st.tuples(part, part).map(lambda p: f"({p[0]} OR {p[1]})")
        inside = st.tuples(part, st.sampled_from(bounds)).map(lambda p: f"({p[0]} WITHIN {p[1]})")
        return st.one_of(sequence, sequence, repeated, either, inside)

    parts = st.recursive(_ATOMS, larger, max_leaves=3)
    return st.one_of(
        st.tuples(parts, st.sampled_from(bounds), parts).map(lambda p: f"{p[0]} ;{p[1]} {p[2]}"),
        st.tuples(parts, st.sampled_from(bounds)).map(lambda p: f"({p[0]})+{p[1]}"),
    )


#: Patterns, and a window that leaves them one clock.
PATTERNS = st.one_of(
    st.tuples(_patterns(_UPPER), st.sampled_from(["", "", " WITHIN 4 s"])),
    st.tuples(_patterns(_LOWER), st.sampled_from(["", "", " WITHIN [>= 4 s]", " WITHIN [> 2 s]"])),
)
#: Types and the seconds since the event before: many are at the same time.
EVENTS = st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from([0, 0, 1, 2, 3])), min_size=4, max_size=12)


def prepared(text: str, table: pa.Table) -> tuple[Checked, Plan, EventStream]:
    query = parse_query(text)
    stream = read_events(table, query.streams, unit="s")
    checked = check(query, text, stream.schema)
    plan = plan_of(checked)
    assert plan is not None
    return checked, plan, stream


def table_of(events: list[tuple[str, int]]) -> pa.Table:
    types, delays = zip(*events, strict=True)
    return pa.table({"time": np.cumsum(delays), "type": types})


@settings(max_examples=amount(400), suppress_health_check=[HealthCheck.filter_too_much])
@given(PATTERNS, EVENTS, st.booleans())
def test_as_the_reference_and_at_every_cut(
    bounded: tuple[str, str], events: list[tuple[str, int]], projects: bool
) -> None:
    pattern, window = bounded
    shown = next((v for v in "xyzw" if projects and f"AS {v}" in pattern), "*")
    checked, plan, stream = prepared(f"SELECT {shown} FROM S WHERE {pattern}{window}", table_of(events))
    assume(plan.on_one_clock)
    found = found_events(finished(Runner(plan, stream.tick).push(stream), choice_of(plan), stream))
    assert len(found) == len(set(found))
    assert set(found) == set(found_events(reference.evaluate(checked, stream)))
    for cut in range(len(stream) + 1):
        first, second = Runner(plan, stream.tick), Runner(plan, stream.tick)
        pieces = found_events(finished(first.push(stream.slice(0, cut)), choice_of(plan), stream))
        second.load(first.save())
        pieces += found_events(finished(second.push(stream.slice(cut, len(stream))), choice_of(plan), stream))
        assert pieces == found


def random_table(seed: int, n: int, *, keys: int = 3) -> pa.Table:
    rng = Random(seed)
    return pa.table(
        {
            "time": np.cumsum(rng.choices([0, 1, 1, 2], k=n)),
            "type": rng.choices("ABC", k=n),
            "k": rng.choices(range(keys), k=n),
        }
    )


_CLAUSED = [
    "SELECT * FROM S WHERE A ;[<= 3 s] B ;[<= 4 s] C PARTITION BY k",
    "SELECT * FROM S WHERE A+[<= 2 s] ;[<= 5 s] C PARTITION BY k CONSUME BY PARTITION",
    "SELECT * FROM S WHERE A ;[<= 3 s] B ; C PARTITION BY k WITHIN 6 s CONSUME BY ANY",
    "SELECT * FROM S WHERE A ;[<= 3 s] B ; C AS z WITHIN 6 s CONSUME BY ANY",
    "SELECT x FROM S WHERE A AS x ;[<= 3 s] A ; C WITHIN 6 s",
    "SELECT * FROM S WHERE A AS x ; B AS y ;[<= 3 s] C AS z FILTER x.k = y.k AND y.k = z.k",
    "SELECT * FROM S WHERE A AS x ;[<= 3 s] B AS y ; C AS z FILTER x.k + y.k = z.k WITHIN 5 s",
    "SELECT * FROM S WHERE (A ;[<= 2 s] B) ; NOT C WITHIN 2 s",
    "SELECT * FROM S WHERE A ;[> 7 s] B ;[>= 9 s] C PARTITION BY k",
    "SELECT * FROM S WHERE (A AS x)+[> 3 s] ;[> 3 s] C PARTITION BY k CONSUME BY PARTITION",
    "SELECT * FROM S WHERE A ; B ; C PARTITION BY k WITHIN [>= 7 s]",
    "SELECT * FROM S WHERE A+[> 3 s] ;[>= 2 s] C PARTITION BY k CONSUME BY ANY",
    "SELECT * FROM S WHERE A AS x ; B+[> 60 s] PARTITION BY k",
]


@pytest.mark.parametrize("text", _CLAUSED)
@pytest.mark.parametrize("seed", range(4))
def test_with_partitions_consumption_and_conditions(text: str, seed: int) -> None:
    table = random_table(seed, 26)
    assert prepared(text, table)[1].on_one_clock
    found, wanted = (
        sorted(map(repr, ensue.match(table, text, unit="s", engine=name))) for name in ("automaton", "reference")
    )
    assert found == wanted


@pytest.mark.parametrize("text", [t for t in _CLAUSED if "CONSUME BY ANY" not in t and "NOT" not in t])
def test_threads_and_batches_change_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensue.engines.parallel.SMALL", 1)
    _, plan, stream = prepared(text, random_table(1, 300))
    wanted = found_events(run_plan(plan, stream, threads=1))
    assert wanted
    for threads, batch in ((2, 300), (3, 7), (1, 1)):
        assert found_events(run_plan(plan, stream, threads=threads, batch=batch)) == wanted


def test_a_limit_takes_some_of_each_end() -> None:
    text = "SELECT * FROM S WHERE A ;[<= 3 s] B ; C WITHIN 9 s"
    table = random_table(2, 60)
    everything = found_events(Runner(prepared(text, table)[1], 10**9).push(prepared(text, table)[2]))
    _, plan, stream = prepared(f"{text} LIMIT 2 PER END", table)
    some = found_events(Runner(plan, stream.tick).push(stream))
    ends = [end for _, end, _ in everything]
    assert sorted(end for _, end, _ in some) == sorted(e for e in set(ends) for _ in range(min(2, ends.count(e))))
    assert set(some) <= set(everything)


@pytest.mark.parametrize(
    "pattern",
    [
        "A AS x ;[<= 900 s] A ; C AS y WITHIN 9000 s",
        "A ;[<= 900 s] B ;[<= 900 s] C",
        "(A OR B)+[<= 900 s] ; C",
        "A ; (B ; A WITHIN 900 s) ; B ; C",
        "A ;[>= 100 s] B ;[> 50 s] C",
        "(A AS x ; B)+[>= 9 s] ; C",
    ],
)
def test_an_event_makes_as_few_nodes_late_as_early(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many partial matches are open: here all that were begun."""
    n = 4_000
    monkeypatch.setattr(clock_evaluator, "FIRST_NODES", 1 << 18)
    table = pa.table({"time": np.arange(n) // 8, "type": Random(0).choices("AB", k=n)})
    _, plan, stream = prepared(f"SELECT * FROM S WHERE {pattern}", table)
    assert plan.on_one_clock
    runner, made = Runner(plan, stream.tick), []
    for i in range(n):
        before = int(runner.evaluator.arena.used[USED])
        runner.push(stream.slice(i, 1))
        made.append(int(runner.evaluator.arena.used[USED]) - before)
    assert min(made) >= 0  # nothing was collected
    assert max(made[-1_000:]) <= max(made[:1_000]) <= 12


def test_memory_is_that_of_the_bounds_and_not_of_the_stream() -> None:
    n = 60_000
    table = pa.table({"time": np.arange(n), "type": ["A", "B"] * (n // 2)})
    _, plan, stream = prepared("SELECT * FROM S WHERE A ;[<= 9 s] A ;[<= 5 s] C", table)
    assert plan.on_one_clock
    runner = Runner(plan, stream.tick)
    for k in range(0, n, 1_000):
        runner.push(stream.slice(k, 1_000))
    runner.drop_idle()
    assert runner.nodes < 60
    assert len(runner.referenced()) <= 15
    runner.pass_time(2 * n)
    assert runner.nodes == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "SELECT * FROM S WHERE A ;[<= 1 s] B WITHIN 9 EVENTS",
            "; not in constant time, because the window also counts events",
        ),
        ("SELECT NEXT * FROM S WHERE A+[<= 1 s] ; B", "; not in constant time, because NEXT compares matches"),
        ("SELECT * FROM S WHERE A ;[<= 1 s] B ; C ;[<= 1 s] B WITHIN 9 s", ""),
        ("SELECT * FROM S WHERE A ;[1 s .. 2 s] B", ""),
    ],
)
def test_what_ordered_trees_evaluate_and_why(text: str, why: str) -> None:
    assert not prepared(text, random_table(0, 5))[1].on_one_clock
    assert f"evaluator     ordered trees: the partial matches that pass a check are adjacent{why}" in (
        ensue.query(text).explain()
    )


def test_what_is_said_of_one_clock() -> None:
    text = ensue.query("SELECT x FROM S WHERE A AS x ;[<= 1 s] A ; B WITHIN 5 s").explain()
    assert "engine        automaton: constant time per event, plus the size of the matches" in text
    assert "evaluator     lists by the clock: one clock with only upper bounds, so constant time per event" in text
    text = ensue.query("SELECT * FROM S WHERE A AS x ;[> 1 s] B").explain()
    assert "evaluator     queues by the clock: one clock with only lower bounds, so constant time per event" in text


@pytest.mark.parametrize("pattern", ["A ; B ; C WITHIN [> 1 s]", "A+[> 3 s] ;[>= 2 s] C", "A ; B+[> 1 s]"])
def test_what_is_said_of_runs_that_do_not_wait_in_line(pattern: str) -> None:
    text = ensue.query(f"SELECT * FROM S WHERE {pattern}").explain()
    assert "engine        automaton: time per event logarithmic in the open partial matches, plus the size" in text
    assert "evaluator     trees by the clock: one clock with only lower bounds, so logarithmic time per event" in text


@pytest.mark.parametrize(
    "pattern", ["A ; B ; A ; C WITHIN [>= 100 s]", "(A OR B)+[> 30 s] ;[>= 90 s] C", "A ; B+[> 9 s]"]
)
def test_runs_that_do_not_wait_in_line_take_logarithmic_room(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event makes a few nodes, and at most two for each time that the runs that are open can be halved."""
    n = 4_000
    monkeypatch.setattr(clock_evaluator, "FIRST_NODES", 1 << 18)
    table = pa.table({"time": np.arange(n) // 8, "type": Random(0).choices("AB", k=n)})
    if pattern.endswith("B+[> 9 s]"):  # what follows keeps the matches from being written
        pattern += " ; C"
    _, plan, stream = prepared(f"SELECT * FROM S WHERE {pattern}", table)
    assert plan.on_one_clock
    runner, made = Runner(plan, stream.tick), []
    for i in range(n):
        before = int(runner.evaluator.arena.used[USED])
        runner.push(stream.slice(i, 1))
        made.append(int(runner.evaluator.arena.used[USED]) - before)
    assert min(made) >= 0  # nothing was collected
    assert max(made) <= 3 * 2 * (int(n).bit_length() + 2)
    assert sum(made) <= 12 * n


def test_which_events_took_part_is_told_by_registers() -> None:
    text = "SELECT * FROM S WHERE A ;[<= 3 s] B ; C WITHIN 6 s"
    table = random_table(3, 60)
    _, plan, stream = prepared(text, table)
    assert plan.on_one_clock
    assert not Runner(plan, stream.tick, union=True).plan.on_one_clock
    found = run_plan(plan, stream, union=True)
    assert set(found.end.tolist()) == {end for _, end, _ in found_events(Runner(plan, stream.tick).push(stream))}
