"""Live queries: after every step, the changes add up to the answer over the events that are there."""

import pytest
from amounts import most, shares
from live_runs import compare

import ensue


@pytest.mark.parametrize("seeds", shares(400, each=100))
def test_changes_add_up_after_every_step(seeds):
    became = [compare(seed) for seed in seeds]
    assert became.count("compared") > most(seeds, 0.2)


def test_a_query_may_use_no_column_of_its_events():
    live = ensue.query("SELECT count(y) AS n FROM S WHERE (ANY AS y){2}").live(unit="s")
    changes = live.push([{"time": k, "type": "A"} for k in range(4)])
    assert changes.to_arrow()["n"].to_pylist() == [2] * 6
