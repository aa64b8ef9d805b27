"""Conditions between events of the shapes that are looked up: in absences, as one of several, over many types."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_at_once, run_in_pieces

import ensue
from ensue.automata.register_moves import slow_moves
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.kernels.runner import Runner
from ensue.logic.check import check
from ensue.plan import Plan

ABSENT = [
    "A AS x ; NOT (B AS w FILTER {}) ; C AS y",
    "A AS x ; NOT (B AS w FILTER {} OR w.w < -1) ; C AS y",
    "(A AS x ; C AS y) UNLESS (B AS w FILTER {})",
    "A AS z ; (A AS x ; NOT (B AS w FILTER {}) ; C AS y)+",
    "A AS x ; NOT (B AS w FILTER {}) ; (C AS y FILTER y.v <> x.v)",
    "A AS x ; NOT (B AS w FILTER {}) ; C AS y FILTER y.w > x.w",
    "A AS x ; A AS z ; NOT (B AS w FILTER {} AND w.v >= z.v) ; C AS y",
]
OF_ABSENT = [
    *("w.v > x.v", "abs(w.v - x.v) <= 1", "w.w < x.w", "w.v = x.v", "w.v <> x.v", "abs(w.w - x.w) < 1"),
    *("x.v + w.v > 3", "w.v BETWEEN x.v - 1 AND x.v", "w.w - x.w > 0.5 OR x.v IS NULL", "w.v > x.v AND w.w < x.w"),
]
LATER = [
    "A AS x ; NOT (B AS b FILTER {}) ; C AS z",
    "A AS x ; NOT (B AS b FILTER b.v > 1 AND {}) ; C AS z",
    "A AS x ; NOT (B AS b FILTER {}) ; A AS y ; C AS z",
    "A AS x ; NOT ((B OR A) AS b FILTER {}) ; (C AS z FILTER z.v > 0) ; B",
    "B AS u ; A AS x ; NOT (B AS b FILTER {} OR b.v = u.v) ; C AS z",
    "(A AS x ; NOT (B AS b FILTER {}) ; C AS z) OR B AS q",
]
OF_LATER = [
    *("b.v > z.v", "b.v = z.v AND b.v <> x.v", "abs(b.w - z.w) < 1", "b.v + x.v > z.v", "b.w <= z.w", "b.s = z.s")
]
CHOSEN = [
    "A AS x ; B AS y FILTER {}",
    "A AS x ; B AS y ; C AS z FILTER {}",
    "(A AS x ; B AS y FILTER {})+",
    "A AS x ; (B AS y)? ; C AS z FILTER {}",
    "(A AS x ALL B AS y) FILTER {}",
    "A AS x ; NOT C ; B AS y FILTER {} AND x.v < 4",
    "A AS x ; (C OR B) AS y FILTER {}",
    "C ; (A AS x ; B AS y FILTER {}) ; C",
]
OF_CHOICES = [
    *("x.v = y.v OR x.w = y.w", "x.v = y.v OR abs(x.w - y.w) < 1", "x.v IN (y.v, y.k)", "x.s = y.s OR x.v = y.v"),
    *("x.v = y.v + 1 OR x.k = y.k OR x.w = y.w", "abs(x.v - y.v) < 1 OR abs(x.w - y.w) <= 0.5", "x.v <> y.v"),
]


def table_of(rng: random.Random, n: int) -> pa.Table:
    return pa.table(
        {
            "time": pa.array(range(n), pa.int64()),
            "type": pa.array(rng.choices("AAABBCC", k=n), pa.string()),
            "v": pa.array(rng.choices([0, 1, 2, 3, 4, 5, None], k=n), pa.int64()),
            "w": pa.array(rng.choices([0.0, -0.0, 0.5, 1.0, 2.0, float("nan"), None], k=n), pa.float64()),
            "k": pa.array(rng.choices([0, 1, 7], k=n), pa.int64()),
            "s": pa.array(rng.choices(["a", "b", "c", None], k=n), pa.string()),
        }
    )


def compare(seed: int) -> str:
    """One such query by both engines; says what became of it."""
    rng = random.Random(seed)
    shapes, conditions = rng.choice([(ABSENT, OF_ABSENT), (LATER, OF_LATER), (CHOSEN, OF_CHOICES)])
    selector = rng.choice(["", "", "", "NEXT ", "LAST ", "MAX "])
    tail = rng.choice(["", "", " PARTITION BY k", " WITHIN 7 EVENTS", " WITHIN 5 s"])
    tail += rng.choice(["", "", "", " CONSUME BY ANY"])
    text = f"SELECT {selector}* FROM S WHERE {rng.choice(shapes).format(rng.choice(conditions))}{tail}"
    stream = read_events(table_of(rng, rng.randrange(3, 13)), ("S",), unit="s")
    checked = check(ensue.query(text).ast, text, stream.schema)
    plan = plan_of(checked, rewriting=rng.random() < 0.8)
    if plan is None:
        return "refused"
    wanted, found = found_events(reference.evaluate(checked, stream)), run_in_pieces(plan, stream, rng)
    told = (seed, text, stream.table.to_pylist())
    assert len(found) == len(set(found)), told
    assert set(found) == set(wanted), told
    assert run_at_once(plan, stream) == found, told
    return "compared"


@pytest.mark.parametrize("seeds", shares(1_000, each=250))
def test_equals_the_reference(seeds: range) -> None:
    assert Counter(map(compare, seeds))["compared"] > most(seeds, 0.6)


def planned(text: str, table: pa.Table) -> Plan:
    stream = read_events(table, ("S",), unit="s")
    plan = plan_of(check(ensue.query(text).ast, text, stream.schema))
    assert plan is not None
    return plan


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        ("A AS x ; B AS y FILTER abs(x.w - y.w) < 1", []),
        ("A AS x ; B AS y FILTER sqrt(power(x.v - y.v, 2) + power(x.w - y.w, 2)) < 1", []),
        ("A AS x ; B AS y FILTER x.v = y.v OR x.k = y.k", []),
        ("A AS x ; NOT (B AS w FILTER abs(w.w - x.w) < 1) ; C AS y", []),
        ("A AS x ; NOT (B AS w FILTER w.w > x.w) ; C AS y", []),
        ("A AS x ; NOT (B AS w FILTER w.w <> x.w) ; C AS y", ["an event between"]),
        ("A AS x ; B AS y FILTER x.v <> y.v", ["B, y"]),
    ],
)
def test_which_conditions_are_asked_of_every_open_match(text: str, slow: list[str]) -> None:
    plan = planned(f"SELECT * FROM S WHERE {text}", table_of(random.Random(1), 8))
    assert slow_moves(plan.automaton, plan.narrowings) == slow


def test_an_absence_takes_out_what_it_ends_and_copies_nothing_else() -> None:
    """Ten thousand open matches of which each event ends one: a way of some ten nodes is copied for each."""
    n = 10_000
    order = np.random.default_rng(1).permutation(n).astype(np.float64)
    table = pa.table(
        {
            "time": np.arange(2 * n + 1),
            "type": ["A"] * n + ["B"] * n + ["C"],
            "v": np.concatenate([order, order[: n - 5], np.full(5, -9.0), [0.0]]),
        }
    )
    text = "SELECT x FROM S WHERE A AS x ; NOT (B AS b FILTER abs(b.v - x.v) < 0.5) ; C"
    stream = read_events(table, ("S",), unit="s")
    runner = Runner(planned(text, table), stream.tick)
    assert len(runner.push(stream)) == 5
    assert runner.nodes < 60 * n


def test_more_types_than_a_word_has_bits() -> None:
    rng = random.Random(5)
    names = [f"T{k}" for k in range(100)]
    n = 300
    table = pa.table({"time": range(n), "type": rng.choices([*names, "B"], k=n), "v": rng.choices(range(9), k=n)})
    either = " OR ".join(names)
    tests = " OR ".join(f"(T{k} AS x FILTER x.v < {k % 9}.5)" for k in range(90))
    for text in (f"SELECT * FROM S WHERE ({either}) : B", f"SELECT * FROM S WHERE ({tests}) : B WITHIN 9 EVENTS"):
        assert len(planned(text, table).predicates) > 64
        found, wanted = (
            sorted(map(repr, ensue.match(table, text, unit="s", engine=e))) for e in ("automaton", "reference")
        )
        assert found
        assert found == wanted
