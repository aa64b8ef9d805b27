"""The state of a stream without Spark: buckets of keys with events out of order, saved and restored at every batch.

It is what runs in a Python worker, with a handle of our own in place of Spark's: so every case of the corpus and a
thousand random queries take seconds. What Spark does around it, the other files of this folder test.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from amounts import most, shares
from corpus_cases import TIMED
from fake_state import FakeStore, Timers
from in_a_bucket import recipe_of, run_in_a_bucket, travelling
from pyspark.sql import Row
from sparkling import Case, case_of, differences, on_a_clock, rows_of
from strategies import events_table, random_query, random_stream

from ensue.data.arrow_bytes import table_bytes
from ensue.data.envelope import VERSION
from ensue.errors import EngineError
from ensue.language.printer import print_query
from ensue.spark.bucket_count import BucketCount
from ensue.spark.recipe import TIME
from ensue.spark.streaming import BucketProcessor


def compared(cases: Sequence[Case], rng: Random) -> list[str]:
    found = [sum((rows_of(t) for t in run_in_a_bucket(c, rng)), rows_of(pa.table({}))) for c in cases]
    return differences(cases, found)


@pytest.mark.slow
@pytest.mark.parametrize("disorder", [0.0, 3.0, 1000.0])
def test_every_case_of_the_corpus(disorder):
    rng = Random(f"corpus {disorder}")
    cases = [c for c in TIMED if len(c.table)]
    assert len(cases) > 500
    found = [sum((rows_of(t) for t in run_in_a_bucket(c, rng, disorder)), rows_of(pa.table({}))) for c in cases]
    assert differences(cases, found) == []


def compare(seed: int) -> str:
    """A random query in a bucket; says which engine evaluated it."""
    rng = Random(f"buckets {seed}")
    case = on_a_clock(
        case_of(str(seed), print_query(random_query(rng)), events_table(random_stream(rng, 12)), unit="s")
    )
    assert compared([case], rng) == [], seed
    return "reference" if recipe_of(case).choice.plan is None else "compared"


@pytest.mark.parametrize("seeds", shares(240, each=80))
def test_random_queries(seeds):
    assert [compare(seed) for seed in seeds].count("compared") > most(seeds, 0.3)


def test_what_is_final_does_not_wait_for_the_next_micro_batch():
    events = [{"time": t, "type": kind} for t, kind in ((1, "A"), (2, "B"), (3, "A"), (10, "A"))]
    text = "SELECT * FROM S WHERE A AS x ; B AS y WITHIN 5 s"
    case = on_a_clock(case_of("final", text, pa.Table.from_pylist(events), unit="s"))
    told = {}
    for final_after in (None, 8000, 7000):  # the latest event is at 10 s: what is at 2 s or 3 s at most is final
        processor = BucketProcessor(recipe_of(case), BucketCount(1, 0), final_after)
        processor.init(FakeStore().handle)
        rows = [Row(place=0, rows=table_bytes(travelling(case)))]
        (row,) = processor.handleInputRows((0,), iter(rows), Timers(0))
        told[final_after] = (row.matches, row.waiting)
    assert told == {None: (0, 4), 8000: (1, 2), 7000: (1, 1)}


# ---------------------------------------------------------------- the state over time


def state_sizes(text: str, batches: list[list[dict[str, Any]]]) -> list[int]:
    """The bytes of a bucket's state after each micro-batch; the watermark follows a second behind."""
    everything = [e for batch in batches for e in batch]
    case = on_a_clock(case_of("sizes", text, pa.Table.from_pylist(everything), unit="s"))
    table, recipe, store = travelling(case), recipe_of(case), FakeStore()
    sizes, first, watermark = [], 0, 0
    processor = BucketProcessor(recipe, BucketCount(1, 0))
    processor.init(store.handle)
    for batch in batches:
        rows = table.slice(first, len(batch))
        first += len(batch)
        (told,) = processor.handleInputRows((0,), iter([Row(place=0, rows=table_bytes(rows))]), Timers(watermark))
        sizes.append(told.state_bytes)
        latest = rows.column(TIME).to_pylist()[-1] - timedelta(seconds=1)
        watermark = int(latest.timestamp() * 1000)
    return sizes


def batches_of(keys: Any, count: int = 120, each: int = 20) -> list[list[dict[str, Any]]]:
    rng = Random("sizes")
    return [
        [
            {"time": b * 2 + i // 10, "type": rng.choice("AAAC"), "k": keys(b, i), "v": rng.randrange(9)}
            for i in range(each)
        ]
        for b in range(count)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE A ; B WITHIN 5 s",
        "SELECT * FROM S WHERE A+ ; B PARTITION BY k WITHIN 5 s",
        "SELECT * FROM S WHERE A ; A ; B PARTITION BY k WITHIN 40 EVENTS",
        "SELECT * FROM S WHERE A AS x ; B AS y FILTER x.v < y.v WITHIN 5 s",
        "SELECT PREV(y.v) AS v FROM S WHERE A ; B AS y PARTITION BY k WITHIN 5 s",
        "SELECT * FROM S WHERE A AS a ; NOT C WITHIN 5 s PARTITION BY k",
    ],
)
def test_expired_partial_matches_leave_the_state(text):
    """240 seconds of events that open partial matches, none of which is ever completed."""
    sizes = state_sizes(text, batches_of(lambda b, i: i % 4))
    assert max(sizes[-20:]) <= 1.25 * max(sizes[20:40])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE A ; B PARTITION BY k WITHIN 5 s",
        "SELECT * FROM S WHERE A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 5 s",
        "SELECT * FROM S WHERE A ; B PARTITION BY k WITHIN 5 s CONSUME BY PARTITION",
    ],
)
def test_idle_keys_leave_the_state(text):
    """Every micro-batch has keys of its own, which never come again."""
    sizes = state_sizes(text, batches_of(lambda b, i: b * 100 + i))
    assert max(sizes[-20:]) <= 1.25 * max(sizes[20:40])


def test_a_state_of_another_query_or_version_is_refused():
    case = on_a_clock(case_of("q", "SELECT * FROM S WHERE A ; B", [{"time": 1, "type": "A"}], unit="s"))
    store = FakeStore()
    first = BucketProcessor(recipe_of(case), BucketCount(4, 0))
    first.init(store.handle)
    rows = [Row(place=0, rows=table_bytes(travelling(case)))]
    list(first.handleInputRows((0,), iter(rows), Timers(0)))
    other = on_a_clock(case_of("q", "SELECT * FROM S WHERE A ; C", [{"time": 1, "type": "A"}], unit="s"))
    said = {
        "what differs: query, automaton": (recipe_of(other), 4),
        r"number of buckets \(4, now 5\)": (recipe_of(case), 5),
    }
    for text, (recipe, buckets) in said.items():
        second = BucketProcessor(recipe, BucketCount(buckets, 0))
        second.init(store.handle)
        with pytest.raises(EngineError, match=text):
            list(second.handleInputRows((0,), iter(rows), Timers(0)))
    assert store.value is not None
    magic = b"ensue st"
    store.value = (store.value[0].replace(magic + bytes([VERSION]), magic + bytes([9])),)
    with pytest.raises(EngineError, match=f"is of version 9, and this library reads {VERSION}"):
        list(first.handleInputRows((0,), iter(rows), Timers(0)))
