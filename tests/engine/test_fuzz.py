"""The automaton engine gives what the reference gives: 20,000 random queries over random streams.

Each is run with rewriting or without, cut into random batches, and restored from its saved state at random cuts; the
order must be that of one batch. What the engine does not evaluate it must refuse as unsupported, never with a crash.
"""

from collections import Counter
from random import Random

import pytest
from engines import found_events, plan_of, run_at_once, run_in_pieces
from strategies import events_table, random_query, random_selecting_query, random_stream
from without_jit import counted_without_jit

from ensue.data.events import read_events
from ensue.engines import reference
from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.check import check

TOLD = "seed {}:\n{}\nover {}"


def compare(seed: int, *, selecting: bool = False) -> str:
    """Runs one random query both ways; says what became of it."""
    rng = Random(seed)
    text = print_query(random_selecting_query(rng) if selecting else random_query(rng))
    events = random_stream(rng, 8 if selecting else 12)
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


@pytest.mark.parametrize("first", range(0, 20_000, 1_000))
def test_random_queries(first):
    became = Counter(compare(seed) for seed in range(first, first + 1_000))
    assert became["compared"] > 300


@pytest.mark.parametrize("first", range(0, 1_000, 250))
def test_random_queries_with_selectors_at_any_depth(first):
    became = Counter(compare(seed, selecting=True) for seed in range(first, first + 250))
    assert became["compared"] > 240


def test_random_queries_without_the_compiler():
    """The same code with the JIT off: a sample, since it is slow then."""
    plain, selecting = counted_without_jit(
        "test_fuzz",
        "sum(compare(seed) == 'compared' for seed in range(50_000, 50_150))",
        "sum(compare(seed, selecting=True) == 'compared' for seed in range(50_000, 50_060))",
    )
    assert plain > 40
    assert selecting > 55
