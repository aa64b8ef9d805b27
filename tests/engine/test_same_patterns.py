"""`ensue.same` and `ensue.contains`: against what the reference finds over random streams."""

from __future__ import annotations

import math
import re
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from amounts import most, shares
from overlapping_parts import random_part

import ensue
from ensue.algebra import formula_of
from ensue.algebra.same_patterns import PatternComparison

Found = set[tuple[int, int, frozenset[tuple[str, int]]]]


def with_conditions(rng: Random, part: str) -> str:
    """The pattern with conditions on single events, and with changes that may or may not mean something."""
    for _ in range(rng.randrange(3)):
        part = rng.choice(
            [
                f"({part} FILTER A.v {rng.choice(['<', '<=', '>', '='])} {rng.randrange(3)})",
                f"({part} FILTER x.v > {rng.randrange(2)} OR x.v < 1)",
                f"({part} FILTER NOT x.v {rng.choice(['<', '>=', '='])} {rng.randrange(3)} OR A.v <> 1)",
                f"({part} FILTER x.v <= PREV(x.v) OR NOT A.v >= PREV(A.v))",
                f"({part} WITHIN {rng.randrange(2, 5)} EVENTS)",
                f"({part} OR A)",
                f"NEXT({part})",
                f"STRICT({part})",
            ]
        )
    return part


def rewritten(rng: Random, pattern: str) -> str:
    """Another pattern that finds the same."""
    if rng.random() < 0.5:
        return rng.choice([f"({pattern}) OR ({pattern} WITHIN 3 EVENTS)", f"MAX({pattern}) OR ({pattern})"])
    try:
        return formula_of(pattern)  # through the automaton and back
    except (ensue.EngineError, ensue.QueryError):
        return pattern


def found_by_reference(text: str, events: pa.Table) -> Found:
    unit = "ns" if pa.types.is_integer(events.column("time").type) else None
    matches = ensue.match(events, text, unit=unit, engine="reference")
    return {
        (
            int(matches.start[m]),
            int(matches.end[m]),
            frozenset((x, int(k)) for x, marks in matches.marks.items() for k in marks.of(m)),
        )
        for m in range(len(matches))
    }


def table_of(rng: Random, kind: pa.DataType) -> pa.Table:
    count = rng.randrange(1, 7)
    known = [0, 1, 2, None] if pa.types.is_integer(kind) else [0.0, 1.0, 2.0, None, math.nan]
    types, values = [rng.choice("AABC") for _ in range(count)], [rng.choice(known) for _ in range(count)]
    return pa.table({"time": list(range(count)), "type": types, "v": pa.array(values, kind)})


def compare(seed: int) -> str:
    rng = Random(f"same patterns {seed}")
    part = random_part(rng, rng.choice([1, 2]))
    patterns = [with_conditions(rng, part), with_conditions(rng, part if rng.random() < 0.6 else random_part(rng, 1))]
    if rng.random() < 0.5:
        patterns[1] = rewritten(rng, patterns[0])
    texts = [f"SELECT * FROM S WHERE {p}" for p in patterns]
    kind = rng.choice([pa.int64(), pa.float64()])
    schema = pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", kind)])
    streams = [table_of(rng, kind) for _ in range(12)]
    try:
        over = [[found_by_reference(t, s) for t in texts] for s in streams]
        answers = [asked(*texts, schema=schema) for asked in (ensue.same, ensue.contains)]
    except ensue.QueryError:
        return "no query"
    except ensue.EngineError:
        return "refused"
    for answer, both_ways in zip(answers, (True, False), strict=True):
        if answer:
            assert all(one == two if both_ways else one >= two for one, two in over), (seed, texts)
        else:
            check_difference(answer, texts, (seed, *texts))
            assert both_ways or answer.only_in == 2
    return "same" if answers[0] else "different"


def check_difference(answer: PatternComparison, texts: list[str], told: object) -> None:
    assert answer.events is not None
    assert answer.start is not None
    assert answer.end is not None
    marks = frozenset((x, k) for x, places in answer.marks.items() for k in places)
    had = [(answer.start, answer.end, marks) in found_by_reference(t, answer.events) for t in texts]
    assert had == [answer.only_in == 1, answer.only_in == 2], told


@pytest.mark.parametrize("seeds", shares(60, each=60))
def test_random_patterns(seeds):
    became = Counter(map(compare, seeds))
    assert became["same"] > most(seeds, 0.2), became
    assert became["different"] > most(seeds, 0.3), became


@pytest.mark.parametrize(
    ("first", "second", "are_same", "first_has_all"),
    [
        ("A ; (B OR C)", "(A ; B) OR (A ; C)", True, True),
        ("A ; B ; C", "A ; (B ; C)", True, True),
        ("A AS x FILTER x.v > 1 AND x.v < 1", "A AS x FILTER x.v = NULL", True, True),
        ("A AS x", "A AS y", False, False),
        ("A ; B", "A : B", False, True),
        ("A ; B WITHIN 5 EVENTS", "A ; B WITHIN 4 EVENTS", False, True),
        ("A ; B WITHIN 2 s", "A ; B WITHIN 2000 ms", True, True),
        ("NEXT(A ; B)", "A ; B", False, False),
        ("MAX(A)", "A", True, True),
        ("A AS x FILTER x.v > PREV(x.v)", "A AS x FILTER x.v >= PREV(x.v)", False, False),
        ("A AS x FILTER NOT x.v > 1", "A AS x FILTER x.v <= 1", False, True),  # where v is NaN
        ("A AS x FILTER NOT x.v > 1", "A AS x FILTER x.v <= 1 OR x.v <> x.v", True, True),
        ("A AS x FILTER x.v <> x.v", "A AS x FILTER FALSE", False, True),
        ("A AS x FILTER x.v <> x.v", "A AS x FILTER NOT x.v = x.v", True, True),
        ("A AS x FILTER x.v > PREV(x.v)", "A AS x FILTER NOT x.v <= PREV(x.v)", False, False),
        ("A AS x FILTER x.v - x.w > 1", "A AS x FILTER NOT x.v - x.w <= 1", False, False),
        ("A AS x FILTER x.v > 'a'", "A AS x FILTER NOT x.v <= 'a'", True, True),
        ("A AS x FILTER x.v - x.w > 1 s", "A AS x FILTER NOT x.v - x.w <= 1 s", True, True),
        ("A AS x FILTER x.v > 1 OR x.v <= 1", "A AS x", False, False),  # where v is NULL
        ("A AS x FILTER x.v > 1 OR x.v <= 1 OR x.v IS NULL", "A AS x", False, False),  # where v is NaN
        ("A AS x FILTER x.v > 1 OR NOT x.v > 1 OR x.v IS NULL", "A AS x", True, True),
        ("A AS x ; B AS y FILTER x.v > 1 OR y.v < 2", "(A AS x FILTER x.v > 1) ; B AS y", False, True),
    ],
)
def test_what_is_the_same(first, second, are_same, first_has_all):
    assert bool(ensue.same(first, second)) == are_same
    assert bool(ensue.contains(first, second)) == first_has_all


def test_only_floats_may_be_nan():
    for kind, are_same in ((pa.int64(), True), (pa.float64(), False), (pa.decimal128(9, 2), True), (pa.string(), True)):
        given = "'1'" if pa.types.is_string(kind) else "1"
        schema = pa.schema([("time", pa.timestamp("ns")), ("type", pa.string()), ("v", kind)])
        one, other = f"A AS x FILTER NOT x.v > {given}", f"A AS x FILTER x.v <= {given}"
        assert bool(ensue.same(one, other, schema=schema)) == are_same
        assert bool(ensue.same(f"NEXT({one})", f"NEXT({other})", schema=schema)) == are_same


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("A AS x ; B AS y FILTER x.v < y.v", "A AS x ; B AS y", "it depends on comparisons of events"),
        ("A ; B WITHIN 5 s", "A ; B WITHIN 6 s", "their windows in time differ"),
        ("A ; B ; NOT C WITHIN 5 s", "A ; B", "an absence with a deadline decides"),
        ("SELECT NEXT * FROM S WHERE A ; B WITHIN 9 EVENTS", "A ; B WITHIN 9 EVENTS", "NEXT chooses"),
        ("SELECT * FROM S WHERE A LIMIT 1 PER END", "A", "leave out CONSUME BY and LIMIT"),
        ("SELECT * FROM S WHERE A PARTITION BY k", "A", "the two have other keys"),
        ("A AS x FILTER x.v > 1", "A AS x FILTER sqrt(x.v) > 1", "nothing is decided of sqrt(v)"),
        (
            "A AS x FILTER x.time - PREV(x.time) > x.w",
            "A AS x FILTER NOT x.time - PREV(x.time) <= x.w",
            "nothing is decided of time - prev(time)",
        ),
        ("A ; B WITHIN 500 EVENTS", "A ; B WITHIN 400 EVENTS", "a window has more than 64 events"),
    ],
)
def test_what_is_not_known_is_said(first, second, why):
    with pytest.raises(ensue.EngineError) as raised:
        ensue.same(first, second)
    assert why in str(raised.value)


# ---------------------------------------------------------------- from automata to patterns


@pytest.mark.parametrize(
    "pattern",
    [
        "A ; B",
        "(A AS x)+ ; B AS y",
        "A ALL B ALL C",
        "A ; NOT C ; B",
        "STRICT(A ; B)",
        "(A AS x FILTER x.v > 1) ; (B AS y FILTER NOT y.v > 1)",
        "A AS x ; B AS y FILTER x.v > 1 OR y.v < 2",
        "PROJECT x (A AS x ; B)",
        "ANY[v > 1] AS x : ANY AS y",
    ],
)
def test_a_formula_of_the_automaton_is_the_same_pattern(pattern):
    formula = formula_of(pattern)
    assert ensue.same(pattern, formula), formula
    assert not re.search(r";|[^:]\+", formula)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("A AS x ; (B AS y FILTER y.v > x.v)+", "a round of the automaton stores or compares"),
        ("NEXT(A ; B)", "earlier runs in NEXT"),
        ("A{60} ALL B{60}", "more than 2,000 single events"),
        ("A AND B", "no run of the automaton ends"),
    ],
)
def test_what_has_no_formula_of_single_events(pattern, why):
    with pytest.raises(ensue.EngineError, match=why):
        formula_of(pattern)


# ---------------------------------------------------------------- warnings


def warned(pattern: str) -> list[str]:
    return [w.splitlines()[0] for w in ensue.query(f"SELECT * FROM S WHERE {pattern}").warnings]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("(A ; B) OR (A : B)", ["this alternative adds nothing: A ; B finds all that it finds"]),
        ("A : B OR A ; B OR C", ["this alternative adds nothing: A ; B finds all that it finds"]),
        ("(A AS x FILTER x.v > 2) OR (A AS x FILTER x.v > 1) ; C", []),
        (
            "((A AS x FILTER x.v > 2) OR (A AS x FILTER x.v > 1)) ; C",
            ["this alternative adds nothing: A AS x FILTER x.v > 1"],
        ),
        ("(A AS x FILTER NOT x.v > 1) OR (A AS x FILTER x.v <= 1)", ["this alternative adds nothing: A AS x"]),
        ("(A AS x FILTER x.v <= 1) OR (A AS x FILTER NOT x.v > 1)", ["this alternative adds nothing: A AS x"]),
        ("(A AS x FILTER x.v <> 1) OR (A AS x FILTER x.v <= 1)", []),
        ("(A AS x FILTER x.v > 2 OR x.v < 2) OR (A AS x FILTER x.v <> 2)", ["this alternative adds nothing: A AS x"]),
        ("A[v <> 1] AND A[v > 0]", []),
        ("A[v <> 1] AND A[v >= 1 AND v <= 1]", ["this query never matches: no events satisfy"]),
        ("A[v <> v]", []),
        ("A OR B", []),
        ("A OR A", ["this alternative adds nothing: A finds all that it finds"]),
        ("(A AS x) OR (A AS y)", []),
        ("(A AS x ; B AS y FILTER x.v < y.v) OR (A AS x ; B AS y)", []),
        (
            "(A : B)+ AND (B : A)+",
            ["this query never matches: no events satisfy all of its conditions"],
        ),
    ],
)
def test_warnings_of_what_adds_nothing(pattern, wanted):
    found = warned(pattern)
    assert len(found) == len(wanted), found
    assert all(f.startswith(f"warning: {w}") for f, w in zip(found, wanted, strict=True)), found


def test_explain_warns_too():
    shown = ensue.query("SELECT * FROM S WHERE (A ; B) OR (A : B)").explain()
    assert "warning: this alternative adds nothing: A ; B finds all that it finds" in shown
