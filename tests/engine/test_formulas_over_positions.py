"""Windows that formulas define: the engine, the reference and the evaluator of the tests must agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from random import Random

import pytest
import strategies
from amounts import most, shares
from membership import Membership
from positions import random_from_to
from running import complex_events

import ensue
from ensue.automata import predicates
from ensue.automata.mso import compiled
from ensue.automata.mso.pairs import Either, Joined, Letter, Regex, pairs_of
from ensue.automata.mso.splitting_at_begin import split
from ensue.automata.predicates import Guard, TypeIs
from ensue.errors import ProblemKind
from ensue.language import ast
from ensue.language.printer import print_pattern, print_query


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


def matched(r: Regex, word: range, holds: Callable[[Guard, int], bool], ends: frozenset[int]) -> frozenset[int]:
    """The places up to which the expression can read, from one of these places on."""
    match r:
        case Letter():
            return frozenset(k + 1 for k in ends if k < word.stop and any(holds(g, k) for g in r.guards))
        case Joined():
            return reduce(lambda found, part: matched(part, word, holds, found), r.parts, ends)
        case Either():
            return frozenset().union(*(matched(option, word, holds, ends) for option in r.options))
    found, new = ends, ends
    while new:
        new = matched(r.body, word, holds, new) - found
        found |= new
    return found


@pytest.mark.parametrize("seeds", shares(300, each=150))
def test_pairs_are_the_formula(seeds):
    """Lemma 3.3, put right: the windows of the pairs are those of the formula, also of one event."""
    told = 0
    for seed in seeds:
        rng = Random(f"pairs {seed}")
        p = random_from_to(rng, 2, random_condition)
        pairs = pairs_of(split(compiled(p)))
        if pairs is None:
            continue
        told += 1
        events = strategies.random_stream(rng, 6)
        oracle = Membership(events)

        def holds(guard: Guard, k: int, oracle: Membership = oracle) -> bool:
            def true(q: object) -> bool:
                if isinstance(q, TypeIs):
                    return bool(oracle.events[k]["type"] == q.name)
                assert isinstance(q, predicates.Test)
                return oracle._value(q.expression, {}, {}, k) is True

            return all(true(q) == positive for q, positive in guard)

        whole = range(len(events))
        found = {
            (begin, end - 1)
            for pair in pairs
            for begin in whole
            if begin in matched(pair.before, range(begin), holds, frozenset({0}))
            for end in matched(pair.window, whole, holds, frozenset({begin}))
            if end > begin
        }
        assert found == {(i, j) for i, j, _ in oracle.meaning(p)}, (seed, print_pattern(p), events)
    assert told > most(seeds, 0.5)


@pytest.mark.parametrize("engine", ["auto", "automaton"])
def test_a_formula_that_grows_too_large_is_refused(engine):
    """Each change of quantifiers makes a set of sets of states: the message names them and the part."""
    text = """SELECT * FROM S WINDOW w AS (b TO e WHERE FORALL SET X (EXISTS SET Y (FORALL x, y (
        x IN X AND y = x + 13 AND x IS A AND x[v > 1] => (y IN Y <=> y IS A) AND NOT y[v > 2]))))"""
    query = ensue.query(text)
    with pytest.raises(ensue.QueryError) as error:
        query.run([{"time": 1, "type": "A", "v": 1}], unit="s", engine=engine)
    said = str(error.value)
    assert "the formula is too large: the automaton of " in said
    assert "states" in said
    assert "FORALL SET X, EXISTS SET Y, FORALL x, FORALL y" in said or "FORALL x, FORALL y" in said
    assert error.value.problems[0].kind is ProblemKind.SIZE
    assert len(query.run([{"time": 1, "type": "A", "v": 1}], unit="s", engine="reference")) == 1


@pytest.mark.slow
def test_the_reference_does_not_try_millions_of_sets():
    events = [{"time": k, "type": "A"} for k in range(30)]
    query = ensue.query("SELECT * FROM S WINDOW w AS (b TO e WHERE EXISTS SET X (b IN X AND NOT e IN X))")
    with pytest.raises(ensue.EngineError, match="the reference tries every set of events"):
        query.run(events, unit="s", engine="reference")
    assert len(query.run(events, unit="s")) == 30 * 29 // 2
