"""A bucket's state as it was stored once: later versions of the library must go on from it.

`UPDATE_STATES=1` writes the one of this version, which is done once for each version of the format.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fake_state import FakeStore, Timers
from pyspark.sql import Row

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.data.envelope import VERSION
from ensue.data.schema import Schema
from ensue.errors import EngineError
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import choose
from ensue.spark.bucket_count import BucketCount
from ensue.spark.recipe import TIME, TYPE, Recipe
from ensue.spark.streaming import BucketProcessor

#: The first version that this library reads.
FIRST = 2
FOLDER = Path(__file__).parent / "states"
TEXT = "SELECT x.v, y, PREV(x.v) AS before FROM S WHERE A AS x ; B AS y PARTITION BY k WITHIN 20 s"
EVENTS, CUT = 200, 120
START = 1_700_000_000  # seconds


def travelling() -> pa.Table:
    """The same events for ever: by arithmetic, not from a library's random numbers."""
    n = np.arange(EVENTS)
    mixed = n * 7919 % 1009
    times = pa.array((START + n) * 1_000_000).cast(pa.timestamp("us", "UTC"))
    types = pa.array(["ABC"[m % 3] for m in (mixed // 5).tolist()])
    return pa.table({"time": times, "type": types, "k": mixed % 4, "v": mixed % 50, TIME: times, TYPE: types})


def recipe() -> Recipe:
    checked = check(parse_query(TEXT), TEXT, Schema.of(travelling().drop_columns([TIME, TYPE]).schema))
    event = pa.struct(
        [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64()), ("v", pa.int64())]
    )
    time = pa.timestamp("us", "UTC")
    names = {"k": pa.int64(), "start_time": time, "end_time": time, "x_v": pa.int64(), "y": pa.list_(event)}
    return Recipe(choose(checked), 1000, 0, pa.schema({**names, "before": pa.int64()}))


def pushed(store: FakeStore, first: int, last: int) -> list[dict[str, Any]]:
    """The rows of matches after some events; the watermark is five seconds behind, so some of them wait."""
    processor = BucketProcessor(recipe(), BucketCount(1, 0))
    processor.init(store.handle)
    events = travelling().slice(first, last - first)
    watermark = (START + first - 5) * 1000 if last < EVENTS else 10**14
    told = processor.handleInputRows((0,), iter([Row(place=0, rows=table_bytes(events))]), Timers(watermark))
    return [row for t in told if t.rows is not None for row in table_of(t.rows).to_pylist()]


def file_of(version: int) -> Path:
    return FOLDER / f"bucket.v{version}.state"


@pytest.mark.parametrize("version", range(FIRST, VERSION + 1))
def test_a_stored_state_of_every_version_that_is_read_goes_on_exactly(version: int) -> None:
    through = FakeStore()
    pushed(through, 0, 60)
    pushed(through, 60, CUT)
    assert through.value is not None
    if os.environ.get("UPDATE_STATES") and version == VERSION:
        file_of(version).write_bytes(through.value[0])
    stored = FakeStore()
    stored.value = (file_of(version).read_bytes(),)
    wanted = pushed(through, CUT, EVENTS)
    assert len(wanted) > 20
    assert pushed(stored, CUT, EVENTS) == wanted


def test_a_state_from_before_its_counts_were_kept_beside_it_tells_them() -> None:
    """The first micro-batch after an upgrade, without events for the bucket; the next one need not read the state."""
    stored, timers = FakeStore(), Timers((START + CUT - 65) * 1000)
    stored.value = (file_of(VERSION).read_bytes(),)
    told: list[Row] = []
    for _ in range(2):
        processor = BucketProcessor(recipe(), BucketCount(1, 0))
        processor.init(stored.handle)
        told += processor.handleInputRows((0,), iter([Row(place=0, rows=None)]), timers)
        stored.value = (b"never read again",)
    assert [(row.waiting, row.open > 0, row.relevant) for row in told] == [(told[0].waiting, True, 0)] * 2
    assert told[0].waiting > 0
    assert told[0].state_bytes == told[1].state_bytes > 0


def test_a_state_of_a_version_that_is_not_read_is_refused_by_its_number() -> None:
    stored = FakeStore()
    stored.value = (file_of(1).read_bytes(),)
    with pytest.raises(EngineError, match=f"the saved state is of version 1, and this library reads {VERSION}"):
        pushed(stored, CUT, EVENTS)


def test_every_turned_byte_is_noticed_and_nothing_is_stored() -> None:
    stored, timers = FakeStore(), Timers((START + CUT - 5) * 1000)
    pushed(stored, 0, CUT)
    assert stored.value is not None
    state = stored.value[0]
    processor = BucketProcessor(recipe(), BucketCount(1, 0))
    processor.init(stored.handle)
    events = table_bytes(travelling().slice(CUT, 10))
    for place in range(len(state)):
        for turned in (1 << place % 8, 255):
            damaged = bytearray(state)
            damaged[place] ^= turned
            stored.value = (bytes(damaged),)
            with pytest.raises(EngineError, match="the saved state"):
                list(processor.handleInputRows((0,), iter([Row(place=0, rows=events)]), timers))
            assert stored.value == (bytes(damaged),)
    stored.value = (state,)
    through = FakeStore()
    pushed(through, 0, CUT)
    assert pushed(stored, CUT, EVENTS) == pushed(through, CUT, EVENTS)
