"""Queries in layers equal the reference: what several plans evaluate, over tables, in batches and with saved states."""

from __future__ import annotations

from random import Random

import pytest
from absence_runs import in_batches, prepared, random_events, stream_of
from amounts import most, shares
from engines import found_events

from ensue.engines import reference
from ensue.engines.whole_tables import evaluate_table

#: What must not be there; `{x}` is an event of the pattern around it, before or behind.
ABSENT = [
    "B AS b FILTER b.v > {x}.v",
    "B AS b FILTER b.k LIKE {x}.k AND b.v < 2",
    "ANY AS b FILTER b.v = {x}.v + 1",
    "A AS x2 FILTER x2.v >= {x}.v",
    "(B OR D) AS b FILTER b.v + {x}.v > 1 OR b.k = {x}.k",
    "B AS b ; C AS c FILTER b.v < c.v",
    "B AS b ; ANY AS c FILTER b.v < c.v AND c.v > {x}.v",
    "(B AS b FILTER b.v > {x}.v) ; C",
    "B AS b :[<= 1 s] C",
    "(C AS b FILTER b.v <> {x}.v){{2}}",
    "(ANY AS b FILTER b.v >= {x}.v)+ ; C",
    "B AS b FILTER b.v > PREV(b.v)",
    "B AS b FILTER PREV(b.v) > {x}.v",
    "B AS b ; NOT D ; C AS c FILTER b.v <= c.v",
    "B AS b ; NOT (D AS d FILTER d.v > e.v) ; C AS e",
]
BETWEEN = [
    "A AS x ; NOT ({q}) ; C AS z",
    "(A AS x)+ ; NOT ({n}) ; (C AS z)+",
    "A AS w ; (A AS x ; NOT ({q}) ; C AS z)",
    "(A AS x ; NOT ({q}) ; C AS z) : ANY",
    "(A AS x ; NOT ({q}) ; C AS z) OR (A AS u ; C AS w FILTER u.v > w.v)",
    "A AS x ; NOT ({q}) ;[<= 2 s] C AS z",
    "A AS x ; NOT ({q}) ; ANY ; C AS z",
    "A AS x ; NOT ({q}) ; C AS z FILTER x.v <= z.v",
    "A AS x ; B? ; NOT ({q}) ; C AS z",
    "A AS x -> (C AS y FILTER y.v > z.v) -> C AS z",
    "A AS x -> (ANY AS z FILTER z.v > PREV(x.v))",
    "(A AS x ; C AS z) UNLESS ({q})",
    "(A AS x ; (C AS y)+ ; C AS z) UNLESS ({q})",
    "A AS x ; C AS z ; NOT ({q}) WITHIN {d}",
    "A AS x ; (C AS y)+ ; NOT ({s}) WITHIN {d}",
    "A AS x ; NOT ({s}) WITHIN {d}",
    "(A AS x OR C AS x) ; NOT ({s}) WITHIN {d}",
    "A AS x ; NOT ({q}) ; C AS z ; NOT ({s}) WITHIN {d}",
    "NOT ({s}) WITHIN {d} ; A AS x",
    "NOT ({s}) WITHIN {d} ; A AS x ; ANY AS z",
    "NOT ({s}) WITHIN {d} ; A AS x ; ANY AS z ; NOT ({q}) WITHIN {d}",
    "NOT ({s}) WITHIN {d} ; A AS x ; NOT ({q}) ; C AS z",
    "NOT ({s}) WITHIN {d} ; (A AS x ALL C AS z)",
    "(A AS x ALL C AS z) ; NOT ({q}) ; ANY",
]
TOGETHER = [
    "A AS x ; C AS z FILTER x.k LIKE z.k",
    "A AS x ; (ANY AS y)+ FILTER median(y.v) > x.v",
    "A AS x ; (ANY AS y)+ ; C AS z FILTER abs(y.v - z.v) < 2",
    "A AS x ; B? ; C AS z FILTER x.k LIKE z.k AND PREV(z.v) >= x.v",
    "A AS x ; C AS z FILTER PREV(x.v) < z.v",
    "(A AS x ; ANY AS z FILTER PREV(x.v) <= z.v)+",
    "(ANY AS x FILTER PREV(x.v, 2) <= LASTOF(x).v)+ ; C AS z",
    "A AS x ; NOT B WITHIN {d}",
]
SELECTORS = ["", "", "NEXT ", "LAST ", "MAX ", "STRICT "]
ENDS = ["", " WITHIN 4 s", " WITHIN 5 EVENTS", " PARTITION BY k", " PARTITION BY k WITHIN 4 s", " LIMIT 1 PER END"]
CONSUME = ["", "", " CONSUME BY ANY", " CONSUME BY PARTITION"]


def random_text(rng: Random) -> str:
    absent = [text.format(x=rng.choice("xz")) for text in rng.choices(ABSENT, k=2)]
    set_, single = (rng.choice(ABSENT[5:6] + ABSENT[11:12]), rng.choice(ABSENT).format(x="x"))
    if rng.random() < 0.8:
        shape = rng.choice(BETWEEN)
        pattern = shape.replace("{q}", absent[0], 1).replace("{q}", absent[1]).replace("{s}", single)
        pattern = pattern.replace("{n}", set_)
    else:
        pattern = rng.choice(TOGETHER)
    pattern = pattern.replace("{d}", rng.choice(["2 s", "[< 2 s]", "0 s", "3 s"]))
    end = rng.choice(ENDS)
    limit = end if "LIMIT" in end else ""
    end = "" if limit else end
    items = rng.choice(["*", "x"])
    return f"SELECT {rng.choice(SELECTORS)}{items} FROM S WHERE {pattern}{end}{rng.choice(CONSUME)}{limit}"


def compare(seed: int) -> str:
    """A random query in layers and by the reference, over the whole table and in batches; says what became of it."""
    rng = Random(f"layers {seed}")
    text, events = random_text(rng), random_events(rng)
    choice, stream = prepared(text), stream_of(events)
    if choice.layers is None:
        return choice.engine
    expected = found_events(reference.evaluate(choice.checked, stream))
    found = found_events(evaluate_table(choice, stream, batch=rng.choice([None, 3])))
    if "LIMIT" in text:  # it is not defined which matches of an end are taken
        assert [e[1] for e in found] == [e[1] for e in expected], (seed, text)
    else:
        assert (set(found), len(found)) == (set(expected), len(expected)), (seed, text)
    ends = sorted((events[e[0]]["time"], events[e[1]]["time"]) for e in found)
    assert sorted(in_batches(choice, events, rng)) == ends, (seed, text)
    return "compared" if found else "without a match"


@pytest.mark.parametrize("seeds", shares(200, each=50))
def test_layers_equal_the_reference(seeds):
    became = [compare(seed) for seed in seeds]
    assert became.count("reference") < max(1, most(seeds, 0.1)) or len(seeds) < 100
    assert became.count("compared") > most(seeds, 0.2)
