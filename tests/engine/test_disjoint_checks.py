"""Checks of time made disjoint: runs that only check differently are merged, with the reference's matches."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_in_pieces, run_plan
from strategies import Event, events_table

import ensue
from ensue.automata.timing.clock_types import apart, clock_types, covers
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.language.ast import Interval
from ensue.language.parser import parse_pattern, parse_query
from ensue.logic.check import check

SHAPES = [
    "(A ;[{0}] B) OR (A ;[{1}] B)",
    "(A ;[{0}] B ; C) OR (A ;[{1}] B ; C)",
    "(A ;[{0}] (B OR C)) OR (A ;[{1}] B)",
    "(A ;[{0}] B) OR (A ;[{1}] B) OR (A ;[{2}] B)",
    "((A ;[{0}] B) OR (A ;[{1}] B)) ;[{2}] C",
    "(A ;[{0}] B ;[{2}] C) OR (A ;[{1}] B ;[{2}] C)",
    "((A ;[{0}] B) OR (A ;[{1}] B))+",
]


def interval(rng: Random) -> str:
    low, high = sorted(rng.sample(range(5), 2))
    return rng.choice(
        [f"<= {high} s", f"< {high} s", f">= {high} s", f"> {low} s", f"{low} s .. {high} s", f"= {low} s"]
    )


def compare(seed: int) -> str:
    rng = Random(f"disjoint checks {seed}")
    pattern = rng.choice(SHAPES).format(*(interval(rng) for _ in range(3)))
    text = f"SELECT * FROM S WHERE {pattern}{rng.choice(['', ' WITHIN 4 s', ' PARTITION BY k', ' WITHIN 5 EVENTS'])}"
    times = sorted(rng.choices(range(8), k=rng.randrange(3, 10)))
    events: list[Event] = [{"time": t, "type": rng.choice("AABBC"), "v": 0, "k": rng.choice([0, 0, 1])} for t in times]
    query = parse_query(text)
    stream = read_events(events_table(events), query.streams, unit="s")
    checked = check(query, text, stream.schema)
    plan = plan_of(checked)
    assert plan is not None
    wanted = found_events(reference.evaluate(checked, stream))
    found = run_in_pieces(plan, stream, rng)
    assert Counter(found) == Counter(wanted), (seed, text, events)
    assert found_events(run_plan(plan, stream)) == found, (seed, text, events)
    return "without duplicates" if wanted and not plan.ambiguous else "compared"


@pytest.mark.parametrize("seeds", shares(300, each=150))
def test_random_gaps(seeds):
    assert Counter(map(compare, seeds))["without duplicates"] > most(seeds, 0.3)


@pytest.mark.parametrize(
    ("pattern", "compared"),
    [
        ("(A ;[< 1 s] B) OR (A ;[> 2 s] B)", False),
        ("(A ;[< 2 s] B) OR (A ;[> 1 s] B)", False),
        ("(A ;[< 2 s] B ; C) OR (A ;[> 1 s] B ; C)", False),
        ("PROJECT () (A ; A ;[= 1 s] A)", True),  # no deterministic automaton exists
    ],
)
def test_explain_says_whether_duplicates_are_compared(pattern, compared):
    shown = ensue.query(f"SELECT * FROM S WHERE {pattern}").explain()
    assert ("duplicates" in shown) == compared


def gap(text: str) -> Interval:
    p = parse_pattern(f"A ;[{text}] B")
    assert isinstance(p.gap, Interval)  # type: ignore[attr-defined]
    return p.gap  # type: ignore[attr-defined]


def test_clock_types_are_disjoint_complete_and_decide_each_check():
    rng = Random(1)
    for _ in range(200):
        asked = [gap(interval(rng)) for _ in range(rng.randrange(1, 4))]
        types = clock_types(asked)
        for nanoseconds in range(0, 6 * 10**9, 5 * 10**8):
            (own,) = (t for t in types if t.contains(nanoseconds))
            assert all(covers(i, own) == i.contains(nanoseconds) for i in asked)
            assert all(apart(i, own) or covers(i, own) for i in asked)
