"""The automaton engine gives what the reference gives: random queries over random streams, thousands of them.

Each is run with rewriting or without, cut into random batches, and restored from its saved state at random cuts; the
order must be that of one batch. What the engine does not evaluate it must refuse as unsupported, never with a crash.
"""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from amounts import most, shares
from engines import found_events, plan_of, run_at_once, run_in_pieces
from strategies import events_table, random_following_query, random_query, random_selecting_query, random_stream
from without_jit import counted_without_jit

from ensue.data.events import read_events
from ensue.engines import reference
from ensue.language import ast
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check

TOLD = "seed {}:\n{}\nover {}"


def compare(seed: int, *, make: Callable[[Random], ast.Query] = random_query, longest: int = 12) -> str:
    """Runs one random query both ways, over so many events at most; says what became of it."""
    rng = Random(seed)
    text = print_query(make(rng))
    events = random_stream(rng, longest)
    query = parse_query(text)
    stream = read_events(events_table(events), query.streams, unit="s")
    checked = check(query, text, stream.schema)
    plan = plan_of(checked, rewriting=rng.random() < 0.7)
    if plan is None:
        return "refused"
    told = TOLD.format(seed, text, events)
    wanted = found_events(reference.evaluate(checked, stream))
    found = run_in_pieces(plan, stream, rng)
    assert len(found) == len(set(found)), told
    if query.limit is None:
        assert not set(wanted) ^ set(found), told
    else:
        assert Counter(end for _, end, _ in wanted) == Counter(end for _, end, _ in found), told
    assert run_at_once(plan, stream) == found, told
    return "compared"


def compare_selecting(seed: int) -> str:
    """The same with selectors at any depth."""
    return compare(seed, make=random_selecting_query, longest=8)


def compare_following(seed: int) -> str:
    """The same with steps and rounds that are the next ones, and absences in time."""
    return compare(seed, make=random_following_query)


@pytest.mark.parametrize("seeds", shares(5_000, each=500))
def test_random_queries(seeds):
    became = Counter(map(compare, seeds))
    assert became["compared"] > most(seeds, 0.3)


@pytest.mark.parametrize("seeds", shares(1_000, each=250))
def test_random_queries_with_selectors_at_any_depth(seeds):
    became = Counter(map(compare_selecting, seeds))
    assert became["compared"] > most(seeds, 0.95)


@pytest.mark.parametrize("seeds", shares(2_000, each=500))
def test_random_queries_of_next_ones(seeds):
    became = Counter(map(compare_following, seeds))
    assert became["compared"] > most(seeds, 0.3)


@pytest.mark.slow
def test_random_queries_without_the_compiler():
    """The same code with the JIT off: a sample, since it is slow then."""
    plain, selecting = counted_without_jit(
        "test_fuzz",
        "sum(compare(seed) == 'compared' for seed in range(50_000, 50_150))",
        "sum(compare_selecting(seed) == 'compared' for seed in range(50_000, 50_060))",
    )
    assert plain > 40
    assert selecting > 55
