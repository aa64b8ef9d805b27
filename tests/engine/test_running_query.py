"""RunningQuery: rows of matches over batches are those over the whole, whatever the cuts, saved and loaded between."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from amounts import shares
from strategies import events_table, random_query, random_stream

import ensue
from ensue.automata.predicates import TypeIs
from ensue.data.events import read_events
from ensue.language.printer import print_query
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.results.running_query import RunningQuery


def rows_in_batches(query, table: pa.Table, cuts: list[int], unit: str = "s") -> list[dict[str, Any]]:
    stream = read_events(table, query.ast.streams, unit=unit)
    checked = check(query.ast, query.text, stream.schema)
    choice = choose(checked)
    running = RunningQuery(choice, stream.tick)
    rows: list[dict[str, Any]] = []
    for first, last in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        rows += running.push(stream.slice(first, last - first)).to_pylist()
        state = running.save()
        running = RunningQuery(choice, stream.tick)
        running.load(state)
    return rows


def compare(seed: int) -> str:
    """A random query over the whole stream and over batches; both engines come up."""
    rng = random.Random(seed)
    made = random_query(rng)
    events = random_stream(rng, 24)
    table = events_table(events)
    query = ensue.Query(print_query(made), made)
    cuts = sorted(rng.choices(range(len(events) + 1), k=rng.randrange(4)))
    expected = query.run(table, unit="s").to_arrow().to_pylist()
    found = rows_in_batches(query, table, cuts)
    assert sorted(map(repr, found)) == sorted(map(repr, expected)), (seed, query.text)
    return "compared" if expected else "without a match"


@pytest.mark.parametrize("seeds", shares(120, each=60))
def test_cuts_do_not_change_the_rows(seeds: range) -> None:
    assert [compare(seed) for seed in seeds].count("compared") > 0


def test_types_that_were_asked_before_the_events_came():
    """As on Spark, where the JVM asks for the types and sends one word of answers in their place."""
    table = pa.table({"time": [1, 2, 3, 4], "type": ["A", "B", "A", "B"], "s": ["x1", "y1", "y2", "x2"]})
    query = ensue.query(
        "SELECT x.s AS s FROM S WHERE (A AS x FILTER x.s LIKE 'y%') ; (B AS y FILTER upper(y.s) = 'X2')"
    )
    stream = read_events(table, query.ast.streams, unit="s")
    choice = choose(check(query.ast, query.text, stream.schema))
    assert choice.plan is not None
    of_types = {p.name: k for k, p in enumerate(choice.plan.predicates) if isinstance(p, TypeIs)}
    bits = [sum(1 << k for name, k in of_types.items() if name == type_) for type_ in table.column("type").to_pylist()]
    nothing = pa.chunked_array([pa.nulls(len(stream), pa.string())])
    answered = replace(stream, types=nothing, predicate_bits=np.array(bits, dtype=np.uint64))
    running = RunningQuery(choice, stream.tick, given=sum(1 << k for k in of_types.values()))
    assert running.push(answered).column("s").to_pylist() == ["y2"]
