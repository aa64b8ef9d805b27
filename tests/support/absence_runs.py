"""Random events for queries with absences, and running them in batches with saved states."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

from ensue.data.events import EventStream, read_events
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.results.running_query import RunningQuery


def random_events(rng: Random) -> list[dict[str, Any]]:
    time, events = 0, []
    for _ in range(rng.randrange(14)):
        time += rng.choice([0, 0, 1, 1, 2])
        events.append(
            {"time": time, "type": rng.choice("AABCCD"), "v": rng.choice([0, 1, 2, None]), "k": rng.choice("xy")}
        )
    return events


SCHEMA = pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", pa.int64()), ("k", pa.string())])


def stream_of(events: list[dict[str, Any]]) -> EventStream:
    return read_events(pa.Table.from_pylist(events, SCHEMA), ("S",), unit="s")


def prepared(text: str, stream: EventStream | None = None) -> Choice:
    """The query with its engine, over the columns of the stream; without one, of random events."""
    schema = stream_of([]).schema if stream is None else stream.schema
    return choose(check(parse_query(text), text, schema))


def in_batches(choice: Choice, events: list[dict[str, Any]], rng: Random) -> list[tuple[int, int]]:
    """The starts and ends of what is reported, over random batches with the state saved and loaded between them."""
    tick = stream_of([]).tick
    running, told = RunningQuery(choice, tick), []
    while events:
        batch, events = events[: (n := rng.randrange(1, 4))], events[n:]
        told.append(running.push(stream_of(batch)))
        if rng.random() < 0.5:
            told.append(running.pass_time(batch[-1]["time"]))
        state = running.save()
        running = RunningQuery(choice, tick)
        running.load(state)
    rows = [table.select(["start_time", "end_time"]).to_pylist() for table in told if table is not None]
    return [(r["start_time"], r["end_time"]) for table in rows for r in table]
