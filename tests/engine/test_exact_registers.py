"""Registers that hold times, durations and decimals; and automata that compare values, back to patterns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest

import ensue
from ensue.algebra import MatchAutomaton, formula_of
from ensue.results.matches import Matches

Found = set[tuple[int, int, frozenset[tuple[str, int]]]]
SCHEMA = pa.schema(
    [
        ("time", pa.int64()),
        ("type", pa.string()),
        ("at", pa.timestamp("us")),
        ("zoned", pa.timestamp("ms", "UTC")),
        ("took", pa.duration("ms")),
        ("price", pa.decimal128(12, 2)),
        ("v", pa.int64()),
    ]
)
COMPARISONS = ["y.at > x.at", "x.zoned = y.zoned", "y.took <= x.took", "y.price >= x.price", "y.price - x.price > 0.01"]


def table(rng: Random, most_events: int = 10) -> pa.Table:
    count = rng.randrange(6, most_events + 1)
    noon = datetime(2026, 1, 1, 12)
    prices = [Decimal("1.10"), Decimal("1.11"), Decimal("-0.01"), None]
    columns = {
        "time": sorted(rng.choices(range(6), k=count)),
        "type": rng.choices("AABBCC", k=count),
        "at": [None if k == 3 else noon + timedelta(microseconds=k) for k in rng.choices(range(4), k=count)],
        "zoned": [noon.replace(tzinfo=UTC) + timedelta(milliseconds=k) for k in rng.choices(range(2), k=count)],
        "took": [None if k == 3 else timedelta(milliseconds=k) for k in rng.choices(range(4), k=count)],
        "price": rng.choices(prices, k=count),
        "v": rng.choices([0, 1, 2, None], k=count),
    }
    return pa.table(columns, schema=SCHEMA)


def found(matches: Matches) -> Found:
    return {
        (
            int(matches.start[m]),
            int(matches.end[m]),
            frozenset((x, int(k)) for x, marks in matches.marks.items() for k in marks.of(m)),
        )
        for m in range(len(matches))
    }


def of_pattern(pattern: str, events: pa.Table, engine: str = "reference") -> Found:
    return found(ensue.query(f"SELECT * FROM S WHERE {pattern}").run(events, unit="s", engine=engine))


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_match_automata_keep_what_no_literal_has(comparison: str) -> None:
    one = f"A AS x ; B AS y FILTER {comparison}"
    made = MatchAutomaton.of(one, schema=SCHEMA) | MatchAutomaton.of("C : C")
    ended = 0
    for seed in range(16):
        events = table(Random(seed))
        wanted = of_pattern(f"({one}) OR (C : C)", events)
        query = ensue.query("SELECT * FROM S WHERE MATCHES made", made=made)
        for engine in ("automaton", "reference"):
            assert found(query.run(events, unit="s", engine=engine)) == wanted, (seed, engine)
        ended += len(wanted)
    assert ended > 10


@pytest.mark.parametrize(("name", "operator"), [("at", ">"), ("zoned", "="), ("took", "<="), ("price", ">=")])
def test_a_drawn_automaton_keeps_them(name: str, operator: str) -> None:
    drawn = ensue.Automaton(register={"kept": SCHEMA.field(name).type}).start("a").accept("c")
    drawn.arc("a", "b", "type = 'A'", mark="x", then={"kept": name}).skip("b")
    drawn.arc("b", "c", f"type = 'B' AND {name} {operator} kept")
    query, ended = ensue.query("SELECT * FROM S WHERE MATCHES drawn", drawn=drawn), 0
    for seed in range(16):
        events = table(Random(seed))
        wanted = of_pattern(f"PROJECT x (A AS x ; B AS y FILTER y.{name} {operator} x.{name})", events)
        for engine in ("automaton", "reference"):
            assert found(query.run(events, unit="s", engine=engine)) == wanted, (seed, engine)
        ended += len(wanted)
    assert ended > 5


def test_other_arrow_types_are_refused() -> None:
    with pytest.raises(TypeError, match="of an Arrow type of times, durations or decimals, not int64"):
        ensue.Automaton(register={"n": pa.int64()})


@pytest.mark.parametrize(
    "pattern",
    [
        "A AS x ; B AS y FILTER y.v > x.v",
        "A AS x ; C AS z : (B OR C OR A) FILTER z.v + 2 > x.v AND z.v <= x.v",
        "(A AS x ; B AS y FILTER x.v = y.v) OR (A AS x : C AS z FILTER abs(z.v - x.v) < 2)",
        "A AS x ; (B AS y ; C AS z FILTER y.v <= z.v) FILTER x.v <> z.v OR y.price > x.price",
        "A AS x ; B? ; C AS z FILTER z.v >= x.v",
    ],
)
def test_automata_that_compare_values_have_formulas_of_their_paths(pattern: str) -> None:
    formula, ended = formula_of(MatchAutomaton.of(pattern, schema=SCHEMA)), 0
    for seed in range(16):
        events = table(Random(seed))
        wanted = of_pattern(pattern, events)
        assert of_pattern(formula, events) == wanted, (formula, seed)
        assert of_pattern(formula, events, "automaton") == wanted, (formula, seed)
        ended += len(wanted)
    assert ended > 5


@pytest.mark.parametrize(
    "pattern", ["(A AS x ; B AS y FILTER x.v < y.v)+", "A AS x ; C AS z ;[<= 1 s] C AS w FILTER w.v > x.v"]
)
def test_rounds_and_times_beside_values_have_none(pattern: str) -> None:
    with pytest.raises(ensue.EngineError, match="there is no formula of single events"):
        formula_of(MatchAutomaton.of(pattern, schema=SCHEMA))
