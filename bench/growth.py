"""How the time an event takes grows with the query: what the papers' theorems say of it, as figures.

Programs are worked out when they are first needed. So each row is of the second half of a stream, behind the first.
"""

from __future__ import annotations

import time
from random import Random
from typing import Any

import pyarrow as pa

from bench.measure import prepared
from bench.workloads import Workload
from ensue.kernels.runner import Runner


def all_pairs(events: int) -> list[dict[str, Any]]:
    """`NEXT` of two to six pairs in any order, without a window (Grez, Corollary 7.1)."""
    rows = []
    for count in range(2, 7):
        rng = Random(count)
        types = [f"{rng.choice('AB')}{rng.randrange(count)}" for _ in range(events)]
        stream = pa.table({"time": list(range(events)), "type": types})
        pairs = " ALL ".join(f"(A{k} ; B{k})" for k in range(count))
        query = f"SELECT NEXT * FROM S WHERE {pairs}"
        rows.append(second_half(Workload(f"NEXT of {count} pairs", query, stream, unit="s")))
    return compared(rows)


def aggregate_filters(events: int) -> list[dict[str, Any]]:
    """A filter on an aggregate that few matches pass, in windows in which there are ever more; then RUNNING sums."""
    rng = Random(7)
    types = [f"A{rng.randint(1, 100)}" for _ in range(events)]
    values = [rng.randint(0, 1_000_000) for _ in range(events)]
    stream = pa.table({"time": list(range(events)), "type": types, "v": values})
    above = "SELECT y FROM S WHERE A1 ; (A2 AS y)+ ; A3 FILTER avg(y.v) > 999000"
    small = "SELECT y FROM S WHERE (A1 AS y FILTER RUNNING sum(y.v) < 20000)+"
    queries = {f"average in {w:,} events": f"{above} WITHIN {w} EVENTS" for w in (20, 100, 1_000)}
    queries |= {f"RUNNING sum in {w:,} events": f"{small} WITHIN {w} EVENTS" for w in (100, 1_000)}
    return compared([second_half(Workload(name, query, stream, unit="s")) for name, query in queries.items()])


def second_half(workload: Workload) -> dict[str, Any]:
    """The nanoseconds that an event takes in the second half of a stream, and what its first half took to learn."""
    plan, stream = prepared(workload)
    half = len(stream) // 2
    Runner(plan, stream.tick).push(stream.slice(0, 100))  # loads the kernels
    runner = Runner(plan, stream.tick)
    start = time.process_time()
    runner.push(stream.slice(0, half))
    middle = time.process_time()
    found = runner.push(stream.slice(half, half))
    seconds = time.process_time() - middle
    return {
        "name": workload.name,
        "nanoseconds_an_event": round(seconds / half * 1e9, 1),
        "first_half_seconds": round(middle - start, 3),
        "matches": len(found),
        "nanoseconds_a_state": round(seconds / half / plan.automaton.size * 1e9, 2),
        "states": plan.automaton.size,
    }


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the ratio to the first row."""
    for row in rows:
        row["to_the_first"] = round(row["nanoseconds_an_event"] / rows[0]["nanoseconds_an_event"], 2)
    return rows
