"""Aggregates of windows without their events: the engine, the reference and brute force over pairs of positions agree."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from amounts import shares
from window_expressions import (
    Row,
    Windows,
    aggregate_by_brute_force,
    random_rows,
    random_windows,
    table_of,
    windows_by_brute_force,
)

import ensue
from ensue.data.events import read_events
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.results.running_query import RunningQuery


def by_brute_force(windows: Windows, rows: list[Row]) -> list[tuple[Any, ...]]:
    """The rows of the result: the times of both ends, and each item."""
    return [
        (rows[first]["time"], rows[last]["time"], *(aggregate_by_brute_force(item, inside) for item in windows.items))
        for first, last, inside in windows_by_brute_force(windows, rows)
    ]


def shown(table: pa.Table) -> list[str]:
    """The rows as sorted texts, without the key. Zero has no sign in them."""
    plain = table.drop_columns([n for n in table.column_names if n == "k"])
    return texts(tuple(row.values()) for row in plain.to_pylist())


def texts(rows: Any) -> list[str]:
    return sorted(repr(tuple(v + 0.0 if isinstance(v, float) else v for v in row)) for row in rows)


def choice_of(query: ensue.Query, table: pa.Table) -> tuple[Choice, Any]:
    stream = read_events(table, query.ast.streams, unit="s")
    return choose(check(query.ast, query.text, stream.schema)), stream


def in_batches(query: ensue.Query, table: pa.Table, rng: Random) -> list[str]:
    """The rows over random batches; the state is sometimes saved and restored between two."""
    choice, stream = choice_of(query, table)
    running = RunningQuery(choice, stream.tick)
    found, start = [], 0
    while start < len(stream):
        size = rng.choice([0, 1, 2, 5, len(stream)])
        found.append(running.push(stream.slice(start, size)))
        start += size
        if rng.random() < 0.4:
            state = running.save()
            running = RunningQuery(choice, stream.tick)
            running.load(state)
    return shown(pa.concat_tables(found)) if found else []


def compare(seed: int) -> str:
    """Random windows over a random stream, by every way there is."""
    rng = Random(f"windows {seed}")
    windows, rows = random_windows(rng), random_rows(rng, rng.choice([1, 5, 12, 25]))
    table = table_of(rows)
    query = ensue.query(windows.text)
    expected = texts(by_brute_force(windows, rows))
    matches = query.run(table, unit="s", engine="automaton")
    assert shown(matches.to_arrow()) == expected, (seed, windows.text)
    assert in_batches(query, table, rng) == expected, (seed, windows.text)
    if seed % 4 == 0:
        reference = query.run(table, unit="s", engine="reference")
        assert shown(reference.to_arrow()) == expected, (seed, windows.text)
        both = zip(_marked(matches), _marked(reference), strict=True)
        assert all(a == b for a, b in both), (seed, windows.text)
    folded = choice_of(query, table)[0].for_rows.plan
    if not expected:
        return "without a match"
    return "compared" if folded is not None and folded.spans is not None else "with events"


def _marked(matches: ensue.Matches) -> list[list[int]]:
    return sorted(matches.marks["w"].of(m).tolist() for m in range(len(matches))) if len(matches) else []


@pytest.mark.parametrize("seeds", shares(400, each=100))
def test_random_windows(seeds: range) -> None:
    told = [compare(seed) for seed in seeds]
    assert told.count("compared") > 0
