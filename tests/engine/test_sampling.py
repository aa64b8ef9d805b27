"""Query.sample: matches drawn from all of them, every set of a size equally likely."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from random import Random
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from aggregating import SCHEMA
from amounts import most, shares
from strategies import random_query, random_stream

import ensue
from ensue.columns.group_totals import Sums
from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import read_events
from ensue.engines.sampling import draws
from ensue.engines.whole_tables import evaluate_table
from ensue.errors import EngineError, QueryError
from ensue.kernels.ranked_matches import ranked_matches
from ensue.language.printer import print_query
from ensue.logic.aggregation import COUNT
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.plan.lanes import NotFolded, folded_plan
from ensue.plan.mode import Mode
from ensue.results.matches import Matches

Match = tuple[int, int, frozenset[tuple[str, int]]]


def rows(matches: Matches) -> list[str]:
    return [repr(row) for row in matches.to_arrow().to_pylist()]


def each(found: ComplexEvents) -> list[Match]:
    return list(found.each())


def compare(seed: int) -> str:
    """A random query over a random stream: each of its matches has one rank, and samples are matches."""
    rng = Random(f"sample {seed}")
    text = print_query(random_query(rng))
    table = pa.Table.from_pylist([{**e, "f": 0.5, "s": "a"} for e in random_stream(rng, 9)], SCHEMA)
    query = ensue.query(text)
    told = (seed, text, table.to_pylist())
    try:
        matches = query.run(table, unit="s")
    except (QueryError, EngineError):
        return "refused"
    listed = rows(matches)
    n = rng.choice((0, 1, 2, len(listed) // 2, len(listed), len(listed) + 1))
    sample = query.sample(table, n, seed=seed, unit="s")
    drawn = rows(sample)
    assert len(drawn) == min(n, len(listed)), told
    assert not Counter(drawn) - Counter(listed), told
    assert query.ast.order or sorted(sample.end) == sample.end.tolist(), told
    assert sample.to_arrow().schema == matches.to_arrow().schema, told
    return _by_rank(query, table, rng, told)


def _by_rank(query: ensue.Query, table: pa.Table, rng: Random, told: object) -> str:
    """Where the matches are not listed, each of them has one rank."""
    stream = read_events(table, query.ast.streams, unit="s")
    choice = choose(check(query.ast, query.text, stream.schema))
    if choice.plan is None or query.ast.limit is not None:
        return "listed"
    try:
        plan = replace(folded_plan(choice.plan, (COUNT,)), lanes=None)
    except NotFolded:
        return "listed"
    listed = each(evaluate_table(choice, stream))
    ends = Counter(end for _, end, _ in listed)
    asked = {end: range(count + 2) for end, count in ends.items()}
    found = each(ranked_matches(plan, stream, asked, rng.choice((1, 3, len(stream) or 1)), Budget()))
    assert len(found) == len(set(found)), told
    assert set(found) == set(listed), told
    if not listed:
        return "nothing"
    return "by rank, stored" if plan.automaton.registers else "by rank"


@pytest.mark.parametrize("seeds", shares(40, each=40))
def test_random_queries(seeds: range) -> None:
    became = Counter(map(compare, seeds))
    assert became["by rank"] > most(seeds, 0.1), became
    assert became["by rank, stored"] > most(seeds, 0.02), became
    assert became["listed"] > most(seeds, 0.02), became


def stream(types: str) -> list[dict[str, Any]]:
    return [{"time": k, "type": t, "k": k % 2} for k, t in enumerate(types)]


#: So many samples, of a third of all matches each.
_SAMPLES = 60


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE A ; B+ ; C WITHIN 7 EVENTS",
        "SELECT * FROM S WHERE A ; B+ WITHIN 5 s PARTITION BY k",
        "SELECT * FROM S WHERE A AS x ; B AS y ; C AS z FILTER x.time < z.time - 3 WITHIN 9 EVENTS",
        "SELECT LAST * FROM S WHERE A ; B ; C WITHIN 6 s",  # listed
    ],
)
def test_every_match_is_as_likely(text: str) -> None:
    events, query = stream("AABBABCCABC"), ensue.query(text)
    listed = rows(query.run(events, unit="s"))
    wanted = len(listed) // 3
    drawn: Counter[str] = Counter()
    for seed in range(_SAMPLES):
        drawn.update(rows(query.sample(events, wanted, seed=seed, unit="s")))
    assert set(drawn) <= set(listed)
    assert _chi_square([drawn[m] for m in listed], wanted / len(listed)) < _once_in_ten_thousand(len(listed) - 1)


def test_every_set_is_as_likely() -> None:
    drawn = Counter(frozenset(itertools.islice(draws(Random(f"sets {seed}"), 6), 3)) for seed in range(4_000))
    assert len(drawn) == 20
    assert _chi_square(list(drawn.values()), 0.0) < _once_in_ten_thousand(19)


def _chi_square(counts: list[int], share: float) -> float:
    """Of how often each was drawn, where a draw takes this share of them without putting any back."""
    expected = sum(counts) / len(counts)
    return sum((n - expected) ** 2 for n in counts) / (expected * (1 - share)) * (len(counts) - 1) / len(counts)


def _once_in_ten_thousand(degrees: int) -> float:
    """What chi-square exceeds so seldom (by Wilson and Hilferty)."""
    part = 2 / (9 * degrees)
    return degrees * (1 - part + NormalDist().inv_cdf(1 - 1e-4) * math.sqrt(part)) ** 3


@pytest.mark.parametrize("count", [60, 300, 1_500])
def test_far_more_matches_than_any_memory_holds(count: int) -> None:
    """Every subset of the events is a match, so each event is in half of them."""
    query = ensue.query("SELECT * FROM S WHERE A+ AS x")
    found = query.sample(stream("A" * count), 400, seed=5, unit="s", memory="64 MB")
    taken = [tuple(found.marks["x"].of(m)) for m in range(len(found))]
    assert len(set(taken)) == 400
    assert all(list(t) == sorted(set(t)) for t in taken)
    of_each = np.bincount(np.concatenate(taken), minlength=count)
    assert abs(of_each.sum() - 200 * count) < 4 * math.sqrt(100 * count)
    degrees = count
    assert ((of_each - 200.0) ** 2 / 100).sum() < _once_in_ten_thousand(degrees)


def test_counts_that_are_not_exact_are_never_too_small() -> None:
    query = ensue.query("AGGREGATE count(*) AS n FROM S WHERE A+ GROUP BY END")
    read = read_events(stream("A" * 2_000), query.ast.streams, unit="s")
    choice = choose(check(query.ast, query.text, read.schema))
    assert choice.plan is not None
    counted = evaluate_table(replace(choice, plan=folded_plan(choice.plan, (COUNT,))), read, mode=Mode.TOTALS)
    at_most = Sums(pa.table(dict(counted.computed))).at_most(COUNT)
    assert len(at_most) == 2_000
    for end, most_of_end in enumerate(at_most):
        assert 2**end <= most_of_end <= 2**end + (2**end >> 19)
        assert end > 80 or most_of_end == 2**end


def test_what_consumes() -> None:
    events = stream("AABABBAB")
    for rest in ("CONSUME BY ANY", "PARTITION BY k CONSUME BY PARTITION", "WITHIN 3 EVENTS CONSUME BY ANY"):
        query = ensue.query(f"SELECT * FROM S WHERE A+ AS x ; B {rest}")
        listed = rows(query.run(events, unit="s"))
        seen = {row for seed in range(12) for row in rows(query.sample(events, 1, seed=seed, unit="s"))}
        assert seen <= set(listed), rest
        assert len(seen) > 1


def test_the_same_seed_gives_the_same_matches() -> None:
    query, events = ensue.query("SELECT * FROM S WHERE A+ WITHIN 50 EVENTS"), stream("A" * 80)
    drawn = [rows(query.sample(events, 5, seed=seed, unit="s")) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert rows(query.sample(events, 5, unit="s")) != rows(query.sample(events, 5, unit="s"))


def test_none_and_all() -> None:
    query, events = ensue.query("SELECT * FROM S WHERE A ; B+"), stream("AABB")
    assert rows(query.sample(events, 0, unit="s")) == []
    assert query.sample(events, 0, unit="s").to_arrow().schema == query.run(events, unit="s").to_arrow().schema
    for n in (6, 7, 10**30):
        assert rows(query.sample(events, n, unit="s")) == rows(query.run(events, unit="s"))
    assert rows(query.sample(events[:1], 3, unit="s")) == []


def test_order_by_sorts_what_was_drawn_and_limit_comes_first() -> None:
    events = stream("AABBABB")
    found = ensue.query("SELECT x.time AS t FROM S WHERE A AS x ; B+ ORDER BY t DESC").sample(events, 9, unit="s")
    shown = found.to_arrow().column("t").to_pylist()
    assert shown == sorted(shown, reverse=True)
    first = ensue.query("SELECT x.time AS t, y.time AS u FROM S WHERE A AS x ; B AS y ORDER BY u, t LIMIT 3")
    assert set(rows(first.sample(events, 2, seed=3, unit="s"))) < set(rows(first.run(events, unit="s")))
    assert len(first.sample(events, 9, unit="s")) == 3


def test_bad_input() -> None:
    query = ensue.query("SELECT * FROM S WHERE A")
    for n, error in ((-1, ValueError), (1.5, TypeError), (True, TypeError), ("3", TypeError), (None, TypeError)):
        with pytest.raises(error, match="n: how many matches are drawn"):
            query.sample([], n, unit="s")  # type: ignore[arg-type]
    for seed in ("x", 1.0, False):
        with pytest.raises(TypeError, match="seed: a whole number, or None"):
            query.sample([], 1, seed=seed, unit="s")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match=r"AGGREGATE cannot be used here(.|\n)*hint: sample SELECT \*"):
        ensue.query("AGGREGATE count(*) AS n FROM S WHERE A").sample([], 1, unit="s")
    with pytest.raises(EngineError, match="unknown engine"):
        query.sample([], 1, unit="s", engine="automatn")
    many = ensue.query("SELECT * FROM S WHERE A+")
    with pytest.raises(EngineError, match="and may take 64 MB"):
        many.sample(stream("A" * 60), 10**9, unit="s", memory="64 MB")
