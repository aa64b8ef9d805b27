"""Live queries: after every step, the changes add up to the answer over the events that are there."""

import pytest
from amounts import most, shares
from live_runs import compare


@pytest.mark.parametrize("seeds", shares(400, each=100))
def test_changes_add_up_after_every_step(seeds):
    became = [compare(seed) for seed in seeds]
    assert became.count("compared") > most(seeds, 0.2)
