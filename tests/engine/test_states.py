"""States: small, exact, kept readable, and without the keys that nothing is open for."""

import sys
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from engines import found_events, plan_of

from ensue.data.complex_events import concatenated
from ensue.data.envelope import VERSION, sealed
from ensue.data.events import read_events
from ensue.data.partitions import key_codes
from ensue.errors import EngineError
from ensue.kernels.keys import KeyNumbers
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.results.running_query import RunningQuery

sys.path.insert(0, str(Path(__file__).parent / "states"))
import make as stored

#: The first version that this library reads.
FIRST = 2


def prepared(text, table, unit="s"):
    query = parse_query(text)
    stream = read_events(table, query.streams, unit=unit)
    return plan_of(check(query, text, stream.schema)), stream


@pytest.mark.parametrize("name", stored.QUERIES)
@pytest.mark.parametrize("version", range(FIRST, VERSION + 1))
def test_a_stored_state_of_every_version_that_is_read_goes_on_exactly(name: str, version: int) -> None:
    choice, events = stored.prepared(name)
    rest = events.slice(stored.CUT, stored.EVENTS)
    running = RunningQuery(choice, events.tick)
    running.push(events.slice(0, stored.CUT))
    wanted = running.push(rest).to_pylist()
    assert wanted
    second = RunningQuery(choice, events.tick)
    second.load(stored.file_of(name, version).read_bytes())
    assert second.push(rest).to_pylist() == wanted


@pytest.mark.parametrize("name", stored.QUERIES)
def test_a_state_of_a_version_that_is_not_read_is_refused_by_its_number(name: str) -> None:
    choice, events = stored.prepared(name)
    running = RunningQuery(choice, events.tick)
    with pytest.raises(EngineError, match=f"the saved state is of version 1, and this library reads {VERSION}"):
        running.load(stored.file_of(name, 1).read_bytes())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM S WHERE A ; B ; C PARTITION BY k WITHIN 15 EVENTS",
        "SELECT * FROM S WHERE A ; B ; C PARTITION BY k, name WITHIN 40 s",
        "SELECT * FROM S WHERE A ; B+ ; C PARTITION BY name WITHIN 15 EVENTS WITHIN 20 s",
        "SELECT * FROM S WHERE A AS x ; B FILTER PREV(x.v) < 50 PARTITION BY k WITHIN 10 s",
        "SELECT * FROM S WHERE A ; B+ ; C PARTITION BY k CONSUME BY PARTITION",
        "SELECT * FROM S WHERE A ; B ; C PARTITION BY name CONSUME BY ANY",
    ],
)
def test_dropping_idle_keys_changes_no_match_at_any_cut(text, monkeypatch):
    monkeypatch.setattr("ensue.kernels.runner._FEW_KEYS", 0)
    plan, stream = prepared(text, stored.stream())
    wanted = found_events(Runner(plan, stream.tick).push(stream))
    assert wanted
    rng = Random(0)
    for _ in range(10):
        runner = Runner(plan, stream.tick)
        found, start = [], 0
        while start < len(stream):
            size = rng.choice([1, 2, 5, 40])
            found.append(runner.push(stream.slice(start, size)))
            start += size
            if rng.random() < 0.3:
                runner.drop_idle()
            elif rng.random() < 0.3:
                runner.load(runner.save())
        assert found_events(concatenated(found, plan.marks)) == wanted


@pytest.mark.parametrize("as_key", [pa.array, lambda keys: pa.array([f"customer {k}" for k in keys.tolist()])])
def test_the_state_stays_flat_while_a_million_keys_come_and_go(as_key):
    """Each key has one A, one B and one C within 300 ms, and is never seen again."""
    batch, keys = 60_000, 1_000_000
    text = "SELECT * FROM S WHERE A ; B ; C PARTITION BY k WITHIN 300 ms"
    runner, matches, sizes, rooms = None, 0, [], []
    for first in range(0, keys, batch // 3):
        n = np.arange(batch)
        table = pa.table(
            {
                "time": pa.array(first * 3 + n),
                "type": pa.DictionaryArray.from_arrays(pa.array(n // 100 % 3), ["A", "B", "C"]),
                "k": as_key(first + n // 300 * 100 + n % 100),
            }
        )
        plan, stream = prepared(text, table, unit="ms")
        runner = runner or Runner(plan, stream.tick)
        matches += len(runner.push(stream))
        rooms.append(len(runner.evaluator.partitions.configuration))
        if first % (10 * batch) == 0:
            sizes.append(len(sealed("runner", {}, runner.save())))
    assert matches == keys
    assert max(rooms) <= 2 * (2**12 + batch)
    assert max(sizes) < 100_000
    assert max(sizes) < 1.2 * sizes[0]


def test_a_runner_that_loads_another_state_keeps_what_it_has_learned(monkeypatch):
    plan, stream = prepared("SELECT * FROM S WHERE A ; B ; C PARTITION BY k WITHIN 60 s", stored.stream())
    runner = Runner(plan, stream.tick)
    empty = runner.save()
    runner.push(stream)
    wanted = found_events(Runner(plan, stream.tick).push(stream))
    runner.load(empty)
    monkeypatch.setattr("ensue.kernels.programs.Programs.learn", lambda *_: pytest.fail("learned again"))
    assert found_events(runner.push(stream)) == wanted


COLUMNS = {
    "text": pa.array(["a", "", None, "ä", "a", "longer than a word", ""] * 3),
    "large": pa.array(["a", None, "b"] * 7, pa.large_string()),
    "encoded": pa.array(["x", None, "y"] * 7).dictionary_encode(),
    "integer": pa.array([2**62, -1, None, 0, 2**62, 0, None] * 3),
    "small": pa.array([1, None, -1] * 7, pa.int8()),
    "unsigned": pa.array([2**64 - 1, 0, None] * 7, pa.uint64()),
    "float": pa.array([0.0, -0.0, float("nan"), None, float("nan"), 1.5, 0.5] * 3),
    "half": pa.array(np.array([0.5, -0.0, 0.0] * 7, dtype=np.float16)),
    "boolean": pa.array([True, None, False] * 7),
    "date": pa.array([1, None, 0] * 7, pa.int32()).cast(pa.date32()),
    "time": pa.array([1, None, 0] * 7, pa.int64()).cast(pa.timestamp("us", "UTC")),
    "decimal": pa.array(["1.50", None, "0.00"] * 7).cast(pa.decimal128(5, 2)),
    "bytes": pa.array([b"\0", None, b""] * 7),
    "nothing": pa.nulls(21),
}


@pytest.mark.parametrize("names", [*((n,) for n in COLUMNS), ("text", "integer"), ("float", "encoded", "small")])
def test_keys_of_every_kind_are_numbered_as_over_the_whole_stream(names):
    columns = [COLUMNS[n] for n in names]
    wanted = key_codes(columns)
    for size in (1, 2, 5, 21):
        numbers = KeyNumbers(names)
        cut = [numbers.encode([c.slice(i, size) for c in columns]) for i in range(0, 21, size)]
        assert np.concatenate(cut).tolist() == wanted.tolist()
        kept = np.arange(0, 21, 2)
        assert numbers.encode(columns, kept).tolist() == wanted[kept].tolist()
    last = np.array([len(numbers) - 1])
    numbers.keep(last)
    assert len(numbers) == 1
    assert (numbers.encode(columns) == 0).tolist() == (wanted == last[0]).tolist()


def test_many_keys_and_long_texts():
    values = [f"{i}" * (i % 50) + f" {i}" for i in range(5000)]
    numbers = KeyNumbers(["k"])
    assert numbers.encode([pa.array(values)]).tolist() == list(range(5000))
    assert numbers.encode([pa.array(values[::-1])]).tolist() == list(range(4999, -1, -1))
    numbers.keep(np.arange(1, 5000, 2))
    assert numbers.encode([pa.array(values[1::2])]).tolist() == list(range(2500))
