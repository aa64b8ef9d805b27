"""Live queries: what it costs to tell matches at once and to correct them, against waiting for the watermark.

Events of four types and many keys arrive in batches; some of them come late, by up to the delay of the watermark. All
figures of a row are of the same batches, so they are ratios of one run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import ensue

QUERIES = {
    "A ; B ; C within 10 s": "SELECT x.v, z.v FROM S WHERE A AS x ; B AS y ; C AS z WITHIN 10 s PARTITION BY k",
    "A ; NOT B ; C": "SELECT x.v, z.v FROM S WHERE A AS x ; NOT B ; C AS z WITHIN 10 s PARTITION BY k",
}
#: For each batch size the share of the events that come late, and the goal in times that waiting takes.
CASES = ((20_000, 0.0, 1.5), (20_000, 0.1, 3.0), (2_000, 0.0, 1.5), (2_000, 0.01, None))
DELAY = 2_000  # in milliseconds, as the times of the events
KEYS, SPAN, TIMES = 100_000, 100_000, 2


def disorder(events: int) -> Iterator[dict[str, Any]]:
    """One row for each query, batch size and share of late events."""
    table = _events(events)
    for name, text in QUERIES.items():
        query = ensue.query(text)
        for batch, late, goal in CASES:
            some = table.slice(0, events if batch > 2_000 else events // 5)
            arrived = some.take(pa.array(_arrival(some, late)))
            modes = ("wait", "revise")
            runs = [{mode: _run(query, arrived, batch, mode) for mode in modes} for _ in range(TIMES)]
            took = {mode: min(run[mode].seconds for run in runs) for mode in modes}
            told = runs[0]
            yield {
                "name": f"{name}, {batch:,} a batch, {late:.0%} late",
                "waiting_million_events_a_second": round(len(some) / took["wait"] / 1e6, 3),
                "revising_times_waiting": round(took["revise"] / took["wait"], 2),
                "goal": goal,
                "evaluated_again_an_event": round(told["revise"].replayed / len(some), 2),
                "from_scratch_times_revising": round(_from_scratch(query, some, batch) / took["revise"], 1),
                "waiting_milliseconds_until_told": round(told["wait"].latency),
                "revising_milliseconds_until_told": round(told["revise"].latency),
                "state_bytes_at_half_and_end": told["revise"].states,
            }


def _events(count: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "time": np.sort(rng.integers(0, count * SPAN // 1_000_000, count)),
            "type": pa.array(np.array(list("ABCD"))[rng.integers(0, 4, count)]),
            "k": rng.integers(0, KEYS, count),
            "v": rng.integers(0, 100, count),
        }
    )


def _arrival(events: pa.Table, late: float) -> npt.NDArray[np.int64]:
    """The order in which the events arrive: a share of them comes later, by up to the delay."""
    rng = np.random.default_rng(2)
    times = events.column("time").to_numpy().astype(np.float64)
    some = rng.random(len(times)) < late
    times[some] += rng.uniform(0, DELAY, int(some.sum()))
    order: npt.NDArray[np.int64] = np.argsort(times, kind="stable")
    return order


@dataclass(frozen=True)
class _Ran:
    seconds: float
    replayed: int
    latency: float  # mean milliseconds between the end of a match and the time of the stream when it is told
    states: list[int]


def _run(query: ensue.Query, events: pa.Table, batch: int, mode: Any) -> _Ran:
    live = query.live(unit="ms", disorder=mode, delay=f"{DELAY} ms")
    times, latest = events.column("time").to_numpy(), 0
    waited, count, states, seconds = 0.0, 0, [], 0.0
    for first in range(0, len(events), batch):
        before = time.process_time()
        changes = live.push(events.slice(first, batch)).to_arrow()
        seconds += time.process_time() - before
        latest = max(latest, int(times[first : first + batch].max()))
        inserted = np.array(changes.column("change").to_pylist()) == "insert"
        ends = changes.column("end_time").to_numpy()[inserted] if len(changes) else np.zeros(0)
        waited, count = waited + float((latest - ends).sum()), count + len(ends)
        if first // batch in (len(events) // batch // 2, (len(events) - 1) // batch):
            states.append(len(live.save()))
    return _Ran(seconds, live.metrics["replayed"], waited / max(count, 1), states)


def _from_scratch(query: ensue.Query, events: pa.Table, batch: int) -> float:
    """The time of running the query over all events so far with each batch: that of half of them, on average."""
    half = events.slice(0, len(events) // 2)
    before = time.process_time()
    query.run(half, unit="ms").to_arrow()
    return (time.process_time() - before) * (len(events) / batch)


if __name__ == "__main__":
    from bench.report import commit, keep, section

    rows = section("live queries, one core", list(disorder(1_000_000)))
    keep("disorder.json", {"commit": commit(), "events": 1_000_000, "disorder": rows})
