"""Cutting row groups into stretches of time: each event belongs to one, which reads all that a match of it may use."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from ensue.spark import file_stretches
from ensue.spark.file_stretches import most_waiting, stretches, whole
from ensue.spark.parquet_footers import ANY_TIME, RowGroup
from ensue.spark.plain_scan import LeftToSpark


def group(number, earliest, latest, rows=10):
    return RowGroup(0, number, rows, earliest, latest)


IN_ORDER = tuple(group(k, 100 * k, 100 * k + 99) for k in range(20))


@pytest.fixture
def small(monkeypatch):
    """Stretches of few rows, however much is read twice."""
    monkeypatch.setattr(file_stretches, "_FEWEST_ROWS", 0)
    monkeypatch.setattr(file_stretches, "_MOST_READ", 100)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.usefixtures("small")
def test_every_event_is_read_where_a_match_may_use_it(seed):
    rng = Random(seed)
    starts = [rng.randrange(1000) for _ in range(12)]
    groups = tuple(group(k, s, s + rng.randrange(300), rng.randrange(1, 50)) for k, s in enumerate(starts))
    window = rng.randrange(200)
    made = stretches(groups, window, 4)
    bounds = [(s.begin, s.end) for s in made]
    assert bounds[0][0] is None
    assert bounds[-1][1] is None
    assert all(a[1] == b[0] for a, b in itertools.pairwise(bounds))
    for s in made:
        assert list(s.groups) == sorted(s.groups, key=lambda g: (g.earliest, g.file, g.number))
        for g in groups:
            meets = (s.begin is None or g.latest >= s.begin - window) and (s.end is None or g.earliest < s.end)
            assert meets == (g in s.groups)


@pytest.mark.usefixtures("small")
def test_stretches_are_about_equal():
    made = stretches(IN_ORDER, 50, 4)
    assert [s.begin for s in made] == [None, 500, 1000, 1500]
    assert [len(s.groups) for s in made] == [5, 6, 6, 6]
    assert [s.reads_from for s in made] == [None, 450, 950, 1450]


def test_few_rows_are_one_task():
    assert len(stretches(IN_ORDER, 50, 4)) == 1
    assert stretches((), 50, 4)[0].groups == ()


@pytest.mark.parametrize(
    ("groups", "window", "said"),
    [
        ([group(0, *ANY_TIME)], 5, "do not say between which times"),
        ([group(k, 0, 1000, 1 << 20) for k in range(8)], 5, "too few row groups for 4 tasks"),
        ([group(k, k, 1000, 1 << 20) for k in range(8)], 5, "too much would be read twice"),
        ([group(k, 100 * k, 100 * k + 99, 1 << 20) for k in range(8)], 500, "too much would be read twice"),
        ([group(k, k, 1000, 1 << 22) for k in range(3)], 5, "too much would be read twice"),
    ],
)
def test_left_to_spark(groups, window, said):
    with pytest.raises(LeftToSpark, match=said):
        stretches(tuple(groups), window, 4)


def test_events_that_wait():
    assert most_waiting(IN_ORDER) == 0
    assert most_waiting((group(0, 0, 100), group(1, 50, 85), group(2, 80, 90), group(3, 200, 300))) == 20
    with pytest.raises(LeftToSpark, match="would have to wait"):
        whole(tuple(group(k, 0, 10, 1 << 22) for k in range(4)))
