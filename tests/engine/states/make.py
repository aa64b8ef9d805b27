"""Makes the stored states that later versions of the library must go on reading: run it once a version of the format.

PYTHONPATH=src:tests/support python tests/engine/states/make.py
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from ensue.data.envelope import VERSION
from ensue.data.events import EventStream, read_events
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.results.running_query import RunningQuery

FOLDER = Path(__file__).parent
EVENTS, CUT = 400, 230
QUERIES = {
    "window": "SELECT * FROM S WHERE A ; B+ ; C WITHIN 12 EVENTS WITHIN 12 s",
    "keys": "SELECT * FROM S WHERE A ; B ; C PARTITION BY k, name WITHIN 60 EVENTS WITHIN 60 s",
    "look-back": "SELECT * FROM S WHERE A AS x ; B FILTER PREV(x.v) < 50 PARTITION BY name WITHIN 60 s",
    "consumed": "SELECT * FROM S WHERE A ; B ; C PARTITION BY k CONSUME BY ANY",
}


def stream() -> pa.Table:
    """The same events for ever: by arithmetic, not from a library's random numbers."""
    n = np.arange(EVENTS)
    mixed = n * 7919 % 1009
    names = [None if m % 11 == 0 else f"name {m % 4}" for m in mixed.tolist()]
    return pa.table(
        {
            "time": pa.array(n // 2),
            "type": pa.array(["ABCD"[m % 4] for m in (mixed // 3).tolist()]),
            "k": pa.array(mixed % 3),
            "name": pa.array(names, pa.string()),
            "v": pa.array(mixed % 100),
        }
    )


def prepared(name: str) -> tuple[Choice, EventStream]:
    query = parse_query(QUERIES[name])
    events = read_events(stream(), query.streams, unit="s")
    return choose(check(query, QUERIES[name], events.schema)), events


def file_of(name: str, version: int) -> Path:
    return FOLDER / f"{name}.v{version}.state"


if __name__ == "__main__":
    for each in QUERIES:
        choice, events = prepared(each)
        running = RunningQuery(choice, events.tick)
        running.push(events.slice(0, CUT))
        file_of(each, VERSION).write_bytes(running.save())
