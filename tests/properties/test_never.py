"""What is said never to match does not match: the reference finds nothing of it on many random streams."""

from random import Random

import pytest
import strategies
from amounts import most, shares
from running import run

from ensue.language.parser import parse_query
from ensue.language.printer import print_query
from ensue.logic.never import never_matching

STREAMS = 25


def never(seed: int) -> bool:
    """Whether a random query is said never to match; fails where it does match."""
    query = parse_query(print_query(strategies.random_query(Random(seed))))
    reasons = [p for p in never_matching(query) if p.message.startswith("this query")]
    if reasons:
        rng = Random(seed)
        for _ in range(STREAMS):
            events = strategies.random_stream(rng, 6)
            assert not len(run(query, events, "reference")), (seed, reasons, events)
    return bool(reasons)


@pytest.mark.parametrize("seeds", shares(1_500, each=250))
def test_what_never_matches_has_no_match(seeds):
    assert sum(map(never, seeds)) > most(seeds, 0.05)
