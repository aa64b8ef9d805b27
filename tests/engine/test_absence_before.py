"""Absences before a pattern by the automaton engine: equal to the reference, in batches, slices and saved states."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from absence_runs import in_batches, prepared, random_events, stream_of
from amounts import most, shares
from engines import found_events, run_at_once, run_in_pieces, run_plan

import ensue
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.kernels.runner import Runner

BODIES = [
    "A AS a",
    "A+ AS a",
    "(A OR C) AS a",
    "A AS a ; C",
    "A AS a -> C",
    "A AS a ;[<= 2 s] C",
    "A AS a ; C AS c FILTER a.v = c.v",
    "A AS a ; C AS c FILTER a.v + c.v > 2",
    "A AS a : C",
    "NEXT(A AS a ; C)",
    "A AS a ; NOT D WITHIN 2 s",
]
ABSENT = [
    "B",
    "(B OR D)",
    "(B AS b FILTER b.v > 1)",
    "ANY",
    "(B ; D)",
    "(B : C)",
    "(B+ ; D)",
    "(B -> D)",
    "((B ; NOT A ; D) OR C)",
    "(B AS b FILTER b.v > PREV(b.v))",
    "NEXT(B ; D)",
]
TIED = ["(B AS b FILTER b.v = a.v)", "(ANY AS z FILTER a.v = z.v AND z.k = 'x')", "(A AS b FILTER b.v = a.v)"]
ENDS = ["", " WITHIN 4 s", " WITHIN 5 EVENTS", " PARTITION BY k", " PARTITION BY k WITHIN 4 s", " LIMIT 1 PER END"]
CONSUMING = [" CONSUME BY ANY", " PARTITION BY k CONSUME BY PARTITION"]
TIMES = ["2 s", "[< 2 s]", "0 s", "1 s", "5 s"]


def random_text(rng: Random) -> str:
    body, absent = (rng.choice(BODIES), rng.choice(ABSENT)) if rng.random() < 0.8 else ("A AS a", rng.choice(TIED))
    end = rng.choice(ENDS if "NOT D WITHIN" in body else ENDS + CONSUMING)
    selector = rng.choice(["", "NEXT ", "LAST ", "MAX "])
    return f"SELECT {selector}* FROM S WHERE NOT {absent} WITHIN {rng.choice(TIMES)} ; {body}{end}"


def compare(seed: int) -> str:
    """A random absence by both engines, over the whole table and in batches; says what became of it."""
    rng = Random(f"before {seed}")
    text, events = random_text(rng), random_events(rng)
    choice, stream = prepared(text), stream_of(events)
    if choice.plan is None:
        return "refused"
    expected = found_events(reference.evaluate(choice.checked, stream))
    found = found_events(run_plan(choice.plan, stream))
    if "LIMIT" in text:  # it is not defined which matches of an end are taken
        assert [e[1] for e in found] == [e[1] for e in expected], (seed, text)
    else:
        assert sorted(found) == sorted(expected), (seed, text)
    assert run_at_once(choice.plan, stream) == run_in_pieces(choice.plan, stream, rng) == found, (seed, text)
    ends = sorted((events[e[0]]["time"], events[e[1]]["time"]) for e in found)
    assert sorted(in_batches(choice, events, rng)) == ends, (seed, text)
    return "compared" if found else "without a match"


@pytest.mark.parametrize("seeds", shares(800, each=200))
def test_the_engine_equals_the_reference(seeds):
    became = [compare(seed) for seed in seeds]
    assert len(seeds) - became.count("refused") > most(seeds, 0.9)
    assert became.count("compared") > most(seeds, 0.3)


@pytest.mark.parametrize(
    "pattern",
    [
        "NOT (B AS b FILTER b.v > a.v) WITHIN 1 s ; A AS a",
        "NOT (B AS b ; D AS d FILTER b.v < d.v) WITHIN 9 s ; A",
        "NOT (B ;[<= 1 s] D) WITHIN 9 s ; A",
    ],
)
def test_what_takes_several_automata(pattern):
    choice = prepared(f"SELECT * FROM S WHERE {pattern}")
    assert (choice.plan, choice.engine) == (None, "automaton")


def long_stream(n: int, keys: int) -> pa.Table:
    rng = np.random.default_rng(n)
    return pa.table(
        {
            "time": np.cumsum(rng.integers(0, 3, n)),
            "type": np.array(list("ABCD"))[rng.integers(0, 4, n)],
            "id": rng.integers(0, keys, n),
            "v": rng.integers(0, 9, n),
        }
    )


SLICED = [
    "SELECT * FROM S WHERE NOT B WITHIN 3 s ; A ; C WITHIN 20 s",
    "SELECT * FROM S WHERE NOT (B ; D) WITHIN 9 s ; A ; C WITHIN 12 EVENTS",
    "SELECT * FROM S WHERE NOT (B AS b FILTER b.v > PREV(b.v, 3)) WITHIN 6 s ; A ; C WITHIN 20 s",
    "SELECT * FROM S WHERE NOT (B AS b FILTER b.id = a.id) WITHIN 40 s ; A AS a ; C AS c FILTER a.id = c.id WITHIN 9 s",
    "SELECT * FROM S WHERE NOT B WITHIN 3 s ; A PARTITION BY id WITHIN 20 EVENTS",
    "SELECT * FROM S WHERE NOT NEXT(B ; D) WITHIN 3 s ; A ; C WITHIN 20 s",
]


@pytest.mark.parametrize("text", SLICED)
def test_any_number_of_threads_and_any_batches_give_the_same(text, monkeypatch):
    monkeypatch.setattr("ensue.engines.parallel.SMALL", 100)
    stream = read_events(long_stream(4000, 5), ("S",), unit="s")
    plan = prepared(text, stream).plan
    assert plan is not None
    wanted = found_events(run_plan(plan, stream, threads=1))
    assert wanted
    for threads, batch in ((1, 137), (2, 1 << 20), (3, 500), (5, 999)):
        assert found_events(run_plan(plan, stream, threads=threads, batch=batch)) == wanted, (threads, batch)


def test_a_door_that_opens_without_a_badge_among_many():
    """What the reference would take hours for."""
    table = long_stream(200_000, 1000)
    text = "SELECT a.id FROM S WHERE NOT (B AS b FILTER b.id = a.id) WITHIN 300 s ; A AS a"
    found = ensue.match(table, text, unit="s", engine="automaton")
    latest: dict[int, int] = {}
    expected = []
    for i, (time, kind, id_) in enumerate(zip(*(table[c].to_pylist() for c in ("time", "type", "id")), strict=True)):
        if kind == "A" and time - latest.get(id_, -(10**9)) > 300:
            expected.append(i)
        if kind == "B":
            latest[id_] = time
    assert found.end.tolist() == expected
    assert len(expected) > 1000


def test_keys_are_forgotten_once_nothing_of_them_is_recent():
    stream = read_events(long_stream(60_000, 30_000), ("S",), unit="s")
    text = "SELECT * FROM S WHERE NOT B WITHIN 50 s ; A ; C PARTITION BY id WITHIN 50 s"
    plan = prepared(text, stream).plan
    assert plan is not None
    runner = Runner(plan, stream.tick)
    found = []
    for start in range(0, 60_000, 5_000):
        found += found_events(runner.push(stream.slice(start, 5_000)))
    runner.drop_idle()
    assert len(runner.reader.keys) < 200
    assert found == found_events(Runner(plan, stream.tick).push(stream))


def test_times_that_are_far_apart():
    far = 9 * 10**18
    table = pa.table({"time": [-far, far, far + 2, far + 3], "type": ["B", "A", "B", "A"]})
    for engine_name in ("automaton", "reference"):
        found = ensue.match(table, "SELECT * FROM S WHERE NOT B WITHIN 2 ns ; A", unit="ns", engine=engine_name)
        assert found.end.tolist() == [1]


def test_a_time_beyond_all_times():
    table = pa.table({"time": [0, 1, 2], "type": ["A", "B", "A"]})
    for engine_name in ("automaton", "reference"):
        text = "SELECT * FROM S WHERE NOT B WITHIN 1000000000 d ; A"
        assert ensue.match(table, text, unit="ns", engine=engine_name).end.tolist() == [0]


def test_detection_counts_only_what_nothing_came_before():
    table = pa.table({"time": [0, 1, 5, 6], "type": ["B", "A", "A", "C"]})
    detections = ensue.query("SELECT * FROM S WHERE NOT B WITHIN 2 s ; A ; C").detect(table, unit="s")
    assert list(zip(detections.end.tolist(), detections.to_arrow()["took_part"].to_pylist(), strict=True)) == [
        (3, [2, 3])
    ]
