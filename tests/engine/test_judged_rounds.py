"""Conditions on rounds that no register holds, judged on whole matches: they equal the reference, cut and saved too."""

from __future__ import annotations

from random import Random

import pytest
from absence_runs import in_batches, prepared, random_events, stream_of
from amounts import most, shares
from engines import found_events

from ensue.engines import reference
from ensue.engines.whole_tables import evaluate_table
from ensue.language import ast

#: What a round of `x` and `y` asks, of these two and of the round before.
OF_ROUND = [
    "y.k LIKE x.k",
    "y.k >= x.k",
    "x.k || y.k <> 'xy' AND y.v >= x.v",
    "round(x.v - y.v, 1) <= 0",
    "length(concat(x.k, y.k)) > y.v",
    "contains(x.k, y.k) OR y.v > x.v",
    "y.v > LASTOF(x).v",
    "x.k <= LASTOF(x).k",
    "x.v >= LASTOF(x).v AND y.k LIKE LASTOF(x).k",
    "starts_with(y.k, LASTOF(y).k) OR x.v < LASTOF(y).v",
    "(LASTOF(y).k || x.k) IS NULL OR y.v <> LASTOF(x).v",
]
#: What it asks of all rounds so far.
SO_FAR = [
    "RUNNING median(y.v) >= x.v",
    "RUNNING stddev(x.v) < 1",
    "RUNNING count(DISTINCT y.k) < 2",
    "RUNNING count(DISTINCT x.v) = RUNNING count(x)",
    "RUNNING median(y.v * 2) > LASTOF(y).v",
    "RUNNING max(y.k) <= x.k",
    "RUNNING count(DISTINCT x.k) + RUNNING sum(y.v) < 4",
]
SHAPES = [
    "(A AS x ; ANY AS y FILTER {c}){many}",
    "(A AS x :ANY AS y FILTER {c}){many}",
    "((A AS x ; (ANY AS y FILTER {c})) WITHIN 3 s){many}",
    "((A AS x ; C? ; ANY AS y) UNLESS D FILTER {c}){many}",
    "B AS w ; (A AS x ; ANY AS y FILTER {c} AND x.k || y.k >= w.k){many}",
    "((A AS x ; ANY AS y FILTER {c}){2}) ; C",
    "((A AS x ; ANY AS y FILTER {c}){many} OR C){2}",
    "((ANY AS y : A AS x) FILTER {c}){many} ; C AS z",
    "(ANY AS x ; B? ; (ANY AS y FILTER {c}) WITHIN 4 EVENTS){many}",
    "(ANY AS y ALL A AS x FILTER {c}){many}",
]
#: What must not be there in a round.
ABSENT = [
    "B AS b FILTER b.v > y.v",
    "ANY AS b FILTER b.v = y.v + 1 OR b.k LIKE y.k",
    "(B OR D) AS b FILTER b.v >= x.v AND b.v < y.v",
    "B AS b FILTER b.k < y.k AND b.v > 0",
    "ANY AS b FILTER b.v + y.v > 2",
]
WITHOUT = [
    "(A AS x ; NOT ({n}) ; ANY AS y){many}",
    "(A AS x ; NOT ({n}) ; C AS y FILTER y.v >= LASTOF(x).v){many}",
    "((A AS x ; NOT ({n}) ; ANY AS y) ; C?){many} ; D?",
    "(ANY AS x ; D? ; NOT ({n}) ; (C AS y ; ANY)){many}",
    "B ; (A AS x : (A AS w ; NOT ({n}) ; ANY AS y) WITHIN 3 s){many}",
    "((A AS x ; NOT ({n}) ; C AS y) OR D){many}",
    "(A AS x ; NOT (B AS b FILTER b.v > z.v) ; C AS y){many} ; ANY AS z",
    "((A AS x ; NOT ({n}) ; ANY AS y){many} ; B){1,2}",
]
ENDS = ["", "", " WITHIN 4 s", " WITHIN 6 EVENTS", " PARTITION BY k", " LIMIT 1 PER END", " CONSUME BY ANY"]


def random_text(rng: Random) -> str:
    conditions = rng.choices([*OF_ROUND, rng.choice(SO_FAR)], k=rng.choice([1, 1, 2]))
    asked = " AND ".join(c if " OR " not in c else f"({c})" for c in conditions)
    shape = rng.choice(SHAPES if rng.random() < 0.7 else WITHOUT)
    pattern = shape.replace("{c}", asked).replace("{n}", rng.choice(ABSENT))
    pattern = pattern.replace("{many}", rng.choice(["+", "{2}", "{1,3}", "{2,}"]))
    selector = rng.choice(["", "", "", "NEXT ", "LAST ", "MAX "])
    return f"SELECT {selector}{rng.choice(['*', 'x'])} FROM S WHERE {pattern}{rng.choice(ENDS)}"


def compare(seed: int) -> str:
    """A random query by both engines, over the whole table and in batches; says what became of it."""
    rng = Random(f"judged rounds {seed}")
    text, events = random_text(rng), random_events(rng)[:11]
    choice, stream = prepared(text), stream_of(events)
    if choice.engine == "reference":
        return "refused"
    parts = [choice] if choice.layers is None else choice.layers.parts
    late = any(isinstance(c, ast.EachRound) for part in parts if part.plan is not None for c in part.plan.related)
    expected = found_events(reference.evaluate(choice.checked, stream))
    found = found_events(evaluate_table(choice, stream, batch=rng.choice([None, 3])))
    if "LIMIT" in text:  # it is not defined which matches of an end are taken
        assert [e[1] for e in found] == [e[1] for e in expected], (seed, text)
    else:
        assert (set(found), len(found)) == (set(expected), len(expected)), (seed, text, events)
    ends = sorted((events[e[0]]["time"], events[e[1]]["time"]) for e in found)
    assert sorted(in_batches(choice, events, rng)) == ends, (seed, text)
    return "compared" if late else "registers"


@pytest.mark.parametrize("seeds", shares(200, each=50))
def test_judged_rounds_equal_the_reference(seeds: range) -> None:
    became = [compare(seed) for seed in seeds]
    assert became.count("refused") <= most(seeds, 0.2) or len(seeds) < 100
    assert became.count("compared") > most(seeds, 0.5)
