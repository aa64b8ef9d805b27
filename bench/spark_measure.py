"""What the parts of the bench on Spark share: sizes, events, costs that are taken in turn, and rows of a report."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import ensue
from bench.cpu import cpu_seconds
from bench.spark_data import TYPES, events_of

#: Settings of the session in addition to those of `local_session`. The joins need 4 GB for their sort and their rows.
SETTINGS = {"spark.driver.memory": "4g"}
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Size:
    """The sizes. Windows grow with the time between the events of a key, so the number of matches stays the same."""

    rows: int
    keys: tuple[int, int]
    join_rows: int  # for the self-join with few keys, whose time grows with the square
    rounds: int


FULL = Size(10_000_000, (100, 100_000), 1_000_000, 3)
SMALL = Size(100_000, (10, 1_000), 100_000, 1)


def events(size: Size, which: int) -> Path:
    return events_of(size.rows, size.keys[which])


def window(size: Size, which: int) -> int:
    """The milliseconds in which a key has one event of each type on average."""
    return size.keys[which] * len(TYPES)


def sequence(size: Size, which: int) -> str:
    return (
        "SELECT x.id, y.id, z.id FROM S WHERE A AS x ; B AS y ; C AS z "
        f"PARTITION BY key WITHIN {window(size, which)} ms"
    )


def passed_on(batches: Batches) -> Batches:
    """The cost of a `mapInArrow` that does nothing."""
    yield from batches


#: The limits on the bytes of a batch that crosses to Python: Spark's default, which it checks after every row; and no
#: limit, as `local_session` sets it.
LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
USUAL_LIMIT, NO_LIMIT = "64m", str(2**31 - 1)
UNLIMITED, LIMITED = ", no limit of bytes", ", Spark's limit of bytes"


def limited(spark: SparkSession, limit: str, work: Callable[[], Any]) -> Callable[[], Any]:
    """The work with this limit on a batch. Later work has no limit again."""

    def run() -> Any:
        spark.conf.set(LIMIT, limit)
        try:
            return work()
        finally:
            spark.conf.set(LIMIT, NO_LIMIT)

    return run


def consumed(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


@dataclass(frozen=True)
class Cost:
    """The shortest time and the least processor time of several runs, in seconds."""

    seconds: float = math.inf
    cpu: float = math.inf

    def better(self, other: Cost) -> Cost:
        return Cost(min(self.seconds, other.seconds), min(self.cpu, other.cpu))


def cost_of(work: Callable[[], Any]) -> Cost:
    before, start = cpu_seconds(), time.perf_counter()
    work()
    return Cost(time.perf_counter() - start, cpu_seconds() - before)


def in_turn(rounds: int, works: Mapping[str, Callable[[], Any]]) -> dict[str, Cost]:
    """The cost of each, from rounds in which all run one after the other."""
    found = dict.fromkeys(works, Cost())
    for _ in range(rounds):
        for name, work in works.items():
            found[name] = found[name].better(cost_of(work))
    return found


def row(name: str, rows: int, cost: Cost, ours: Cost | None = None, **more: Any) -> dict[str, Any]:
    """A row. `times_ours` is by the clock, `cpu_times_ours` by processor time, which other work changes less."""
    found = {
        "name": name,
        "seconds": round(cost.seconds, 2),
        "cpu": round(cost.cpu, 1),
        "million_rows_a_second": round(rows / cost.seconds / 1e6, 2),
    }
    if ours is not None:
        found |= {"times_ours": round(cost.seconds / ours.seconds, 2), "cpu_times_ours": round(cost.cpu / ours.cpu, 2)}
    return found | more


def checked(found: pa.Table, query: str, table: pa.Table) -> int:
    """The number of matches, after they were compared with those of the embedded engine."""
    expected = ensue.match(table, query).to_arrow()
    order = [(c, "ascending") for c in ("x_id", "y_id", "z_id") if c in expected.column_names]
    names = [c for c, _ in order]
    found, expected = (t.select(names).sort_by(order).combine_chunks() for t in (found, expected))
    assert found.equals(expected), f"{len(found):,} matches on Spark, {len(expected):,} embedded: {query}"
    return len(expected)
