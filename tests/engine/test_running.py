"""Running the engine: batches, saved states, threads, memory, limits."""

import os
import subprocess
import sys
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from engines import found_events, plan_of, run_plan

from ensue.data.events import read_events
from ensue.engines import reference
from ensue.kernels.arena import USED
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_query
from ensue.logic.check import check


def stream_of(events: int, types: int = 6, keys: int = 5, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "time": pa.array(np.cumsum(rng.integers(0, 3, events))),
            "type": pa.array([chr(ord("A") + t) for t in rng.integers(0, types, events)]),
            "k": pa.array(rng.integers(0, keys, events)),
            "name": pa.array([f"n{k}" for k in rng.integers(0, keys, events)]),
            "v": pa.array(rng.integers(0, 100, events), mask=rng.random(events) < 0.1),
        }
    )


def prepared(text: str, table: pa.Table):
    query = parse_query(text)
    stream = read_events(table, query.streams, unit="s")
    checked = check(query, text, stream.schema)
    return plan_of(checked), stream, checked


QUERIES = [
    "SELECT * FROM S WHERE A ; B ; C WITHIN 20 EVENTS",
    "SELECT * FROM S WHERE A ; B ; C WITHIN 15 s",
    "SELECT * FROM S WHERE A ; B+ ; C WITHIN 12 EVENTS WITHIN 12 s",
    "SELECT * FROM S WHERE A AS x ; B AS y FILTER PREV(x.v, 2) > 50 AND y.v > PREV(y.v) WITHIN 30 EVENTS",
    "SELECT A FROM S WHERE A ; (B OR C)+ ; D WITHIN 10 EVENTS",
    "SELECT * FROM S WHERE A ; B ; C PARTITION BY k WITHIN 15 EVENTS",
    "SELECT * FROM S WHERE A AS x ; B FILTER PREV(x.v) < 50 PARTITION BY k, name WITHIN 60 s",
    "SELECT * FROM S WHERE A ; B+ ; C PARTITION BY k CONSUME BY PARTITION",
    "SELECT * FROM S WHERE A ; B ; C PARTITION BY k CONSUME BY ANY",
    "SELECT NEXT * FROM S WHERE A ; B+ ; C WITHIN 12 EVENTS",
    "SELECT LAST * FROM S WHERE A ; B+ ; C PARTITION BY k WITHIN 10 EVENTS",
    "SELECT MAX B FROM S WHERE A ; B+ ; C WITHIN 10 EVENTS",
    "SELECT MAX A FROM S WHERE (A ; B ; C) OR (D ; A ; B{1,2} ; C) PARTITION BY k WITHIN 12 EVENTS LIMIT 3 PER END",
    "SELECT NEXT A FROM S WHERE A ; B+ ; C PARTITION BY k CONSUME BY PARTITION",
    "SELECT NEXT * FROM S WHERE (A ; B) OR (C ; D ; B) PARTITION BY k",
    "SELECT LAST * FROM S WHERE (A ; B ; E) OR (C ; D+ ; E)",
    "SELECT * FROM S WHERE NEXT(A : B+ ; C) ; D WITHIN 20 EVENTS",
    "SELECT * FROM S WHERE LAST(NEXT(A ; B) ; C) ; MAX(D ; E) PARTITION BY k WITHIN 25 EVENTS",
    "SELECT * FROM S WHERE D ; NOT NEXT(A ; B) ; E FILTER D.v > PREV(D.v) WITHIN 20 EVENTS",
    "SELECT * FROM S WHERE A ; NOT B ; C WITHIN 20 EVENTS LIMIT 2 PER END",
]


@pytest.mark.parametrize("text", QUERIES)
def test_any_number_of_threads_and_any_batches_give_the_same_in_the_same_order(text, monkeypatch):
    monkeypatch.setattr("ensue.engines.parallel.SMALL", 100)
    plan, stream, _ = prepared(text, stream_of(4000))
    wanted = found_events(run_plan(plan, stream, threads=1))
    assert wanted
    for threads, batch in ((1, 137), (2, 1 << 20), (3, 500), (5, 999)):
        assert found_events(run_plan(plan, stream, threads=threads, batch=batch)) == wanted, (threads, batch)


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_the_engine_equals_the_reference(text):
    plan, stream, checked = prepared(text, stream_of(48, types=6, seed=3))
    found = found_events(run_plan(plan, stream, threads=1))
    wanted = found_events(reference.evaluate(checked, stream))
    if plan.limit:
        assert sorted(e for _, e, _ in found) == sorted(e for _, e, _ in wanted)
    else:
        assert not set(found) ^ set(wanted)
    assert len(found) == len(wanted)


@pytest.mark.parametrize("text", QUERIES)
def test_a_state_is_restored_exactly_at_every_cut(text):
    plan, stream, _ = prepared(text, stream_of(300))
    wanted = found_events(Runner(plan, stream.tick).push(stream))
    rng = Random(1)
    for cut in sorted(rng.sample(range(300), 12)):
        first = Runner(plan, stream.tick)
        found = found_events(first.push(stream.slice(0, cut)))
        second = Runner(plan, stream.tick)
        second.load(first.save())
        assert found + found_events(second.push(stream.slice(cut, 300))) == wanted, cut


def test_memory_is_that_of_the_window_not_of_the_stream():
    plan, stream, _ = prepared("SELECT * FROM S WHERE A ; B ; C ; Z WITHIN 1000 EVENTS", stream_of(200_000))
    runner = Runner(plan, stream.tick)
    sizes = []
    for start in range(0, 200_000, 20_000):
        runner.push(stream.slice(start, 20_000))
        sizes.append(len(runner.evaluator.arena.node))
    assert sizes[-1] == sizes[0]
    runner.evaluator.collect(runner.position)
    assert runner.nodes < 1000


def test_memory_without_a_window_grows_only_with_what_can_still_match():
    """Consumption drops all partial matches, so their nodes go."""
    plan, stream, _ = prepared("SELECT * FROM S WHERE A ; B CONSUME BY PARTITION", stream_of(200_000))
    runner = Runner(plan, stream.tick)
    runner.push(stream)
    assert len(runner.evaluator.arena.node) <= 1 << 14


@pytest.mark.slow
def test_a_hostile_query_is_bounded():
    """Each B may or may not be the one 14 before the end: the subsets are more than are kept at a time."""
    text = "SELECT x FROM S WHERE A AS x ; (B : ANY{12}) ; C WITHIN 40 EVENTS"
    plan, stream, checked = prepared(text, stream_of(120, types=3, seed=5))
    runner = Runner(plan, stream.tick, configurations=8)
    found = found_events(runner.push(stream))
    assert not set(found) ^ set(found_events(reference.evaluate(checked, stream)))
    assert len(runner.evaluator.programs.configurations) <= 10


def test_no_window_and_a_million_partial_matches():
    table = pa.table({"time": pa.array(np.arange(1001)), "type": pa.array(["A"] * 1000 + ["B"])})
    plan, stream, _ = prepared("SELECT * FROM S WHERE A ; A ; B", table)
    found = run_plan(plan, stream)
    assert len(found) == 1000 * 999 // 2
    assert found.marked == 3 * len(found)


def test_a_match_longer_than_the_output_and_the_stack():
    table = pa.table({"time": pa.array(np.arange(100_002)), "type": pa.array(["B"] * 100_001 + ["C"])})
    plan, stream, _ = prepared("SELECT * FROM S WHERE B:{100000} : C", table)
    assert plan is None  # too large an automaton
    plan, stream, _ = prepared(
        "SELECT LAST * FROM S WHERE B:+ ; C WITHIN 200000 EVENTS LIMIT 1 PER END", table.slice(99_000)
    )
    found = run_plan(plan, stream)
    assert len(found) == 1
    assert found.marked == 1002


def test_far_times_do_not_wrap_around():
    least = int(np.iinfo(np.int64).min)
    table = pa.table({"time": pa.array([least, least + 1, 0, 2**62]), "type": pa.array(["A", "B", "A", "B"])})
    plan, stream, checked = prepared("SELECT * FROM S WHERE A ; B WITHIN 5 s", table)
    assert found_events(run_plan(plan, stream)) == found_events(reference.evaluate(checked, stream))


def test_the_automaton_is_the_same_in_every_process():
    """Saved states name its states, so they must not depend on the hashing of strings."""
    code = (
        "from ensue.automata.build import build; from ensue.language.parser import parse_pattern\n"
        "p = parse_pattern('(A AS x OR B AS y) ALL (C AS z ; NOT (D ; E) ; (A UNLESS B)) FILTER x.v > 1 OR z.v > 2')\n"
        "print([(t.source, t.target, sorted(t.marks), sorted(map(str, t.guard))) for t in build(p).transitions])"
    )
    texts = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        texts.add(done.stdout)
    assert len(texts) == 1


def test_a_runner_tells_how_many_nodes_it_holds():
    plan, stream, _ = prepared(QUERIES[0], stream_of(100))
    runner = Runner(plan, stream.tick)
    runner.push(stream)
    assert runner.nodes == runner.evaluator.arena.used[USED] > 0


@pytest.mark.parametrize("selector", ["NEXT", "LAST"])
def test_a_selector_does_not_enumerate_what_it_does_not_keep(selector):
    """There are 2^300 - 1 complex events that end at the B; the best one holds all of the A."""
    table = pa.table({"time": pa.array(np.arange(301)), "type": pa.array(["A"] * 300 + ["B"])})
    plan, stream, _ = prepared(f"SELECT {selector} * FROM S WHERE A+ ; B", table)
    found = run_plan(plan, stream)
    assert found.position.tolist() == list(range(301))


def test_the_best_of_a_window_that_moves_on():
    """The earliest A is best while the window holds it; then the next one is."""
    types = ["A", "A", "C", "B", "B", "B"]
    table = pa.table({"time": pa.array(np.arange(6)), "type": pa.array(types)})
    plan, stream, _ = prepared("SELECT NEXT * FROM S WHERE A ; B WITHIN 4 EVENTS", table)
    assert run_plan(plan, stream).position.reshape(-1, 2).tolist() == [[0, 3], [1, 4]]


# ---------------------------------------------------------------- what reviewers of the engine found


def test_a_pattern_of_many_steps_gets_the_nodes_it_needs():
    table = pa.table({"time": pa.array(np.arange(150)), "type": pa.array(["A"] * 150)})
    plan, stream, _ = prepared("SELECT * FROM S WHERE A{150}", table)
    assert len(run_plan(plan, stream)) == 1


def test_a_selector_does_not_try_markings_that_fit_only_at_the_end():
    types = ["Z", "W", *["A"] * 60, "C"]
    table = pa.table({"time": pa.array(np.arange(len(types))), "type": pa.array(types)})
    text = "SELECT NEXT * FROM S WHERE (Z ; A+ ; C) OR (W ; (A AS x OR A AS y)+ ; C)"
    plan, stream, _ = prepared(text, table)
    assert len(run_plan(plan, stream)) == 1


def test_slices_of_the_earliest_times(monkeypatch):
    monkeypatch.setattr("ensue.engines.parallel.SMALL", 100)
    times = np.arange(1000) + np.iinfo(np.int64).min
    table = pa.table({"time": pa.array(times), "type": pa.array(["A", "B"] * 500)})
    plan, stream, _ = prepared("SELECT * FROM S WHERE A ; B WITHIN 1 min", table)
    assert found_events(run_plan(plan, stream, threads=2)) == found_events(run_plan(plan, stream, threads=1))


def test_a_window_longer_than_all_time():
    table = pa.table({"time": pa.array([-(2**62), 2**62]), "type": pa.array(["A", "A"])})
    query = parse_query("SELECT * FROM S WHERE A ; A WITHIN 10000000000 d")
    stream = read_events(table, query.streams, unit="ns")
    plan = plan_of(check(query, "", stream.schema))
    assert plan is not None
    assert len(run_plan(plan, stream)) == 1


def test_the_order_does_not_depend_on_what_was_collected():
    text = "SELECT * FROM S WHERE PROJECT A (A ALL (X ; Y) ALL B) WITHIN 30 EVENTS"
    types = "B X B A A Y A X A Z A Z A B A X Z A A Z A B B A A X B X Y A A Y Y".split()
    table = pa.table({"time": pa.array(np.arange(len(types))), "type": pa.array(types)})
    plan, stream, _ = prepared(text, table)
    wanted = found_events(Runner(plan, stream.tick).push(stream))
    for cut in range(len(types)):
        first = Runner(plan, stream.tick)
        found = found_events(first.push(stream.slice(0, cut)))
        second = Runner(plan, stream.tick)
        second.load(first.save())
        assert found + found_events(second.push(stream.slice(cut, 100))) == wanted, cut


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [
        "(A{10000}){50000}",
        "(A{10000} WITHIN 50000 EVENTS) ; B",
        "(A{5000}) ALL (B{5000})",
        "A ; NOT (C : ANY:{30}) ; B",
        "A ; B UNLESS (C : ANY:{30})",
        "(A OR B OR C OR D OR E OR F OR G){1,50000}",
    ],
)
def test_a_query_whose_automaton_is_too_large_is_refused(pattern):
    assert prepared(f"SELECT * FROM S WHERE {pattern}", stream_of(3))[0] is None


def test_conditions_that_go_together_are_one():
    rng = np.random.default_rng(0)
    columns = {f"c{i}": pa.array(rng.integers(0, 2, 3000)) for i in range(17)}
    table = pa.table({"time": pa.array(np.arange(3000)), "type": pa.array(["A"] * 3000), **columns})
    condition = " AND ".join(f"x.c{i} > 0" for i in range(17))
    plan, stream, _ = prepared(f"SELECT x.c0 FROM S WHERE A AS x FILTER {condition}", table)
    assert len(plan.predicates) == 2
    every = np.all([c.to_numpy() > 0 for c in columns.values()], axis=0)
    assert run_plan(plan, stream).start.tolist() == np.flatnonzero(every).tolist()


def test_dictionaries_of_several_chunks_and_small_indices():
    names = pa.array([f"n{i}" for i in range(200)])
    small = pa.dictionary(pa.int8(), pa.string())
    chunks = [names[i : i + 100].dictionary_encode().cast(small) for i in (0, 100)]
    table = pa.table(
        {"time": pa.array(np.arange(200)), "type": pa.chunked_array(chunks), "d": pa.chunked_array(chunks)}
    )
    text = "SELECT * FROM S WHERE ANY AS x ; n150 AS y FILTER x.d = 'n7' AND PREV(y.d) = 'n149'"
    plan, stream, _ = prepared(text, table)
    assert run_plan(plan, stream).position.tolist() == [7, 150]
    plan, stream, _ = prepared("SELECT x FROM S WHERE ANY AS x PARTITION BY d", table)
    assert len(run_plan(plan, stream)) == 200


def test_keys_of_half_floats():
    keys = pa.array(np.array([0.5, 1.5, 0.5], dtype=np.float16))
    table = pa.table({"time": pa.array([1, 2, 3]), "type": pa.array(["A", "A", "B"]), "k": keys})
    plan, stream, _ = prepared("SELECT * FROM S WHERE A ; B PARTITION BY k", table)
    assert run_plan(plan, stream).position.tolist() == [0, 2]


def test_events_that_change_nothing_are_left_out_before_the_kernel():
    plan, stream, _ = prepared("SELECT * FROM S WHERE A ; B WITHIN 20 EVENTS", stream_of(6000))
    batch = Runner(plan, stream.tick).reader.read(stream, 0)
    assert len(batch.classes) == sum(t in ("A", "B") for t in stream.types.to_pylist()) < 3000
    for contiguous in ("A : B", "STRICT(A ; B)", "A ; NOT F ; B", "(A ; B) UNLESS F"):
        plan, _, _ = prepared(f"SELECT * FROM S WHERE {contiguous} WITHIN 20 EVENTS", stream_of(6000))
        types = stream.table["type"].to_pylist()
        kept = Runner(plan, stream.tick).reader.read(stream, 0).positions
        wanted = {"A : B": None, "STRICT(A ; B)": None}.get(contiguous, "ABF")
        assert kept.tolist() == ([] if wanted is None else [i for i, t in enumerate(types) if t in wanted])
