"""Random queries with all that the language has learnt, together: each way to run them gives the same rows."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from amounts import most, shares
from parameterising import with_parameters
from row_runs import compare_rows
from strategies import random_stream
from worded import OWN, worded_query

import ensue
from ensue.language.printer import print_query


def compare(seed: int) -> str:
    """One such query in every way; says what became of it."""
    rng = Random(f"words {seed}")
    text = print_query(worded_query(rng))
    events = random_stream(rng, 9)
    written, values = with_parameters(text, rng) if rng.random() < 0.5 else (text, {})
    own: dict[str, Any] = {name: fn for name, fn in OWN.items() if f"{name}(" in text}
    made = ensue.query(written, params=values, **own)
    return compare_rows(made, events, rng, f"seed {seed}:\n{text}\nover {events}")


@pytest.mark.quick
@pytest.mark.parametrize("seeds", shares(300, each=100))
def test_random_queries(seeds: range) -> None:
    became = Counter(map(compare, seeds))
    assert became["compared"] > most(seeds, 0.1)
    assert became["cut"] + became["ordered"] > most(seeds, 0.02)
