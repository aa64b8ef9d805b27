"""Absences with a deadline by the automaton engine: equal to the reference, over tables and over streams in batches."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from absence_runs import in_batches, prepared, random_events, stream_of
from amounts import most, shares
from engines import found_events, run_plan

import ensue
from ensue.engines import reference

BODIES = [
    "A AS a",
    "A+ AS a",
    "(A OR C) AS a",
    "A AS a ; C",
    "A AS a ;[<= 2 s] C",
    "A AS a ; C AS c FILTER a.v = c.v",
    "A AS a ; C AS c FILTER a.v < c.v",
    "A AS a ; C AS c FILTER a.v + c.v > 2",
    "A AS a : C",
]
ABSENT = ["B", "(B OR D)", "(B AS b FILTER b.v > 1)", "ANY", "(ANY AS z FILTER z.v = 0 OR z.v IS NULL)", "B ; NOT D"]
TIED = ["(B AS b FILTER b.v = a.v)", "(ANY AS z FILTER a.v = z.v AND z.k = 'x')", "(A AS b FILTER b.v = a.v)"]
ENDS = ["", " WITHIN 4 s", " WITHIN 5 EVENTS", " PARTITION BY k", " PARTITION BY k WITHIN 4 s", " LIMIT 1 PER END"]
SELECTORS = ["", "NEXT ", "LAST ", "MAX "]
DEADLINES = ["2 s", "[< 2 s]", "0 s", "1 s"]


def random_text(rng: Random) -> str:
    body, absent = (rng.choice(BODIES), rng.choice(ABSENT)) if rng.random() < 0.7 else ("A AS a", rng.choice(TIED))
    end = f"{rng.choice(DEADLINES)}{rng.choice(ENDS)}"
    return f"SELECT {rng.choice(SELECTORS)}* FROM S WHERE ({body}) ; NOT {absent} WITHIN {end}"


def compare(seed: int) -> str:
    """A random absence by both engines, over the whole table and in batches; says what became of it."""
    rng = Random(f"deadlines {seed}")
    text, events = random_text(rng), random_events(rng)
    choice = prepared(text)
    stream = stream_of(events)
    if choice.plan is None:
        return "refused"
    expected = found_events(reference.evaluate(choice.checked, stream))
    found = found_events(run_plan(choice.plan, stream))
    if "LIMIT" in text:  # it is not defined which matches of an end are taken
        assert [e[1] for e in found] == [e[1] for e in expected], (seed, text)
    else:
        assert sorted(found) == sorted(expected), (seed, text)
    ends = sorted((events[e[0]]["time"], events[e[1]]["time"]) for e in found)
    assert sorted(in_batches(choice, events, rng)) == ends, (seed, text)
    return "compared" if found else "without a match"


@pytest.mark.parametrize("seeds", shares(800, each=200))
def test_the_engine_equals_the_reference(seeds):
    became = [compare(seed) for seed in seeds]
    assert len(seeds) - became.count("refused") > most(seeds, 0.83)
    assert became.count("compared") > most(seeds, 0.16)


@pytest.mark.parametrize(
    "pattern",
    [
        "A AS a ; NOT (B ; C) WITHIN 1 s",
        "A AS a ; NOT (B AS b FILTER b.v > PREV(b.v)) WITHIN 1 s",
        "A AS a ; NOT (B AS b FILTER b.v > a.v) WITHIN 1 s",
        "A AS a ; NOT B WITHIN 1 s CONSUME BY ANY",
    ],
)
def test_what_takes_several_automata(pattern):
    choice = prepared(f"SELECT * FROM S WHERE {pattern}")
    assert (choice.plan, choice.engine) == (None, "automaton")


def test_more_conditions_than_a_word_has_bits():
    absent = " OR ".join(f"T{k}" for k in range(70))
    text = f"SELECT * FROM S WHERE A AS x ; NOT ({absent}) WITHIN 2 s"
    assert prepared(text).plan is not None
    table = pa.table({"time": [0, 1, 5, 6, 10, 13, 20], "type": ["A", "T69", "A", "T70", "A", "T0", "C"]})
    for engine_name in ("automaton", "reference"):
        assert ensue.match(table, text, unit="s", engine=engine_name).start.tolist() == [2, 4]


def test_times_that_are_far_apart():
    far = 9 * 10**18
    table = pa.table({"time": [-far, far, far + 9], "type": ["A", "B", "C"]})
    for engine_name in ("automaton", "reference"):
        found = ensue.match(table, "SELECT * FROM S WHERE A ; NOT B WITHIN 2 ns", unit="ns", engine=engine_name)
        assert found.to_arrow()["end_time"].to_pylist() == [-far]


def test_detection_goes_by_what_was_reported():
    events = [{"time": t, "type": kind, "v": 0, "k": "x"} for t, kind in enumerate("AACBACCC")]
    detections = ensue.query("SELECT * FROM S WHERE A+ ; NOT B WITHIN 1 s").detect(stream_of(events).table, unit="s")
    assert list(zip(detections.end.tolist(), detections.to_arrow()["took_part"].to_pylist(), strict=True)) == [
        (0, [0]),
        (1, [0, 1]),
        (4, [0, 1, 4]),
    ]


def test_a_long_stream_with_many_keys():
    """What the reference would take hours for."""
    n = 200_000
    rng = Random("long")
    kinds = [rng.choice("ABCC") for _ in range(n)]
    table = pa.table(
        {"time": [i // 10 for i in range(n)], "type": kinds, "id": [rng.randrange(1000) for _ in range(n)]}
    )
    text = "SELECT a.id FROM S WHERE A AS a ; NOT (B AS b FILTER b.id = a.id) WITHIN 300 s"
    found = ensue.match(table, text, unit="s", engine="automaton")
    nexts: dict[int, int] = {}
    expected = 0
    for i in range(n - 1, -1, -1):
        time, id_ = i // 10, table["id"][i].as_py()
        if kinds[i] == "B":
            nexts[id_] = time
        elif kinds[i] == "A":
            expected += nexts.get(id_, 10**9) - time > 300 and (n - 1) // 10 - time > 300
    assert len(found) == expected > 1000
