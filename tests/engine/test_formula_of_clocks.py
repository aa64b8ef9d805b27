"""From automata with clocks to patterns and back: what the pattern finds is what the automaton finds."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from amounts import shares

import ensue
from ensue.algebra import MatchAutomaton, formula_of

Found = set[tuple[int, int, frozenset[tuple[str, int]]]]


def found(query: ensue.Query, events: pa.Table, engine: str) -> Found:
    matches = query.run(events, unit="s", engine=engine)
    return {
        (
            int(matches.start[m]),
            int(matches.end[m]),
            frozenset((x, int(k)) for x, marks in matches.marks.items() for k in marks.of(m)),
        )
        for m in range(len(matches))
    }


def table(rng: Random, most_events: int) -> pa.Table:
    count = rng.randrange(3, most_events + 1)
    return pa.table({"time": sorted(rng.choices(range(7), k=count)), "type": rng.choices("AABC", k=count)})


def goes_round(query: ensue.Query, formula: str, rng: Random, streams: int) -> int:
    back, ended = ensue.query(f"SELECT * FROM S WHERE {formula}"), 0
    for _ in range(streams):
        events = table(rng, 7)
        wanted = found(query, events, "reference")
        assert found(back, events, "automaton") == wanted, (formula, events.to_pylist())
        ended += len(wanted)
    return ended


@pytest.mark.parametrize(
    "pattern",
    [
        "A ;[<= 1 s] B",
        "A :[> 1 s] B",
        "A ;[1 s .. 3 s] B",
        "A :[<= 1 s] B :[<= 2 s] C",  # B checks a clock that it resets
        "(A ;[<= 1 s] ANY)+",
        "(A :[< 2 s] B) OR (A ;[> 1 s] B)",
        "(A ; B WITHIN 2 s) ; C WITHIN 4 s",
        "A+[<= 1 s] ; B",
        "A ; (B AS y) ;[>= 1 s] (A OR C)",
    ],
)
def test_a_pattern_with_clocks_has_a_formula_with_windows(pattern):
    formula = formula_of(pattern)
    assert ";" not in formula
    assert goes_round(ensue.query(f"SELECT * FROM S WHERE {pattern}"), formula, Random(pattern), 20) > 0


def test_an_automaton_that_is_drawn_has_a_formula():
    """The clock is checked any number of times after one reset, from both sides."""
    drawn = ensue.Automaton(clocks="z").start(0).accept(2)
    drawn.arc(0, 1, "type = 'A'", mark="x", reset="z").arc(1, 1, "type = 'A'", since={"z": "<= 3 s"}).skip(
        1, "type = 'C'"
    )
    drawn.arc(1, 2, "type = 'B'", mark="y", since={"z": ">= 1 s"}).arc(
        2, 2, "type = 'B'", mark="y", since={"z": ">= 1 s"}
    )
    formula = formula_of(drawn)
    assert goes_round(ensue.query("SELECT * FROM S WHERE MATCHES m", m=drawn), formula, Random(1), 25) > 0
    assert formula_of(MatchAutomaton.of(drawn)) == formula


def drawn_at_random(rng: Random) -> ensue.Automaton:
    """One or two clocks, arcs that check and reset them in any way, and loops."""
    clocks = "yz"[: rng.choice((1, 1, 2))]
    made = ensue.Automaton(clocks=tuple(clocks)).start(0).accept(2)
    for source, target in [(0, 1), (1, 2), *rng.sample([(0, 2), (1, 1), (2, 1), (1, 2), (2, 2)], 2)]:
        since = {c: rng.choice(["<= 1 s", "< 3 s", ">= 1 s", "> 2 s", "= 1 s"]) for c in clocks if rng.random() < 0.4}
        reset = [c for c in clocks if source == 0 or rng.random() < 0.4]
        when = rng.choice(["type = 'A'", "type <> 'B'", None])
        made.arc(source, target, when, since=since if source else {}, reset=reset, mark=rng.choice(["p", "q", ()]))
    return made


def compare(seed: int) -> str:
    """What became of a random automaton."""
    rng = Random(f"formula of clocks {seed}")
    drawn = drawn_at_random(rng)
    try:
        formula = formula_of(drawn)
    except ensue.EngineError:
        return "refused"
    ended = goes_round(ensue.query("SELECT * FROM S WHERE MATCHES m", m=drawn), formula, rng, 3)
    return "with matches" if ended else "without a match"


@pytest.mark.parametrize("seeds", shares(20, each=20))
def test_random_automata(seeds):
    assert "with matches" in map(compare, seeds)
