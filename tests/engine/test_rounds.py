"""RUNNING, LASTOF and aggregates of sets in registers that add up: every value comes out as in the reference.

The aggregates stand where no whole match can be judged: in an iteration, or under CONSUME BY.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_in_pieces

import ensue
from ensue.automata.registers import Store, writes_of
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.errors import EngineError
from ensue.logic.check import check

GREATEST = 2**63 - 1
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "v": (pa.int64(), [0, 1, 2, 3, -2, None]),
    "i": (pa.int64(), [1, -1, 2**62, -(2**62), GREATEST, -GREATEST, None]),
    "f": (pa.float64(), [0.0, -0.0, 0.1, 0.2, -0.3, 1e16, -1e16, 1.0, 3e-300, 1e300, 1.7e308, -1.7e308, 5e-324, None]),
    "g": (pa.float64(), [0.5, 1.5, math.inf, -math.inf, math.nan, None]),
    "d": (pa.decimal128(5, 2), [1, 2, 3, None]),
    "s": (pa.string(), ["", "a", "b", None]),
}
NUMBERS = "vviffgd"
SHAPES = (
    "({B} AS y FILTER {c}){many}",
    "({B} AS y FILTER {c}):{many}",
    "({B} AS y FILTER {c})->{many}",
    "A -> ({B} AS y FILTER {c})->{many}",
    "A AS x ; ({B} AS y FILTER {cx}){many}",
    "A AS x -> ({B} AS y FILTER {cx})->{many}",
    "(A AS z : B AS y FILTER {cz}){many}",
    "(A AS z ; (B AS y FILTER {c})){many}",
    "((A AS z FILTER {cz}) ; B AS y){many}",
    "(B AS y ; (A AS z FILTER {cz})){many}",
    "((B AS y) OR (A AS z) FILTER {r}){many}",
    "((B AS y):+ : A FILTER {r}){many}",
    "((B AS y):+ : A FILTER {w}){many}",
    "((B AS y FILTER {c}):+ ; A){many}",
    "(B AS y){many} ; A AS x FILTER {wx} CONSUME BY PARTITION",
    "A AS x ; ((B AS y){many} FILTER {w}) CONSUME BY ANY",
)


def aggregate(rng: random.Random) -> tuple[str, str]:
    """An aggregate of y, and the kind of what it comes to."""
    function = rng.choice(["count", "count", "sum", "sum", "sum", "avg", "min", "max", "first", "last"])
    if function == "count" and rng.random() < 0.5:
        return "count(y)", "v"
    column = rng.choice(NUMBERS + "s" if function in ("count", "first", "last") else NUMBERS)
    value = f"y.{column}" if rng.random() < 0.7 or column == "s" else f"(y.{column} * 2 - y.v)"
    return f"{function}({value})", "v" if function == "count" else column


def literal(rng: random.Random, kind: str) -> str:
    value = rng.choice(VALUES[kind][1])
    if kind == "s":
        return "'a'"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "1"
    return f"({value!r})"


def compared(rng: random.Random, terms: list[str], *, running: bool, last: bool) -> str:
    text, kind = aggregate(rng)
    text = f"RUNNING {text}" if running else text
    operator = rng.choice(["=", "<>"] if kind == "s" else ["=", "<", "<=", ">", ">=", "<>"])
    if last and rng.random() < 0.3:
        text, kind = f"LASTOF(y).{kind}", kind
    other = literal(rng, kind)
    if rng.random() < 0.4 and terms:
        other = f"{rng.choice(terms)}.{kind}"
    elif rng.random() < 0.2 and kind != "s":
        other = f"{'RUNNING ' if running else ''}{aggregate_of_numbers(rng)}"
    return f"{text} {operator} {other}" if rng.random() < 0.9 else f"({text}) IS {rng.choice(['', 'NOT '])}NULL"


def aggregate_of_numbers(rng: random.Random) -> str:
    return next(text for text, kind in iter(lambda: aggregate(rng), ("", "")) if kind != "s")


def condition(rng: random.Random, terms: list[str], *, running: bool = True, last: bool = False) -> str:
    first = compared(rng, terms, running=running, last=last)
    match rng.randrange(4):
        case 0:
            return f"({first} OR {compared(rng, terms, running=running, last=last)})"
        case 1:
            return f"NOT ({first}) AND {compared(rng, terms, running=running, last=last)}"
    return first


def query_of(rng: random.Random) -> str:
    shape = rng.choice(SHAPES)
    made = {
        "B": rng.choice(["B", "B", "ANY"]),
        "many": rng.choice(["+", "{2}", "{1,3}", "{2,}"]),
        "c": condition(rng, ["y"], last=True),
        "cx": condition(rng, ["x", "y"], last=True),
        "cz": condition(rng, ["z"]),
        "r": condition(rng, []),
        "w": condition(rng, [], running=False),
        "wx": condition(rng, ["x"], running=False),
    }
    pattern, *rest = shape.split(" CONSUME")
    for name, text in made.items():
        pattern = pattern.replace("{" + name + "}", text)
    window = rng.choice(["", " WITHIN 4 s", " WITHIN 4 EVENTS"])
    partition = " PARTITION BY k" if rng.random() < 0.3 else ""
    return f"SELECT * FROM S WHERE {pattern}{window}{partition}" + "".join(f" CONSUME{r}" for r in rest)


def table_of(rng: random.Random, n: int) -> pa.Table:
    columns = {name: pa.array(rng.choices(values, k=n), type_) for name, (type_, values) in VALUES.items()}
    few = rng.random() < 0.5  # floats of like size
    if few:
        columns["f"] = pa.array(rng.choices([0.1, 0.2, 0.3, 2.5, None], k=n), pa.float64())
    return pa.table(
        {
            "time": pa.array(range(n), pa.int64()),
            "type": pa.array(rng.choices("AB", [1, 2], k=n), pa.string()),
            "k": pa.array(rng.choices([0, 1], [3, 1], k=n), pa.int64()),
            **columns,
        }
    )


def compare(seed: int) -> str:
    """One random query by both engines, cut and saved; says what became of it."""
    rng = random.Random(f"rounds {seed}")
    text = query_of(rng)
    stream = read_events(table_of(rng, 7), ("S",), unit="s")
    checked = check(ensue.query(text).ast, text, stream.schema)
    plan = plan_of(checked)
    if plan is None:
        return "refused"
    try:
        found = run_in_pieces(plan, stream, rng)
    except EngineError as refused:
        if "-2^63" not in str(refused):
            raise
        return "refused"
    wanted = found_events(reference.evaluate(checked, stream))
    assert set(found) == set(wanted), (seed, text, stream.table.to_pylist())
    assert len(found) == len(wanted), (seed, text)
    adding = (w for a in plan.actions for w in writes_of(a) if isinstance(w, Store) and w.keep.adds_up)
    return "compared" if any(adding) else "without"


@pytest.mark.parametrize("seeds", shares(600, each=200))
def test_random_rounds(seeds: range) -> None:
    assert [compare(seed) for seed in seeds].count("compared") > most(seeds, 0.6)
