"""Operations on automata that report matches: against the reference, for the formula that says the same."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from amounts import most, shares
from overlapping_parts import random_part

import ensue
from ensue.algebra import MatchAutomaton
from ensue.results.matches import Matches

Found = set[tuple[int, int, frozenset[tuple[str, int]]]]
SCHEMA = pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", pa.int64())])
#: Patterns that compare events, or their times.
WITH_MEMORY = [
    "A AS x ; ANY AS y FILTER x.v = y.v",
    "(A AS x)+ ; B AS y FILTER y.v >= x.v",
    "A AS x ; B AS y FILTER y.v > x.v OR y.v < 1",
    "A AS x ; B AS y FILTER x.v + y.v > 2",
    "A ;[<= 1 s] B",
    "(A AS x) ;[<= 1 s] ANY ;[> 1 s] B",
    "A ; B WITHIN 2 s",
]


def found(matches: Matches) -> Found:
    return {
        (
            int(matches.start[m]),
            int(matches.end[m]),
            frozenset((x, int(k)) for x, marks in matches.marks.items() for k in marks.of(m)),
        )
        for m in range(len(matches))
    }


def by_reference(pattern: str, events: pa.Table) -> Found:
    return found(ensue.match(events, f"SELECT * FROM S WHERE {pattern}", unit="s", engine="reference"))


def reported(m: MatchAutomaton, events: pa.Table, engine: str) -> Found:
    query = ensue.query("SELECT * FROM S WHERE MATCHES m", m=m)
    return found(query.run(events, unit="s", engine=engine))


def table(rng: Random, most_events: int = 6) -> pa.Table:
    count = rng.randrange(most_events + 1)
    types, values = rng.choices("AABC", k=count), rng.choices([0, 1, 2, None], k=count)
    return pa.table({"time": sorted(rng.choices(range(6), k=count)), "type": types, "v": values}, schema=SCHEMA)


def part(rng: Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(WITH_MEMORY)
    made = random_part(rng, rng.choice([1, 1, 2]))
    return f"({made} FILTER A.v < {rng.randrange(3)})" if rng.random() < 0.3 else made


def first_variable(p: MatchAutomaton) -> str:
    return min(p.variables, default="()")


OPERATIONS = {
    "union": (lambda p, q: p | q, "({p}) OR ({q})"),
    "intersection": (lambda p, q: p & (q | p), "({p}) AND (({q}) OR ({p}))"),
    "concatenation": (lambda p, q: p.then(q), "({p}) : ({q})"),
    "iteration": (lambda p, q: p.repeated(), "({p}):+"),
    "projection": (lambda p, q: p.keeping(first_variable(p)), "PROJECT {x} ({p})"),
    "determinisation": (lambda p, q: p.determinised(), "{p}"),
    "union, then one": (lambda p, q: (p | q).then(q), "(({p}) OR ({q})) : ({q})"),
}


def compare(seed: int) -> str:
    rng = Random(f"match automata {seed}")
    name = rng.choice([*OPERATIONS, "difference"])
    texts = [part(rng), part(rng)]
    try:
        p, q = (MatchAutomaton.of(text, schema=SCHEMA) for text in texts)
        made = p - q if name == "difference" else OPERATIONS[name][0](p, q)
    except (ensue.EngineError, ensue.QueryError):
        return "refused"
    ended = 0
    for _ in range(3):
        events = table(rng)
        if name == "difference":
            wanted = by_reference(texts[0], events) - by_reference(texts[1], events)
        else:
            wanted = by_reference(OPERATIONS[name][1].format(p=texts[0], q=texts[1], x=first_variable(p)), events)
        ended += len(wanted)
        for engine in ("automaton", "reference"):
            assert reported(made, events, engine) == wanted, (seed, engine, name, texts, events.to_pylist())
    return name if ended else "no match"


@pytest.mark.parametrize("seeds", shares(12, each=12))
def test_random_operations(seeds):
    became = Counter(map(compare, seeds))
    assert all(became[name] > most(seeds, 0.02) for name in (*OPERATIONS, "difference")), became


@pytest.mark.parametrize("pattern", ["A AS x ; B", "(A AS x):+", "ANY AS x UNLESS B", "A ;[<= 1 s] (B AS x)"])
def test_a_complement_has_all_the_rest(pattern):
    made = ~MatchAutomaton.of(pattern).keeping("x")
    for seed in range(6):
        events = table(Random(seed), 4)
        stretches = itertools.combinations_with_replacement(range(len(events)), 2)
        everything = {
            (start, end, frozenset(("x", k) for k in marked))
            for start, end in stretches
            for n in range(end - start + 2)
            for marked in itertools.combinations(range(start, end + 1), n)
        }
        wanted = everything - by_reference(f"PROJECT x ({pattern})", events)
        assert reported(made, events, "automaton") == wanted
        assert reported(made, events, "reference") == wanted
        assert reported(~made, events, "automaton") == everything - wanted


def test_one_run_for_each_match():
    twice = MatchAutomaton.of("(A ; B) OR (A ; (B OR C)) OR (A : B)")
    once = twice.determinised()
    ways = [(t.source, t.guard, t.marks) for t in once.automaton.transitions]
    assert len(ways) == len(set(ways)) > 0
    assert bool(ensue.same(*(ensue.query("SELECT * FROM S WHERE MATCHES m", m=m) for m in (twice, once))))


def test_automata_that_are_drawn_are_part_of_it():
    drawn = ensue.Automaton(register={"low": 0}, clocks="z").start("a").accept("c")
    drawn.arc("a", "b", "type = 'A'", mark="x", then={"low": "v"}, reset="z").skip("b")
    drawn.arc("b", "c", "type = 'B' AND v > low", mark="y", since={"z": "<= 2 s"})
    pattern = "PROJECT x, y (A AS x ;[<= 2 s] B AS y FILTER y.v > x.v)"
    both = MatchAutomaton.of(drawn) | MatchAutomaton.of("C AS x").keeping("x")
    for seed in range(8):
        events = table(Random(seed), 8)
        wanted = by_reference(f"({pattern}) OR PROJECT x (C AS x)", events)
        assert reported(both, events, "automaton") == reported(both, events, "reference") == wanted


def test_it_is_given_to_a_query_as_any_automaton():
    one = MatchAutomaton.of("A AS x ; B AS y FILTER x.v = y.v", schema=SCHEMA).repeated()
    text = "SELECT NEXT first(x.v) AS least FROM S WHERE (MATCHES one) ; C PARTITION BY v WITHIN 5 s"
    plain = text.replace("MATCHES one", "(A AS x ; B AS y FILTER x.v = y.v):+")
    events = table(Random(3), 400)
    rows = ensue.query(text, one=pickle.loads(pickle.dumps(one))).run(events, unit="s").to_arrow()
    assert rows == ensue.query(plain).run(events, unit="s").to_arrow()


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (lambda: MatchAutomaton.of("A AS x ; B AS y FILTER x.v = y.v"), "stores v: say of which type it is"),
        (lambda: MatchAutomaton.of("NEXT(A ; B)"), "depends on earlier events"),
        (lambda: MatchAutomaton.of("A ; NOT B WITHIN 1 s"), "is not part of an automaton"),
        (lambda: MatchAutomaton.of("A PARTITION BY k"), "a pattern alone"),
        (lambda: ~MatchAutomaton.of(WITH_MEMORY[0], schema=SCHEMA), "not closed under complement"),
        (lambda: MatchAutomaton.of("PROJECT A (A ; B ;[<= 1 s] A)").determinised(), "not synchronous"),
        (lambda: ~MatchAutomaton.of("A AS t ; B AS u ; C AS w ; D AS x ; E AS y"), "10 variables have too many"),
        (lambda: MatchAutomaton.of(counting()), "computes with the register"),
    ],
)
def test_what_is_refused(refused, why):
    with pytest.raises(ensue.EngineError, match=why):
        refused()


def counting() -> ensue.Automaton:
    return ensue.Automaton(register={"n": 0}).start(0).accept(1).arc(0, 1, then={"n": "n + 1"})


def test_nothing_is_reported_by_an_automaton_without_runs():
    nothing = MatchAutomaton.of("A") & MatchAutomaton.of("B")
    assert str(nothing) == "no run ends: the query matches nothing"
    assert reported(nothing, table(Random(1)), "automaton") == reported(nothing, table(Random(1)), "reference") == set()
