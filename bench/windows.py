"""Aggregates of windows that the data define: beside marks on each event, a loop by hand and Polars; how they grow."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from ensue.data.events import EventStream, read_events
from ensue.engines.whole_tables import evaluate_table
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery

TIMES = 5
RUNS = "SELECT sum(w.v) AS s, max(w.v) AS m FROM S WINDOW w AS (IS a:* : b)"
SLIDING = "SELECT sum(w.v) AS s, max(w.v) AS m FROM S WINDOW w AS (IS ANY:{100})"
OPEN = "SELECT count(w) AS n, sum(w.v) AS s, max(w.v) AS m FROM S WINDOW w AS (IS a : (a OR x):* : b)"
_Numbers = npt.NDArray[Any]


def seconds(work: Callable[[], Any]) -> float:
    """The processor time of one call: the machine may do other things beside."""
    start = time.process_time()
    work()
    return time.process_time() - start


def alternating(*works: Callable[[], Any]) -> list[float]:
    """The shortest time of each, in seconds of the processor; they take turns."""
    for work in works:
        work()
    return [min(times) for times in zip(*([seconds(work) for work in works] for _ in range(TIMES)), strict=True)]


def table(types: _Numbers, values: _Numbers | None = None) -> pa.Table:
    rng = np.random.default_rng(1)
    values = rng.random(len(types)) * 1000 if values is None else values
    return pa.table({"time": pa.array(np.arange(len(types))), "type": pa.array(types), "v": pa.array(values)})


def chosen(text: str, events: pa.Table) -> tuple[Choice, EventStream]:
    query = parse_query(text)
    stream = read_events(events, query.streams, unit="s")
    return choose(check(query, text, stream.schema), "automaton"), stream


def rows(choice: Choice, stream: EventStream) -> pa.Table:
    """All rows of the result, by one thread."""
    return Matches(choice.checked, stream, evaluate_table(choice, stream, threads=1)).to_arrow()


def windows(events: int) -> Iterator[dict[str, Any]]:
    """Each line of the issue, as far as it is embedded."""
    yield from runs(events)
    yield from sliding(events)
    yield from open_windows(events)
    yield from lengths(events)
    yield bytes_an_open_window()
    yield memory(50 * events)


# ---------------------------------------------------------------- beside others


def _by_hand(ends: Any, values: Any, start: Any, end: Any, total: Any, greatest: Any) -> int:
    """All windows `a*b`: from each b back to the one before it."""
    found = 0
    for row in range(len(ends)):
        if not ends[row]:
            continue
        summed, most = 0.0, -np.inf
        first = row
        while first >= 0 and (first == row or not ends[first]):
            summed += values[first]
            most = max(most, values[first])
            start[found], end[found], total[found], greatest[found] = first, row, summed, most
            found += 1
            first -= 1
    return found


by_hand: Any = njit(_by_hand)


def runs(events: int) -> Iterator[dict[str, Any]]:
    """All windows `a*b` with one b in a hundred. The loop by hand gets the types as truth values."""
    types = np.where(np.arange(events) % 100 == 99, "b", "a")
    whole = table(types)
    choice, stream = chosen(RUNS, whole)
    folded = choice.for_rows
    ends, values = types == "b", whole.column("v").to_numpy()

    def loop() -> pa.Table:
        start, end = (np.empty(events, dtype=np.int64) for _ in range(2))
        total, greatest = (np.empty(events) for _ in range(2))
        found = by_hand(ends, values, start, end, total, greatest)
        return pa.table([pa.array(c[:found]) for c in (start, end, total, greatest)], names=["s", "e", "sum", "max"])

    ours, hand, marked = alternating(
        lambda: rows(folded, stream), loop, lambda: rows(choice, stream.slice(0, events // 10))
    )
    yield {
        "name": "a*b, 1% b, sum and max",
        "million_events_a_second": round(events / ours / 1e6, 2),
        "times_a_mark_on_each_event": round(10 * marked / ours, 1),
        "times_a_loop_by_hand": round(hand / ours, 2),
    }
    bare, _ = alternating(lambda: evaluate_table(folded, stream, threads=1), loop)
    yield {"name": "the same, without making the table", "times_a_loop_by_hand": round(hand / bare, 2)}


def sliding(events: int) -> Iterator[dict[str, Any]]:
    import polars as pl

    whole = table(np.full(events, "a"))
    choice, stream = chosen(SLIDING, whole)
    frame = pl.DataFrame({"v": whole.column("v").to_numpy()})
    both = [pl.col("v").rolling_sum(100).alias("s"), pl.col("v").rolling_max(100).alias("m")]
    ours, polars, marked = alternating(
        lambda: rows(choice.for_rows, stream),
        lambda: frame.select(both),
        lambda: rows(choice, stream.slice(0, events // 20)),
    )
    yield {
        "name": "the last 100, sum and max",
        "million_events_a_second": round(events / ours / 1e6, 2),
        "times_polars": round(polars / ours, 2),
        "times_a_mark_on_each_event": round(20 * marked / ours, 1),
    }


# ---------------------------------------------------------------- how it grows


def open_windows(events: int) -> Iterator[dict[str, Any]]:
    """The time of an event while windows stay open, and none is reported."""
    works = []
    counts = (10, 100, 1_000, 10_000)
    for count in counts:
        types = np.full(events, "x")
        types[:count] = "a"
        choice, stream = chosen(OPEN, table(types))
        works.append(partial(evaluate_table, choice.for_rows, stream, threads=1))
    times = alternating(*works)
    for count, took in zip(counts, times, strict=True):
        yield {"name": f"an event with {count:,} open windows", "times_that_with_10": round(took / times[0], 2)}


def lengths(events: int) -> Iterator[dict[str, Any]]:
    """The time of a reported window, beyond that of its events: the same events, with a b that ends none."""
    at_once = 10_000
    found: list[tuple[int, float]] = []
    for length in (10, 1_000, 100_000):
        round_ = np.array(["a"] * at_once + ["x"] * length + ["b"])
        repeats = max(events // len(round_), 1)
        with_end = np.tile(round_, repeats)
        choice, stream = chosen(OPEN, table(with_end))
        silent, other = chosen(OPEN.replace(": b)", ": c)"), table(with_end))
        ours, nothing = alternating(
            partial(evaluate_table, choice.for_rows, stream, threads=1),
            partial(evaluate_table, silent.for_rows, other, threads=1),
        )
        found.append((length, (ours - nothing) / (repeats * at_once)))
    for length, took in found:
        yield {
            "name": f"a reported window of {length:,} events",
            "nanoseconds": round(1e9 * took, 1),
            "times_that_of_10": round(took / found[0][1], 2),
        }


def bytes_an_open_window() -> dict[str, Any]:
    """The saved state, without compression, of a hundred thousand open windows."""
    count = 100_000
    choice, stream = chosen(OPEN, table(np.array(["a"] * count + ["x"] * 1000)))
    running = RunningQuery(choice, stream.tick)
    empty = len(running.save())
    running.push(stream)
    parts = running.parts()
    kept = sum(part.nbytes for name, part in parts.items() if name.startswith("engine") and hasattr(part, "nbytes"))
    return {
        "name": "bytes an open window, three aggregates",
        "in_the_engine": round(kept / count, 1),
        "with_its_first_event": round((len(running.save()) - empty) / count, 1),
    }


def memory(events: int) -> dict[str, Any]:
    """How much more memory the process takes after ten times as many events of a query with few open windows."""
    batch = 1 << 18
    rng = np.random.default_rng(2)
    types = np.array(["a", "x", "b"])[rng.choice(3, size=batch, p=[0.45, 0.45, 0.1])]
    choice, stream = chosen(OPEN, table(types))
    running = RunningQuery(choice, stream.tick, passing=True)
    taken: list[int] = []
    count = events // batch
    for number in range(count):
        for _ in running.tables(stream):
            pass
        if number in (count // 10, count - 1):
            taken.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return {"name": f"{events:,} events", "times_the_memory_after_a_tenth": round(taken[-1] / taken[0], 3)}
