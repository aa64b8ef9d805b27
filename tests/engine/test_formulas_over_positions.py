"""Windows that formulas define: the engine, the reference and the evaluator of the tests must agree."""

from __future__ import annotations

from random import Random

import pytest
import strategies
from amounts import most, shares
from membership import Membership
from positions import random_from_to
from running import complex_events

import ensue
from ensue.language import ast
from ensue.language.printer import print_query


def random_condition(rng: Random) -> ast.Expression:
    """A condition on one event, also with a look-back of up to two."""
    condition = strategies._bare_condition(rng)
    if rng.random() < 0.3:
        steps = (ast.Literal(rng.choice((1, 2)), ast.LiteralType.INTEGER),)
        before = ast.Call("prev", (ast.Name("v"), *steps))
        condition = ast.Binary(rng.choice(("<", "<=", "=", ">")), ast.Name("v"), before)
    return ast.Unary("NOT", condition) if rng.random() < 0.2 else condition


def compare(seed: int) -> int:
    """A random formula over a random stream; says how many windows it has."""
    rng = Random(f"formulas {seed}")
    p = random_from_to(rng, rng.choice((1, 2, 2, 3)), random_condition, sets=rng.choice((0, 1, 1, 2)))
    pattern: ast.Pattern = ast.SpanOf(p, "w")
    if rng.random() < 0.2:
        pattern = ast.SpanOf(ast.Or(random_from_to(rng, 1, random_condition), p), "w")
    key = (ast.PartitionKey("k"),) if rng.random() < 0.2 else ()
    query = ast.Query(None, ("S",), pattern, partition=key)
    text = print_query(query)
    events = strategies.random_stream(rng, 6 if key else 5)
    table, made = strategies.events_table(events), ensue.query(text)
    assert made.ast == query, text
    found = {engine: complex_events(made.run(table, unit="s", engine=engine)) for engine in ("automaton", "reference")}
    for engine, windows in found.items():
        assert len(windows) == len(set(windows)), (seed, engine, text, events)
    assert set(found["automaton"]) == set(found["reference"]), (seed, text, events)
    if not key:
        assert set(found["automaton"]) == Membership(events).meaning(pattern), (seed, text, events)
    return len(found["automaton"])


@pytest.mark.parametrize("seeds", shares(2_000, each=250))
def test_random_formulas(seeds):
    assert sum(compare(seed) > 0 for seed in seeds) > most(seeds, 0.2)
