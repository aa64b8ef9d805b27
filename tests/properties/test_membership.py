"""Every engine gives exactly the complex events that the membership oracle admits."""

import statistics
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import strategies
from amounts import amount, shares
from hypothesis import given, settings
from membership import Membership, answers, support
from running import complex_events, meaning, run

from ensue.language import ast
from ensue.language.parser import parse_pattern

#: The oracle tries every candidate, so a stream is cut to what it can try in a moment.
MOST_WORK = 4000


def cut(events, pattern):
    while Membership(events).work(pattern) > MOST_WORK:
        events = events[:-1]
    return events


@given(strategies.patterns(), strategies.streams(4))
@settings(max_examples=amount(200))
def test_patterns_mean_what_the_oracle_admits(engine, pattern, events):
    events = cut(events, pattern)
    assert not meaning(pattern, events, engine) ^ Membership(events).meaning(pattern)


def compare(seed: int, engine: str = "auto", make: Callable[[Random], ast.Query] = strategies.random_query) -> str:
    """A random query by an engine and by the oracle; says what became of it."""
    rng = Random(seed)
    query, events = make(rng), strategies.random_stream(rng, 4)
    return (
        "compared" if assert_answers(query, cut(events, query.pattern), engine, f"seed {seed}") else "without a match"
    )


def compare_following(seed: int, engine: str = "auto") -> str:
    """The same with steps and rounds that are the next ones, and absences in time."""
    return compare(seed, engine, strategies.random_following_query)


@pytest.mark.parametrize("seeds", shares(1_500, each=250))
def test_seeded_queries_answer_what_the_oracle_admits(engine, seeds):
    """Many more examples than Hypothesis makes in the time, and larger ones."""
    assert [compare(seed, engine) for seed in seeds].count("compared") > 0


@pytest.mark.parametrize("seeds", shares(1_000, each=250))
def test_seeded_queries_of_next_ones_answer_what_the_oracle_admits(engine, seeds):
    assert [compare_following(seed, engine) for seed in seeds].count("compared") > 0


@given(strategies.patterns(1), strategies.streams(5))
@settings(max_examples=amount(150))
def test_small_patterns_mean_what_the_oracle_admits(engine, pattern, events):
    events = cut(events, pattern)
    assert not meaning(pattern, events, engine) ^ Membership(events).meaning(pattern)


@given(strategies.queries(), strategies.streams(4))
@settings(max_examples=amount(200))
def test_queries_answer_what_the_oracle_admits(engine, query, events):
    assert_answers(query, cut(events, query.pattern), engine)


def assert_answers(query, events, engine, told=None):
    """Compares them; gives how many matches there were."""
    wanted = answers(query, events)
    matches = run(query, events, engine)
    found = complex_events(matches)
    assert set(found) <= wanted, told
    assert len(found) == len(set(found)), told
    for end in range(len(events)):
        due = sum(j == end for _, j, _ in wanted)
        reported = sum(j == end for _, j, _ in found)
        assert reported == (due if query.limit is None else min(due, query.limit)), told
    assert_rows(query, events, found, matches.to_arrow().to_pylist())
    return len(found)


def assert_rows(query, events, found, rows):
    """Section 7: one row a complex event, in the same order, with the values of its items."""
    assert len(rows) == len(found)
    for (start, end, mu), row in zip(found, rows, strict=True):
        assert row["start_time"] == events[start]["time"]
        assert row["end_time"] == events[end]["time"]
        assert all(row[key.attribute] == events[end][key.attribute] for key in query.partition)
        for item in query.items or ():
            assert_item(item, {x: [events[k] for y, k in sorted(mu, key=lambda m: m[1]) if y == x] for x, _ in mu}, row)


def assert_item(item, marked, row):
    match item.expression:
        case ast.Name(name=x):
            assert row[item.alias or x] == marked.get(x, [])
        case ast.Attribute(variable=x, name=a):
            assert row[item.alias or f"{x}_{a}"] == marked[x][0][a]
        case ast.Binary(left=ast.Attribute(variable=x, name=a), right=ast.Literal(value=n)):
            value = marked[x][0][a]
            assert row[item.alias] == (None if value is None else value + n)
        case ast.Call(function="count", arguments=(ast.Name(name=x),)):
            assert row[item.alias] == len(marked.get(x, []))
        case ast.Call(function=function, arguments=(ast.Attribute(variable=x, name=a),)):
            values = [event[a] for event in marked.get(x, [])]
            if function in PICKS and None not in values and values:  # what they do with NULL is not laid down
                assert row[item.alias] == PICKS[function](values)
            if function in SUMS:
                known = [v for v in values if v is not None]
                assert row[item.alias] == (SUMS[function](known) if known else 0 if function in COUNTS else None)


COUNTS = ("count", ast.COUNT_DISTINCT)
PICKS: dict[str, Callable[[list[Any]], Any]] = {"first": lambda vs: vs[0], "last": lambda vs: vs[-1], "collect": list}
SUMS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": sum,
    "avg": lambda vs: sum(vs) / len(vs),
    "median": statistics.median,
    "stddev": lambda vs: pytest.approx(statistics.stdev(vs)) if len(vs) > 1 else None,
    ast.COUNT_DISTINCT: lambda vs: len(set(vs)),
    "min": min,
    "max": max,
    "count": len,
}


def test_the_oracle_on_an_example_by_hand():
    """`A AS x ; B AS y` over A A B: both pairs, and of the two LAST keeps the second."""
    events = [{"time": t, "type": type_, "v": t, "k": None} for t, type_ in enumerate("AAB")]
    pair = ast.Sequence(ast.As(ast.Type("A"), "x"), ast.As(ast.Type("B"), "y"))
    oracle = Membership(events)
    assert {(i, j, tuple(sorted(support(mu)))) for i, j, mu in oracle.meaning(pair)} == {(0, 2, (0, 2)), (1, 2, (1, 2))}
    last = ast.Select(ast.Selector.LAST, pair)
    assert {(i, j) for i, j, _ in oracle.meaning(last)} == {(1, 2)}


def test_a_filter_means_its_own_set_before_an_outer_event_of_the_same_name(engine):
    """Chance hardly makes this one: the `x` of the absent pattern hides the single `x` around it."""
    pattern = parse_pattern("A AS x ; C UNLESS ((B AS x)+ FILTER x.v > 1)")
    for of_a, of_b, count in ((0, 2, 0), (2, 0, 1)):
        events = [{"time": t, "type": "ABC"[t], "v": v, "k": None} for t, v in enumerate((of_a, of_b, 0))]
        assert len(Membership(events).meaning(pattern)) == count
        assert len(meaning(pattern, events, engine)) == count
