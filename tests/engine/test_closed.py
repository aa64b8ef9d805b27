"""`closed=True`: nothing follows, so what waits is told. The oracle hears that time has gone on without end."""

from __future__ import annotations

from random import Random

import pytest
import strategies
from amounts import most, shares
from membership import Membership, items_use
from running import complex_events

import ensue
from ensue.language import ast
from ensue.language.printer import print_query

#: Later than any deadline of the random queries.
_LATE = 10**6


def compare(seed: int) -> bool:
    """A random query with a deadline over a closed table: every engine and the oracle agree; says if it has matches."""
    rng = Random(f"closed {seed}")
    query = strategies.random_query(rng, 2)
    while not any(ast.find(query.pattern, ast.NotAfter)) or query.consume is not ast.Consume.NONE or query.limit:
        query = strategies.random_query(rng, 2)
    events = strategies.random_stream(rng, 5)
    table, made = strategies.events_table(events), ensue.Query(print_query(query), query)
    found = {
        engine: complex_events(made.run(table, unit="s", engine=engine, closed=True))
        for engine in ("auto", "reference")
    }
    assert sorted(found["auto"], key=repr) == sorted(found["reference"], key=repr), (seed, print_query(query), events)
    oracle = Membership(events, _LATE)
    if not query.partition and query.selector is ast.Selector.ALL and oracle.work(query.pattern) < 10**5:
        used = items_use(query)
        expected = {(i, j, frozenset(m for m in mu if m[0] in used)) for i, j, mu in oracle.meaning(query.pattern)}
        assert set(found["auto"]) == expected, (seed, print_query(query), events)
    return bool(found["auto"])


@pytest.mark.parametrize("seeds", shares(400, each=100))
def test_closed_tables(seeds):
    assert sum(map(compare, seeds)) > most(seeds, 0.1)


EVENTS = [{"time": t, "type": c} for t, c in [(0, "A"), (1, "B"), (4, "A"), (5, "A")]]


@pytest.mark.parametrize("engine", ["automaton", "reference"])
@pytest.mark.parametrize("deadline", ["2 s", "1000000000000000 d"])
def test_what_waits_is_told(engine, deadline):
    """By hand: the first A is followed by a B; nothing follows the others, however long the deadline is."""
    query = ensue.query(f"SELECT A FROM S WHERE A ; NOT B WITHIN {deadline}")
    assert query.run(EVENTS, unit="s", engine=engine).start.tolist() == []
    assert query.run(EVENTS, unit="s", engine=engine, closed=True).start.tolist() == [2, 3]
    assert query.detect(EVENTS, unit="s", engine=engine, closed=True).to_arrow()["position"].to_pylist() == [2, 3]


def test_on_all_cores():
    """Slices and shares of a table report what waits once, at its end."""
    events = [{"time": k, "type": "AC"[k % 2], "k": k % 7} for k in range(200_000)]
    for partition in ("", " PARTITION BY k"):
        query = ensue.query(f"SELECT A FROM S WHERE A ; NOT B WITHIN 10 s{partition}")
        assert len(query.run(events, unit="s", closed=True)) == 100_000
        assert len(query.run(events, unit="s")) == 100_000 - 5
