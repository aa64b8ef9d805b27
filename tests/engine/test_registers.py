"""What runs remember: how much of it is kept, and that it is kept in order."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engines import found_events, plan_of

import ensue
from ensue.automata.build import build
from ensue.automata.liveness import longest_time_checked, pruned, with_shared_registers
from ensue.automata.register_moves import slow_moves
from ensue.data.events import EventStream, read_events
from ensue.engines import reference
from ensue.errors import EngineError, QueryError
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_pattern, parse_query
from ensue.logic.check import check
from ensue.logic.window import Window, bounded
from ensue.plan import Plan


def prepared(text: str, table: pa.Table) -> tuple[Plan, EventStream]:
    query = parse_query(text)
    stream = read_events(table, query.streams, unit="s")
    plan = plan_of(check(query, text, stream.schema))
    assert plan is not None
    return plan, stream


def stream_of(n: int, **columns: pa.Array) -> pa.Table:
    return pa.table({"time": pa.array(np.arange(n)), "type": pa.array(["A", "B"] * (n // 2)), **columns})


def test_texts_that_no_run_has_stored_are_forgotten() -> None:
    n = 20_000
    names = pa.array([f"name {k // 2}" for k in range(n)])
    plan, stream = prepared(
        "SELECT x.s FROM S WHERE A AS x ; B AS y FILTER x.s = y.s WITHIN 10 s", stream_of(n, s=names)
    )
    runner = Runner(plan, stream.tick)
    found = sum(len(runner.push(stream.slice(k, 100))) for k in range(0, n, 100))
    assert found == n // 2
    assert len(runner.reader.columns.texts) < 5_000
    runner.drop_idle()
    assert len(runner.reader.columns.texts) <= 10


@pytest.mark.parametrize("seed", range(20))
def test_forgetting_texts_changes_nothing(seed: int) -> None:
    rng = random.Random(seed)
    n = 24
    text = "SELECT * FROM S WHERE A AS x ; B AS y ; (A AS z OR B AS w) FILTER x.s = y.s FILTER x.s = z.s WITHIN 12 s"
    plan, stream = prepared(text, stream_of(n, s=pa.array(rng.choices(["a", "b", "c", "d", None], k=n))))
    runner = Runner(plan, stream.tick)
    found = []
    for k in range(0, n, 4):
        found += found_events(runner.push(stream.slice(k, 4)))
        runner.drop_idle()
    query = parse_query(text)
    assert set(found) == set(found_events(reference.evaluate(check(query, text, stream.schema), stream)))


def test_memory_is_that_of_the_gap_and_not_of_the_stream() -> None:
    """A run that has waited longer than the gap is lost; the window of the whole follows from the gaps."""
    n = 100_000
    text = "SELECT x, y FROM S WHERE A AS x ;[<= 20 s] (B AS y FILTER y.v > 1)"
    plan, stream = prepared(text, stream_of(n, v=pa.array(np.zeros(n))))
    runner = Runner(plan, stream.tick)
    for k in range(0, n, 1_000):
        assert not len(runner.push(stream.slice(k, 1_000)))
    runner.drop_idle()
    assert runner.nodes < 200


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("A ;[<= 1 s] B", 1),
        ("A ;[<= 1 s] B ;[2 s .. 3 s] C", 4),
        ("A ;[<= 1 s] B ; C", None),
        ("A{3}[<= 2 s]", 4),
        ("A+[<= 2 s]", None),
        ("(A ;[<= 1 s] B) OR (A ;[<= 5 s] C)", 5),
        ("(A ;[<= 9 s] B) AND (A ; B WITHIN 4 s)", 4),
        ("(A ; B WITHIN [>= 2 s, < 6 s]) ;[<= 1 s] C", 7),
        ("A ALL (B ;[<= 1 s] C)", None),
        ("A ;[>= 1 s] B", None),
    ],
)
def test_the_window_that_gaps_come_to(text: str, seconds: int | None) -> None:
    assert bounded(Window(), parse_pattern(text)).ticks(1_000_000_000) == seconds


def test_what_runs_wait_for() -> None:
    automaton = pruned(build(parse_pattern("A ;[<= 1 s] (B OR C ; D)")))
    (clock,) = automaton.registers
    asked = longest_time_checked(automaton, clock)
    waiting = [s for s, since in asked.items() if since is not None]
    assert len(waiting) == 1  # between A and what follows; after that nothing is asked
    unbounded = pruned(build(parse_pattern("A ;[>= 1 s] B")))
    (clock,) = unbounded.registers
    assert set(longest_time_checked(unbounded, clock).values()) == {None}


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        ("A AS x ; B AS y FILTER x.v = y.v", []),
        ("A AS x ; B AS y FILTER x.k = y.k AND x.v < y.v", []),
        ("A ;[1 s .. 2 s] B ;[<= 1 s] C", []),
        ("A AS x ; B AS y ; C AS z FILTER x.v < z.v", ["B, y"]),
        ("A AS x ; B AS y ; C AS z FILTER x.v = y.v AND x.v = z.v", []),
        ("A AS x ; B AS y FILTER x.v < y.v AND x.w < y.w", ["B, y"]),
    ],
)
def test_where_many_runs_are_looked_at(text: str, slow: list[str]) -> None:
    assert slow_moves(pruned(with_shared_registers(build(parse_pattern(text))))) == slow


_DAYS = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2), dt.datetime(1900, 1, 1), None]
_INSTANTS = [dt.datetime(2024, 3, 31, h, 30, tzinfo=dt.UTC) for h in (0, 1, 2)]
#: Values of every kind that can be compared, with those that are special in it.
_COLUMNS: dict[str, tuple[list[Any], pa.DataType]] = {
    "ts_us": (_DAYS, pa.timestamp("us")),
    "ts_ns": (_DAYS, pa.timestamp("ns")),
    "ts_s": ([*_DAYS, dt.datetime(9000, 1, 1)], pa.timestamp("s")),
    "zoned": (_INSTANTS, pa.timestamp("us", "Europe/Berlin")),
    "day": ([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None], pa.date32()),
    "day_ms": ([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None], pa.date64()),
    "length": ([dt.timedelta(seconds=1), dt.timedelta(seconds=2)], pa.duration("ms")),
    "money": ([Decimal("1.10"), Decimal("1.20"), None], pa.decimal128(10, 2)),
    "flag": ([True, False, None], pa.bool_()),
    "wide": ([0, 1, 2**63 + 5, 2**64 - 1], pa.uint64()),
    "small": ([-1, 0, 1, None], pa.int8()),
    "large": ([-(2**63) + 2, 2**63 - 1, 2**53, 2**53 + 1], pa.int64()),
    "real": ([0.5, -0.0, 0.0, math.inf, -math.inf, math.nan, None, 2.0**53], pa.float64()),
    "name": (["a", "b", "", None], pa.string()),
    "long_name": (["a", "b", "", None], pa.large_string()),
    "nothing": ([None], pa.null()),
}
_MIXED = [
    ("ts_us", "ts_ns"),
    ("ts_us", "ts_s"),
    ("day", "ts_us"),
    ("day", "day_ms"),
    ("small", "real"),
    ("large", "real"),
    ("wide", "small"),
    ("money", "real"),
    ("name", "long_name"),
    ("small", "nothing"),
]


@pytest.mark.parametrize(("a", "b"), [*((name, name) for name in _COLUMNS), *_MIXED])
@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
def test_every_kind_of_value_is_compared_as_the_reference_does(a: str, b: str, operator: str) -> None:
    rng = random.Random(f"{a} {operator} {b}")
    n = 16
    columns = {name: pa.array(rng.choices(values, k=n), type_) for name, (values, type_) in _COLUMNS.items()}
    table = pa.table({"time": pa.array(range(n)), "type": pa.array(rng.choices("AB", k=n)), **columns})
    text = f"SELECT x, y FROM S WHERE A AS x ; (B AS y)+ FILTER x.{a} {operator} y.{b} WITHIN 6 s"
    found, wanted = (
        sorted(map(repr, ensue.match(table, text, unit="s", engine=engine))) for engine in ("automaton", "reference")
    )
    assert found == wanted


def test_an_integer_that_no_register_can_hold_is_said() -> None:
    table = stream_of(2, v=pa.array([-(2**63), 0]))
    with pytest.raises(EngineError, match="engine='reference' does"):
        ensue.match(table, "SELECT x FROM S WHERE A AS x ; B AS y FILTER x.v < y.v", unit="s", engine="automaton")


_HOUR = dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("first", "type_"),
    [
        (dt.datetime(2024, 3, 30, 22, 30, tzinfo=dt.UTC), pa.timestamp("us", "Europe/Berlin")),  # a day of 23 hours
        (dt.datetime(2024, 10, 26, 22, 30, tzinfo=dt.UTC), pa.timestamp("ms", "Europe/Berlin")),  # one of 25
        (dt.datetime(2024, 1, 1), pa.timestamp("ns")),
        (dt.datetime(1960, 1, 1), pa.timestamp("us")),
        (dt.datetime(1, 1, 1), pa.timestamp("s")),
        (dt.datetime(9998, 1, 1), pa.timestamp("us")),
    ],
)
@pytest.mark.parametrize(
    "pattern",
    [
        "A AS x ;[1 h .. 2 h] B AS y",
        "A AS x ;[> 1 h] B AS y WITHIN 3 h",
        "(A AS x)+[<= 90 min] ;[= 1 h] B AS y",
        "(A AS x ; B AS y WITHIN [>= 1.5 h, < 3 h]) ;[<= 0.5 h] A AS z",
        "(A OR B) AS x :[< 30 min] ANY AS y",
    ],
)
def test_gaps_over_every_kind_of_time(first: dt.datetime, type_: pa.DataType, pattern: str) -> None:
    rng = random.Random(pattern)
    halves = sorted(rng.choices(range(14), k=14))
    times = pa.array([first + k * _HOUR / 2 for k in halves], type_)
    table = pa.table({"time": times, "type": pa.array(rng.choices("AB", k=14))})
    text = f"SELECT * FROM S WHERE {pattern}"
    found, wanted = (
        sorted(map(repr, ensue.match(table, text, engine=engine))) for engine in ("automaton", "reference")
    )
    assert found
    assert found == wanted


@pytest.mark.parametrize("interval", ["[> 2 s, < 2 s]", "[>= 3 s, <= 2 s]", "[< 0 s]"])
@pytest.mark.parametrize("pattern", ["A ;{} B", "A +{}", "A ; B WITHIN {}"])
def test_what_can_never_hold_is_refused(interval: str, pattern: str) -> None:
    with pytest.raises(QueryError):
        ensue.query(f"SELECT * FROM S WHERE {pattern.format(interval)}")


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "pattern",
    [
        "A+[<= 2 s]",
        "A+ ;[<= 1 s] B",
        "A{2,4}[<= 2 s] ;[> 1 s] B",
        "(A ; B?)+[= 1 s]",
        "A ;[<= 1 s] A+[<= 1 s] WITHIN 4 s",
    ],
)
def test_nothing_is_found_twice_where_matches_are_not_compared(pattern: str, seed: int) -> None:
    """Runs that go on store and runs that end do not: they are told apart, and never end together."""
    rng = random.Random(seed)
    times = np.cumsum(rng.choices([0, 1, 2], k=14))
    text = f"SELECT * FROM S WHERE {pattern}"
    plan, stream = prepared(text, pa.table({"time": times, "type": rng.choices("AAB", k=14)}))
    assert not plan.judged
    found = found_events(Runner(plan, stream.tick).push(stream))
    assert len(found) == len(set(found))
    query = parse_query(text)
    assert set(found) == set(found_events(reference.evaluate(check(query, text, stream.schema), stream)))
