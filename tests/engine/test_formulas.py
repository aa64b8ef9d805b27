"""Conditions that are no comparison, checked by instructions over registers: every value comes out as in the reference.

They stand inside an iteration, where they cannot be judged on whole matches: registers must check them.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_in_pieces
from without_jit import counted_without_jit

import ensue
from ensue.automata.register_moves import slow_moves
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.errors import EngineError
from ensue.language import ast
from ensue.logic.check import check
from ensue.logic.formula import Op
from ensue.plan import Plan

SMALLEST, GREATEST = -(2**63) + 2, 2**63 - 1  # two less stand for what is missing
T0 = dt.datetime(2024, 1, 1)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [0, 1, -1, 2, 7, -7, 2**32, -(2**31), 2**53 + 1, SMALLEST, GREATEST, None]),
    "j": (pa.int8(), [0, 1, 3, -3, None]),
    "f": (pa.float64(), [0.0, -0.0, 1.5, -2.5, 1e300, math.inf, -math.inf, math.nan, 2.0**53, None]),
    "s": (pa.string(), ["", "a", "b", None]),
    "b": (pa.bool_(), [True, False, None]),
    "t": (pa.timestamp("s"), [T0, T0 + dt.timedelta(seconds=5), None]),
    "u": (pa.timestamp("us"), [T0, T0 + dt.timedelta(seconds=5), T0 + dt.timedelta(microseconds=1), None]),
    "n": (pa.null(), [None]),
    "d": (pa.duration("ms"), [dt.timedelta(0), dt.timedelta(seconds=5), dt.timedelta(seconds=-5), None]),
}


def number(rng: random.Random, depth: int) -> str:
    """An expression of numbers over x and y."""
    if depth == 0 or rng.random() < 0.2:
        attribute = f"{rng.choice('xy')}.{rng.choice('iijff')}"
        return (
            attribute
            if rng.random() < 0.8
            else rng.choice(["0", "1", "3", "2.5", str(2**62), "NULL", f"{attribute[0]}.n"])
        )
    if rng.random() < 0.3:
        return called(rng, depth - 1)
    kind = rng.choice(["+", "-", "*", "/", "%", "neg", "abs", "floor", "ceil", "sqrt"])
    left = number(rng, depth - 1)
    if kind == "neg":
        return f"(-({left}))"
    if kind in ("abs", "floor", "ceil", "sqrt"):
        return f"{kind}({left})"
    return f"({left} {kind} {number(rng, depth - 1)})"


def called(rng: random.Random, depth: int) -> str:
    """A function of numbers, or one that chooses among them."""
    of_one = [*("exp", "ln", "log10", "sin", "cos", "tan", "asin", "acos", "atan"), *("sign", "radians", "degrees")]
    of_two = ["power", "atan2", "greatest", "least", "coalesce", "nullif"]
    a, b, c, d = (number(rng, depth) for _ in range(4))
    match rng.randrange(5):
        case 0 | 1:
            return f"{rng.choice(of_one)}({a})"
        case 2 | 3:
            return f"{rng.choice(of_two)}({a}, {b})"
    chosen = [
        f"if({a} < {b}, {c}, {d})",
        f"CASE WHEN {a} = {b} THEN {c} WHEN {b} < {c} THEN {d} END",
        f"CASE {a} WHEN {b} THEN {c} ELSE {d} END",
        f"distance({a}, {b}, {c}, {d})",
        f"coalesce({a}, {b}, {c})",
    ]
    return rng.choice(chosen)


def compared(rng: random.Random) -> str:
    """A condition without AND, OR and NOT."""
    operator = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    match rng.randrange(12):
        case 0:
            return f"x.s {rng.choice(['=', '<>'])} y.s"
        case 1:
            return f"x.b {rng.choice(['=', '<>'])} y.b"
        case 2:
            return f"x.{rng.choice('tu')} - y.{rng.choice('tu')} {operator} {rng.choice(['x.d', 'y.d', '5 s'])}"
        case 3:
            return f"{number(rng, 1)} IN ({number(rng, 1)}, {number(rng, 1)})"
        case 4:
            return f"{number(rng, 1)} {rng.choice(['', 'NOT '])}BETWEEN {number(rng, 1)} AND {number(rng, 1)}"
        case 5:
            return f"({number(rng, 2)}) IS {rng.choice(['', 'NOT '])}NULL"
        case 6:
            return f"coalesce(x.s, y.s) {rng.choice(['=', '<>'])} if(x.b, x.s, y.s)"
        case 7 | 8:
            return near(rng)
    return f"{number(rng, 2)} {operator} {number(rng, 2)}"


def near(rng: random.Random) -> str:
    """A condition in whose order runs are looked up."""
    a, b = rng.choice([("i", "i"), ("f", "f"), ("j", "f"), ("i", "j"), ("j", "j")])
    width = rng.choice(["0", "1", "2.5", "y.j", str(2**53)])
    bands = [
        f"abs(x.{a} - y.{b}) {rng.choice(['<', '<='])} {width}",
        f"x.{a} BETWEEN y.{b} - {width} AND y.{b} + {width}",
        f"x.{a} - y.{b} {rng.choice(['<', '<=', '>', '>='])} {width}",
        f"sqrt(power(x.{a} - y.{a}, 2) + power(x.{b} - y.{b}, 2)) < {width}",
        f"(x.{a} - y.{a}) * (x.{a} - y.{a}) + abs(y.{b} - x.{b}) <= {width}",
        f"2 * x.{a} - y.{b} / 3 = y.{a} + {width}",
        f"floor(x.{a}) + {width} > y.{b} AND -ceil(x.{a}) > -y.{b} - {width}",
        f"distance(x.{a}, x.{b}, y.{a}, y.{b}) < {rng.choice(['100000', '1e7', '0'])}",
        f"x.{rng.choice('tu')} - y.{rng.choice('tu')} BETWEEN -y.d AND y.d",
        f"(x.{a} = y.{a} OR abs(x.{b} - y.{b}) < {width})",
        f"NOT (x.{a} > y.{b} + 1 OR x.{a} < y.{b} - 1)",
    ]
    return rng.choice(bands)


def condition(rng: random.Random, depth: int) -> str:
    """A condition over x and y."""
    if depth == 0 or rng.random() < 0.3:
        # One that concerns no event is left to the reference.
        return next(text for text in iter(lambda: compared(rng), "") if "x." in text or "y." in text)
    if rng.random() < 0.2:
        return f"NOT ({condition(rng, depth - 1)})"
    return f"({condition(rng, depth - 1)} {rng.choice(['AND', 'OR'])} {condition(rng, depth - 1)})"


def table_of(rng: random.Random, n: int) -> pa.Table:
    return pa.table(
        {
            "time": pa.array(range(n), pa.int64()),
            "type": pa.array(rng.choices("AB", k=n), pa.string()),
            **{name: pa.array(rng.choices(values, k=n), type_) for name, (type_, values) in VALUES.items()},
        }
    )


def compare(seed: int) -> str:
    """Says whether a random condition was computed by instructions; it must be TRUE where the reference says so."""
    rng = random.Random(seed)
    shape = rng.choice(
        [
            "(A AS x ; B AS y FILTER {})+",
            "(A AS x : B AS y FILTER {})+",
            "((A AS x ALL B AS y) FILTER {})+",
            "A AS x ; NOT (B AS y FILTER {}) ; ANY AS z",
            "A AS x ; B AS y FILTER {}",
            "A AS x ; B AS z ; B AS y FILTER {}",
            "A AS x ; (B AS y)+ FILTER {}",
            "A AS x ; A AS z ; (B AS y FILTER {}){{1,2}}",
            "(A AS u ; B AS w FILTER u.s = w.s AND u.f < w.f)+ ; (A AS x ; B AS y FILTER {})+",
        ]
    )
    text = f"SELECT * FROM S WHERE {shape.format(condition(rng, 2))}"
    stream = read_events(table_of(rng, 7), ("S",), unit="s")
    checked = check(ensue.query(text).ast, text, stream.schema)
    plan = plan_of(checked)
    assert plan is not None, text
    try:
        found = run_in_pieces(plan, stream, rng)
    except EngineError as refused:
        if "-2^63" not in str(refused):
            raise
        return "refused"
    wanted = found_events(reference.evaluate(checked, stream))
    assert set(found) == set(wanted), (seed, text, stream.table.to_pylist())
    assert len(found) == len(wanted), (seed, text)
    return "compared" if plan.formulas else "without instructions"


@pytest.mark.parametrize("seeds", shares(800, each=200))
def test_random_conditions(seeds: range) -> None:
    assert [compare(seed) for seed in seeds].count("compared") > most(seeds, 0.75)


@pytest.mark.slow
def test_random_conditions_without_the_compiler() -> None:
    (computed,) = counted_without_jit(
        "test_formulas", "sum(compare(seed) == 'compared' for seed in range(70_000, 70_060))"
    )
    assert computed > 45


def planned(text: str, table: pa.Table) -> Plan:
    stream = read_events(table, ("S",), unit="s")
    plan = plan_of(check(ensue.query(text).ast, text, stream.schema))
    assert plan is not None
    return plan


@pytest.mark.slow
def test_every_instruction_is_used() -> None:
    """What the compiler can emit is what the random conditions above need: no instruction goes unchecked."""
    used: set[Op] = set()
    table = table_of(random.Random(1), 1)
    conditions = [condition(random.Random(seed), 2) for seed in range(400)]
    conditions += ["-(x.i + y.i) < 3 OR abs(x.i - y.i) = 1", "-(x.f + y.f) < 3 OR abs(x.f - y.f) = 1"]
    functions = ("exp", "ln", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "floor", "ceil", "sign")
    conditions += [f"{function}(x.f - y.f) < 1" for function in functions]
    for asked in conditions:
        text = f"SELECT * FROM S WHERE (A AS x ; B AS y FILTER {asked})+"
        used |= {i.op for f in planned(text, table).formulas.values() for i in f.code}
    for asked in ("first", "min", "max", "sum", "avg", "count"):
        for column in "if":
            text = f"SELECT * FROM S WHERE (A AS y FILTER RUNNING {asked}(y.{column}) < 1)+"
            used |= {i.op for f in planned(text, table).formulas.values() for i in f.code}
    assert used == set(Op)


def test_runs_with_the_same_values_are_one() -> None:
    """A million open runs of ten values take no longer an event than ten: the condition is asked ten times."""
    n = 20_000
    table = pa.table(
        {
            "time": pa.array(np.arange(n)),
            "type": pa.array(["A"] * (n - 1) + ["B"]),
            "i": pa.array(np.arange(n) % 10),
        }
    )
    text = "SELECT * FROM S WHERE (A AS x ; B AS y FILTER x.i <> y.i)+"
    plan, stream = planned(text, table), read_events(table, ("S",), unit="s")
    assert slow_moves(plan.automaton)
    found = run_in_pieces(plan, stream, random.Random(1))
    assert len(found) == n - 1 - sum(k % 10 == (n - 1) % 10 for k in range(n - 1))


@pytest.mark.parametrize(
    "filter_",
    [
        "x.s < y.s OR x.i = y.i",
        "x.s || y.s = 'ab'",
        "round(x.f + y.f, 1) > 3",
        "1 h * (y.i - x.i) / 2 > 1 h OR x.i = y.i",
        "1.5 * (1 h * (y.i - x.i)) > 1 h",
    ],
)
def test_what_has_no_instruction_is_judged_on_whole_matches(filter_: str) -> None:
    rng = random.Random(3)
    table = table_of(rng, 9)
    text = f"SELECT x, y FROM S WHERE (A AS x ; B AS y FILTER {filter_})+"
    (asked,) = planned(text, table).related
    assert isinstance(asked, ast.EachRound)
    ours, wanted = (
        sorted(map(repr, ensue.match(table, text, unit="s", engine=e).to_arrow().to_pylist()))
        for e in ("automaton", "reference")
    )
    assert ours == wanted


@pytest.mark.parametrize(
    ("pattern", "columns"),
    [
        ("(A AS x : B AS y FILTER x.v < y.v) ; (A AS z : B AS u FILTER z.s = u.s)", {"s": ["c", "c", "a", "a"]}),
        ("(A AS x : B AS y FILTER x.v < y.v) ; (A AS z : B AS u FILTER z.s = u.s)", {"s": ["01", "1", "01", "1"]}),
        (
            "(A AS x : B AS y FILTER x.v = y.v)+ : (A AS z : B AS u FILTER z.w = u.w)+",
            {"v": [2**53, 2**53 + 1, 0, 0], "w": [1.5, 2.5, 0.5, 0.5]},
        ),
        (
            "(A AS x : B AS y FILTER x.w <> y.w)+ : (A AS z : B AS u FILTER z.w > u.w)+",
            {"w": [4.0, 1.0, math.nan, 2.0]},
        ),
        ("(A AS x : B AS y FILTER x.w <> y.w)+ : (A AS z : B AS u FILTER z.w = u.w)+", {"w": [4.0, 1.0, 0.0, -0.0]}),
        ("(A AS x FILTER x.v < LASTOF(x).v + 1)+ : (B AS y ; (A AS z ; B AS u FILTER z.b))", {"b": [True] * 4}),
        ("(A AS x)+[<= 1 s] : (B AS z : A AS u FILTER z.s <> u.s)+ ; B", {"s": ["a", "b", "c", "d"]}),
    ],
)
def test_parts_of_a_pattern_remember_values_of_their_own_types(pattern: str, columns: dict[str, list[Any]]) -> None:
    table = pa.table({"time": [0, 1, 2, 3], "type": list("ABAB"), **{"v": [1, 2, 3, 4], **columns}})
    query = ensue.query(f"SELECT * FROM S WHERE {pattern}")
    found = query.run(table, unit="s", engine="automaton").to_arrow()
    assert found == query.run(table, unit="s", engine="reference").to_arrow()
