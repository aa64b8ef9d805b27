"""RUNNING, LASTOF and aggregates of sets in registers that add up: every value comes out as in the reference.

The aggregates stand where no whole match can be judged: in an iteration, or under CONSUME BY.
"""

from __future__ import annotations

import random

import pytest
from adding_up import aggregate, literal, table_of
from amounts import most, shares
from engines import found_events, plan_of, run_in_pieces

import ensue
from ensue.automata.registers import Store, writes_of
from ensue.data.events import read_events
from ensue.engines import reference
from ensue.errors import EngineError
from ensue.logic.check import check

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
