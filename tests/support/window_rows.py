"""The rows of windows by several ways, as texts that can be compared."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

import ensue
from ensue.data.events import EventStream, read_events
from ensue.engines.whole_tables import evaluate_table
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery


def shown(table: pa.Table) -> list[str]:
    """The rows as sorted texts, without the key. Zero has no sign in them."""
    plain = table.drop_columns([n for n in table.column_names if n == "k"])
    return texts(tuple(row.values()) for row in plain.to_pylist())


def texts(rows: Any) -> list[str]:
    return sorted(repr(tuple(v + 0.0 if isinstance(v, float) else v for v in row)) for row in rows)


def choice_of(query: ensue.Query, table: pa.Table) -> tuple[Choice, EventStream]:
    stream = read_events(table, query.ast.streams, unit="s")
    return choose(check(query.ast, query.text, stream.schema)), stream


def in_batches(query: ensue.Query, table: pa.Table, rng: Random, *, closed: bool = False) -> list[str]:
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
    if closed and found:
        found += running.finish()
    return shown(pa.concat_tables(found)) if found else []


def rows_with_marks(choice: Choice, stream: EventStream) -> pa.Table:
    """The rows of the windows whose events are all marked: how it is where events are shown."""
    assert choice.plan is not None
    assert choice.plan.spans is None
    return Matches(choice.checked, stream, evaluate_table(choice, stream, threads=1)).to_arrow()
