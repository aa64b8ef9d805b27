"""Whole queries with each function of the language, compared with a query that has a plain comparison instead.

The goal: a query with a function takes at most three times as long as the query with the comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import ensue
from bench.workloads import NAMES

QUERY = "SELECT x.i FROM S WHERE (A AS x FILTER {}) : (B AS y FILTER y.i > 90)"
#: Each aggregate runs over three events. Its condition is judged on whole matches, like conditions that relate events.
AGGREGATING = "SELECT x.i FROM S WHERE (A AS y){{3}} ; B AS x FILTER {} WITHIN 12 EVENTS"
TIMES = 5

#: For each column: the plain comparison, and the other conditions. Each holds for at most one event in a hundred.
CONDITIONS: dict[str, list[str]] = {
    "x.i = 7": [
        "x.i + 1 = 8",
        "x.i - 1 = 6",
        "x.i * 2 = 14",
        "x.i / 2 = 3.5",
        "x.i % 99 = 7",
        "-x.i = -7",
        "x.i IN (7, 700, 800)",
        "x.i BETWEEN 7 AND 7",
        "x.i = x.f",
        "x.u = x.i",
        "abs(x.i) = 7",
        "sign(x.i - 98) = 1",
        "coalesce(x.i, 0) = 7",
        "nullif(x.i, 0) = 7",
        "greatest(x.i, 98) > 98",
        "least(x.i, 7) = x.i + 7",
        "if(x.i > 50, 0, x.i) = 7",
        "PREV(x.i) = 7",
        "x.d = 7",
        "CASE WHEN x.i > 50 THEN 0 ELSE x.i END = 7",
        "CASE x.i WHEN 7 THEN TRUE END",
        "x.i::float = 7",
        "x.i::string = '7'",
        "x.i::boolean AND x.i = 7",
    ],
    "x.f > 99": [
        "x.f * 2 > 198",
        "x.f % 50 > 49.5",
        "floor(x.f) = 99",
        "ceil(x.f) = 100",
        "round(x.f) = 99",
        "round(x.f, 1) = 99.9",
        "distance(x.f * 0.9, x.f, 0, 0) > 11990000",
        "sqrt(x.f) > 9.95",
        "exp(x.f) > 1e43",
        "ln(x.f) > 4.595",
        "log10(x.f) > 1.9957",
        "power(x.f, 1.5) > 985",
        "sin(x.f) > 0.9995",
        "cos(x.f) > 0.9995",
        "tan(x.f) > 50",
        "asin(x.f / 100) > 1.43",
        "acos(x.f / 100) > 1.55",
        "atan(x.f) > 1.5606",
        "atan2(x.f, 1) > 1.5606",
        "radians(x.f) > 1.728",
        "degrees(x.f) > 5672",
        "x.f::integer = 100",
        "x.f::string LIKE '99.99%'",
    ],
    "x.s = 'user 7'": [
        "x.s LIKE 'user 7'",
        "x.s LIKE '%er 77'",
        "x.s LIKE 'u%77'",
        "x.s LIKE 'us_r 7_7'",
        "x.s LIKE x.p",
        "lower(x.s) = 'user 7'",
        "upper(x.s) = 'USER 7'",
        "length(x.s) = 6",
        "trim(x.s) = 'user 7'",
        "substr(x.s, 6) = '7'",
        "substr(x.s, -3, 2) = '77'",
        "substr(x.s, x.i) = '77'",
        "x.s || 'x' = 'user 7x'",
        "concat(x.s, '-', x.s) = 'user 7-user 7'",
        "replace(x.s, 'user', 'u') = 'u 7'",
        "replace(x.s, x.p, 'u') = 'u 7'",
        "contains(x.s, '777')",
        "contains(x.s, x.p)",
        "starts_with(x.s, 'user 77')",
        "ends_with(x.s, '77')",
        "x.s ILIKE 'USER 7'",
        "x.s RLIKE '77$'",
        "split(x.s, ' ')[2] = '7'",
        "substr(x.s, 6)::integer = 7",
        "substr(x.s, 6)::float = 7",
    ],
    "x.name = 'NONE'": ["lower(x.name) = 'none'", "x.name LIKE '%N_NE'", "substr(x.name, 2) = 'ONE'"],
    "x.t > timestamp('2024-01-12 12:00')": [
        "year(x.t) = 2025",
        "month(x.t) = 2",
        "day(x.t) = 12 AND x.t > timestamp('2024-01-12 12:00')",
        "weekday(x.t) = 5 AND x.t > timestamp('2024-01-12 12:00')",
        "hour(x.t) = 3 AND x.i > 90",
        "minute(x.t) = 30",
        "second(x.t) = 59",
        "date(x.t) = timestamp('2024-01-12')",
        "x.t - timestamp('2024-01-01') > 275 h",
        "x.t + 1 h > timestamp('2024-01-12 13:00')",
        "(x.t - timestamp('2024-01-01')) / 1 h > 275",
        "(x.t - timestamp('2024-01-01')) * 0.5 > 137.5 h",
        "quarter(x.t) = 2",
        "week(x.t) = 3",
        "day_of_year(x.t) = 13",
        "epoch(x.t) > 1705060800",
        "date_trunc('hour', x.t) = timestamp('2024-01-12 12:00')",
        "date_trunc('day', x.t) = timestamp('2024-01-13')",
        "date_trunc('month', x.t) = timestamp('2024-02-01')",
        "x.t AT TIME ZONE 'Europe/Berlin' > timestamp('2024-01-12 11:00Z')",
        "x.t::string = '2024-01-12 12:00:00'",
        "x.w::timestamp > timestamp('2024-01-12 12:00')",
    ],
    "x.z > timestamp('2024-01-12 12:00Z')": [
        "hour(x.z) = 3 AND x.i > 90",
        "date(x.z) = timestamp('2024-01-11 23:00Z')",
        "x.z AT TIME ZONE 'Europe/Madrid' > timestamp('2024-01-12 13:00')",
        "date_trunc('hour', x.z) = timestamp('2024-01-11 23:00Z')",
    ],
}
AGGREGATES = ["count(y) > 3", "sum(y.i) > 290", "sum(y.f) > 290", "avg(y.f) > 98", "min(y.f) > 90", "max(y.f) < 8"]
AGGREGATES += ["first(y.i) > 98", "last(y.i) > 98", "min(y.s) > 'user 99'"]


def events(count: int, seed: int = 5) -> pa.Table:
    """Events of two types, one each second, with numbers, texts and times."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 100, count)
    times = pa.array(np.arange(count) * 1_000_000 + 1_704_067_200_000_000)
    users = np.array([f"user {k}" for k in range(1_000)])
    return pa.table(
        {
            "time": times.cast(pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(rng.integers(0, 2, count).astype(np.int8), pa.array(["A", "B"])),
            "i": pa.array(numbers),
            "u": pa.array(numbers[::-1].astype(np.uint64)),
            "f": pa.array(rng.uniform(0, 100, count)),
            "d": pa.array(numbers).cast(pa.decimal128(21, 2)),
            "s": pa.array(users[rng.integers(0, len(users), count)]),
            "p": pa.array(users[rng.integers(0, len(users), count)]),
            "name": pa.DictionaryArray.from_arrays(
                pa.array(rng.integers(0, len(NAMES), count, dtype=np.int8)), pa.array(NAMES)
            ),
            "t": times.cast(pa.timestamp("us")),
            "w": times.cast(pa.timestamp("s")).cast(pa.string()),
            "z": times.cast(pa.timestamp("us", "Europe/Berlin")),
        }
    )


def functions(count: int) -> Iterator[dict[str, Any]]:
    """For each function: the time of its query, as a multiple of the time of the comparison. They run in turn."""
    stream = events(count)
    for plain, conditions in CONDITIONS.items():
        for condition in conditions:
            yield _beside(stream, QUERY.format(plain), QUERY.format(condition), condition)
    fewer = stream.slice(0, count // 4)
    for condition in AGGREGATES:
        yield _beside(fewer, AGGREGATING.format("x.i <> y.i"), AGGREGATING.format(condition), condition)


def _beside(stream: pa.Table, plain: str, asked: str, name: str) -> dict[str, Any]:
    queries = [ensue.query(plain), ensue.query(asked)]
    works: list[Callable[[], Any]] = [lambda q=q: q.run(stream) for q in queries]  # type: ignore[misc]
    shortest = [float("inf")] * 2
    for turn in range(TIMES + 1):
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            if turn:  # the first run loads the kernels
                shortest[k] = min(shortest[k], time.perf_counter() - start)
    return {
        "name": name,
        "times_a_comparison": round(shortest[1] / shortest[0], 2),
        "milliseconds": round(shortest[1] * 1e3, 1),
        "milliseconds_of_the_comparison": round(shortest[0] * 1e3, 1),
    }
