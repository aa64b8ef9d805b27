"""Selectors inside a larger pattern over conditions between events: layers equal the reference, cut and saved."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from absence_runs import in_batches, prepared, random_events, stream_of
from amounts import most, shares
from engines import found_events

from ensue.engines import reference
from ensue.engines.whole_tables import evaluate_table

#: What a selector stands around.
INSIDE = [
    "A AS x ; B AS y FILTER y.v >= x.v",
    "A AS x ; ANY AS y FILTER y.k = x.k",
    "ANY AS x ; C AS y FILTER x.k LIKE y.k",
    "(A AS x FILTER x.v > LASTOF(x).v)+",
    "(A AS x)+ ; C AS y FILTER x.v + y.v < 3",
    "(ANY AS x ; B AS y FILTER x.v <> y.v) OR A AS x",
    "A AS x ; NOT (B AS b FILTER b.v > x.v) ; C AS y",
    "ANY ; A AS x ; C AS y FILTER y.v >= x.v",
    "A AS x ;[<= 2 s] ANY AS y WITHIN 4 s",
    "A AS x ; C AS y FILTER y.v > x.v WITHIN 3 s",
    "A AS x ALL C AS y FILTER y.v >= x.v",
]
AROUND = [
    "{q} ; C",
    "{q} : ANY AS z",
    "B ; {q} ; C AS z",
    "({q}) OR D",
    "{q} ; NOT B ; C",
    "A AS w ; {q} FILTER w.v <= x.v",
    "({q} ; B?) ; D?",
    "{q} ; {r}",
    "{q} ALL B AS z",
    "({q} ; D) UNLESS C",
    "{q} ; C ; NOT B WITHIN 2 s",
    "NOT (B AS b ; D AS d FILTER b.v > d.v) WITHIN 2 s ; {q}",
    "({q}){2}",
]
ENDS = ["", "", " WITHIN 4 s", " WITHIN 5 EVENTS", " PARTITION BY k", " PARTITION BY k WITHIN 4 s", " CONSUME BY ANY"]


def random_text(rng: Random) -> str:
    def selected() -> str:
        return f"{rng.choice(['NEXT', 'LAST', 'MAX'])}({rng.choice(INSIDE)})"

    other = selected().replace(" x", " x2").replace("x.", "x2.").replace(" y", " y2").replace("y.", "y2.")
    other = other.replace("(x)", "(x2)").replace(" b", " b2").replace("b.", "b2.")
    pattern = rng.choice(AROUND).replace("{q}", selected()).replace("{r}", other)
    selector = rng.choice(["", "", "", "NEXT ", "LAST ", "STRICT "])
    return f"SELECT {selector}{rng.choice(['*', 'x'])} FROM S WHERE {pattern}{rng.choice(ENDS)}"


def compare(seed: int) -> str:
    """A random query by both engines, over the whole table and in batches; says what became of it."""
    rng = Random(f"selectors apart {seed}")
    text, events = random_text(rng), random_events(rng)
    choice, stream = prepared(text), stream_of(events)
    if choice.layers is None or not choice.layers.inside:
        return choice.engine
    expected = found_events(reference.evaluate(choice.checked, stream))
    found = found_events(evaluate_table(choice, stream, batch=rng.choice([None, 3])))
    assert (set(found), len(found)) == (set(expected), len(expected)), (seed, text, events)
    ends = Counter((events[e[0]]["time"], events[e[1]]["time"]) for e in found)
    assert Counter(in_batches(choice, events, rng)) == ends, (seed, text)
    return "compared" if found else "without a match"


@pytest.mark.parametrize("seeds", shares(200, each=50))
def test_selectors_apart_equal_the_reference(seeds: range) -> None:
    became = [compare(seed) for seed in seeds]
    assert became.count("reference") < max(1, most(seeds, 0.2)) or len(seeds) < 100
    assert became.count("compared") > most(seeds, 0.15)
