"""Automata of one's own on the engine find what the reference finds, which follows the definition."""

from __future__ import annotations

from random import Random
from typing import Any

import amounts
import pyarrow as pa
import pytest
from random_automata import random_automaton, random_events, random_query, table_of

import ensue
from ensue.data.events import EventStream, read_events
from ensue.pipeline import prepare
from ensue.results.running_query import RunningQuery

def rows(found: ensue.Matches) -> list[str]:
    return sorted(map(str, found))


def compared(query: ensue.Query, events: pa.Table) -> int:
    """How many matches there are, of which both evaluators find the same."""
    meaning = query.run(events, unit="s", engine="reference")
    found = query.run(events, unit="s", engine="automaton")
    assert rows(found) == rows(meaning)
    assert (found.end[1:] >= found.end[:-1]).all()
    return len(found)


@pytest.mark.parametrize("seeds", amounts.shares(300, each=50))
def test_random_automata(seeds: range) -> None:
    found = 0
    for seed in seeds:
        rng = Random(seed)
        query = ensue.query(random_query(rng), m=random_automaton(rng))
        found += compared(query, table_of(random_events(rng, 14)))
    assert found > amounts.most(seeds, 1)
