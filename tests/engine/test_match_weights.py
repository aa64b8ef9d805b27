"""Filters on aggregates of whole matches: what cannot pass is left out while matches are listed, and nothing else."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from adding_up import aggregate, literal, table_of
from amounts import most, shares
from engines import found_events, plan_of, run_in_pieces

import ensue
from ensue.data.events import EventStream, read_events
from ensue.engines import reference
from ensue.logic.check import Checked, check

SHAPES = (
    "(B AS y){many}",
    "A ; (B AS y){many}",
    "A ; (B AS y){many} ; A",
    "(ANY AS y):{3}",
    "(A AS z){many} ; (B AS y){many}",
    "(A AS y) OR (B ; (A AS y){2})",
    "A ; (B AS y)? ; A",
    "(B AS y ; A AS z){many}",
)


def bounded(rng: random.Random, variables: str) -> str:
    """A condition that bounds what the events of a match weigh."""
    text, kind = aggregate(rng)
    text = text.replace("y", rng.choice(variables))
    operator = rng.choice(["=", "<", "<=", ">", ">="])
    match rng.randrange(5):
        case 0 if kind != "s":
            return f"{text} BETWEEN {literal(rng, kind)} AND {literal(rng, kind)}"
        case 1:
            return f"{literal(rng, kind)} {operator} {text}"
    return f"{text} {operator} {literal(rng, kind)}"


def compare(seed: int) -> str:
    """One random query by both engines, cut and saved; says whether something could be left out."""
    rng = random.Random(f"weights {seed}")
    shape = rng.choice(SHAPES).replace("{many}", rng.choice(["+", "{2}", "{1,3}", ":+"]))
    condition = " AND ".join(bounded(rng, "yz" if " z" in shape else "y") for _ in range(rng.choice([1, 1, 2])))
    window = rng.choice([" WITHIN 4 s", " WITHIN 5 EVENTS", ""])
    partition = " PARTITION BY k" if rng.random() < 0.2 else ""
    selector = rng.choice(["", "", "", "NEXT ", "LAST "])
    text = f"SELECT {selector}* FROM S WHERE {shape} FILTER {condition}{window}{partition}"
    if "s)" in condition and ("<" in condition or ">" in condition):
        return "refused"  # the first text and such
    stream = read_events(table_of(rng, 9), ("S",), unit="s")
    checked = check(ensue.query(text).ast, text, stream.schema)
    return compared(checked, stream, rng)


def compared(checked: Checked, stream: EventStream, rng: random.Random) -> str:
    """Engine and reference over one stream; says whether something could be left out."""
    plan = plan_of(checked)
    if plan is None:
        return "refused"
    found = run_in_pieces(plan, stream, rng)
    wanted = found_events(reference.evaluate(checked, stream))
    assert set(found) == set(wanted), (checked.text, stream.table.to_pylist())
    assert len(found) == len(wanted), checked.text
    return "bounded" if plan.bounds else "judged"


@pytest.mark.parametrize("seeds", shares(600, each=200))
def test_random_filters(seeds: range) -> None:
    assert [compare(seed) for seed in seeds].count("bounded") > most(seeds, 0.5)


#: Steps of which each has one event, and what is said of them together.
STEPS = (
    "A AS x ; B AS y ; A AS z",
    "(A OR B) AS x ; ANY AS y : ANY AS z",
    "A AS x ; (B AS y)+ ; A AS z",
    "B AS x ; B AS y? ; A AS z",
)


def linear(rng: random.Random) -> str:
    """A condition on sums of what several events have."""
    forms = ["{}.v", "{}.w", "2 * {}.v", "abs({}.w)", "(-{}.v)"]
    terms = [rng.choice(forms).format(x) for x in rng.sample("xyz", 3)] + rng.sample(
        ["3", "0.1", "x.v", "y.w"], rng.randrange(3)
    )
    cut = rng.randrange(1, len(terms))
    left, right = (rng.choice([" + ", " - "]).join(part) for part in (terms[:cut], terms[cut:]))
    match rng.randrange(4):
        case 0:
            return f"abs({left}) < {right}"
        case 1:
            return f"{left} BETWEEN {right} AND {right} + 2"
    return f"{left} {rng.choice(['<', '<=', '>', '>=', '='])} {right}"


def compare_linear(seed: int) -> str:
    """One random query by both engines, cut and saved; says whether something could be left out."""
    rng = random.Random(f"linear {seed}")
    window = rng.choice([" WITHIN 4 s", " WITHIN 5 EVENTS", ""])
    selector = rng.choice(["", "", "NEXT ", "LAST "])
    text = f"SELECT {selector}* FROM S WHERE {rng.choice(STEPS)} FILTER {linear(rng)}{window}"
    table = table_of(rng, 9)
    odd = [
        rng.choice([None, 0.1, 0.2, 0.30000000000000004, -1.0, 1e308, -1e308, float("nan"), float("inf")])
        for _ in range(len(table))
    ]
    stream = read_events(table.append_column("w", pa.array(odd, pa.float64())), ("S",), unit="s")
    checked = check(ensue.query(text).ast, text, stream.schema)
    return compared(checked, stream, rng)


@pytest.mark.parametrize("seeds", shares(100, each=50))
def test_random_sums_of_several_events(seeds: range) -> None:
    assert [compare_linear(seed) for seed in seeds].count("bounded") > most(seeds, 0.2)


def test_what_cannot_pass_is_not_looked_at() -> None:
    """Of 2^59 matches a window, those with the greatest events alone pass."""
    n = 600
    values = np.where(np.arange(n) % 60 < 2, 10, 1)
    table = pa.table(
        {"time": np.arange(n), "type": np.where(np.arange(n) % 60 == 59, "C", "B"), "v": values.astype(np.int64)}
    )
    query = ensue.query("SELECT y FROM S WHERE (B AS y)+ ; C FILTER avg(y.v) > 9 WITHIN 60 EVENTS")
    found = query.run(table, unit="s", engine="automaton")
    assert len(found) == 3 * (n // 60)
    assert len(ensue.query(query.text.replace("avg(y.v) > 9", "sum(y.v) > 76")).run(table, unit="s")) == n // 60


@pytest.mark.parametrize(
    "filter_", ["count(y) >= 59", "min(y.v) > 9 AND count(y) = 2", "sum(y.v) <= 1", "max(y.v) < 2 AND count(y) > 56"]
)
def test_each_aggregate_leaves_out(filter_: str) -> None:
    table = pa.table({"time": np.arange(60), "type": ["B"] * 59 + ["C"], "v": [10, 10] + [1] * 58})
    found = ensue.query(f"SELECT y FROM S WHERE (B AS y)+ ; C FILTER {filter_} WITHIN 60 EVENTS").run(table, unit="s")
    assert 0 < len(found) < 60
