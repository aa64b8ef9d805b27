"""How the time an event takes grows with the query, and with what is open: what the papers' theorems say, as figures.

Programs are worked out when they are first needed. So each row is of the second half of a stream, behind the first.
Each row has what `explain` claims of its query. A line that grows otherwise is a failure of the bench.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import ensue
from bench.measure import prepared
from bench.report import commit, keep, section
from bench.workloads import Workload
from ensue.kernels import clock_evaluator, evaluator
from ensue.kernels.batch_reader import Reader
from ensue.kernels.runner import Runner

#: How many partial matches are open where the second half of a stream begins; it opens as many more.
OPEN = (10, 100, 1_000, 10_000, 100_000)
#: How many alternatives, or pairs, a query has.
COUNTS = (2, 4, 6, 8, 10, 12)
#: What is flat may still come to this many times the first row: caches and the processor's guesses differ.
FLAT = 3.0

#: What is shorter is not told from noise.
LEAST_NANOSECONDS = 10.0
#: Nodes for partial matches, where no row of a line needs more.
ROOM = 1 << 23

# Nothing is ever called NEVER, so that all that is measured is what is open. `W` is a quarter of the stream's time.
_HELD = {
    "a sequence": "SELECT * FROM S WHERE A ; B ; NEVER",
    "an iteration": "SELECT * FROM S WHERE (A OR B)+ ; NEVER",
    "NEXT": "SELECT NEXT * FROM S WHERE A ; B ; NEVER",
    "an upper bound on a gap": "SELECT * FROM S WHERE A ;[<= W] B ; NEVER",
    "upper bounds, one clock": "SELECT * FROM S WHERE A ;[<= W] B ;[<= W] A ; NEVER",
    "lower bounds, in line": "SELECT * FROM S WHERE A ;[>= W] B ;[>= W] NEVER",
    "a lower bound on the whole": "SELECT * FROM S WHERE A ; B ; NEVER WITHIN [>= W]",
    "two lower bounds in one state": "SELECT * FROM S WHERE (A OR B)+[> W] ;[>= W] NEVER",
    "both bounds on a gap": "SELECT * FROM S WHERE A ;[W .. 2 W] B ; NEVER",
    "two clocks": "SELECT * FROM S WHERE A ;[<= W] B ;[<= W] NEVER WITHIN 3 W",
    "an order of values": "SELECT * FROM S WHERE A AS x ; B AS y ; NEVER FILTER x.v < y.v",
    "values that are near": "SELECT * FROM S WHERE A AS x ; B AS y ; NEVER FILTER abs(x.v - y.v) < 0.000001",
}


def open_matches(events: int) -> Iterator[dict[str, Any]]:
    """Each kind of query with ever more open partial matches, in a stream of one length.

    There are as many keys as make the partial matches of each as many as the row says, so that all rows have the same
    events, and the same memory in use.
    """
    for kind, text in _HELD.items():
        query = _with_times(text, events // 4)
        yield from compared(
            second_half(Workload(f"{kind}, {count:,} open", query, _keys(events, count), unit="ns"))
            for count in OPEN
            if count <= events // 2
        )


def _with_times(text: str, quarter: int) -> str:
    """The query with a key, and with its times in nanoseconds."""
    before, within, window = text.partition(" WITHIN ")
    text = f"{before} PARTITION BY k{within}{window}"
    return re.sub(r"(\d*) ?\bW\b", lambda m: f"{int(m[1] or 1) * quarter} ns", text)


def _keys(events: int, count: int) -> pa.Table:
    """Two rounds of the keys' events, `count` events of each key in a round: the keys take turns."""
    rng = np.random.default_rng(count)
    number = np.arange(events)
    return pa.table(
        {
            "time": number,
            "type": pa.array(np.array(["A", "B"])[number // max(1, events // 2 // count) % 2]),
            "k": number % max(1, events // 2 // count),
            "v": rng.random(events),
        }
    )


def alternatives(events: int) -> Iterator[dict[str, Any]]:
    """Two to twelve alternatives, each of which is open all the time; then with conditions on single events."""
    kinds: dict[str, Callable[[int], str]] = {
        "of other types": lambda k: f"(A{k} ; B{k})",
        "of other conditions": lambda k: f"(A0 AS x{k} ; B0 AS y{k} FILTER x{k}.v > {k} OR y{k}.v < {k})",
    }
    for kind, one in kinds.items():
        yield from compared(_of_alternatives(kind, count, [one(k) for k in range(count)], events) for count in COUNTS)


def _of_alternatives(kind: str, count: int, patterns: list[str], events: int) -> dict[str, Any]:
    rng = Random(count)
    types = [f"{rng.choice('AB')}{rng.randrange(count) if 'types' in kind else 0}" for _ in range(events)]
    values = [rng.randrange(14) for _ in range(events)]
    stream = pa.table({"time": list(range(events)), "type": types, "v": values})
    query = f"SELECT * FROM S WHERE ({' OR '.join(patterns)}) ; NEVER WITHIN 1000 EVENTS"
    return second_half(Workload(f"{count} alternatives {kind}", query, stream, unit="s"))


def all_pairs(events: int) -> Iterator[dict[str, Any]]:
    """`NEXT` of two to six pairs in any order, without a window (Grez, Corollary 7.1: linear in the automaton).

    That of two pairs is an automaton by itself, and a line of its own; the others go by ranks of states.
    """
    yield from compared([_of_pairs(2, events)])
    yield from compared(_of_pairs(count, events) for count in range(3, 7))


def _of_pairs(count: int, events: int) -> dict[str, Any]:
    rng = Random(count)
    types = [f"{rng.choice('AB')}{rng.randrange(count)}" for _ in range(events)]
    stream = pa.table({"time": list(range(events)), "type": types})
    pairs = " ALL ".join(f"(A{k} ; B{k})" for k in range(count))
    return second_half(Workload(f"NEXT of {count} pairs", f"SELECT NEXT * FROM S WHERE {pairs}", stream, unit="s"))


def aggregate_filters(events: int) -> Iterator[dict[str, Any]]:
    """A filter on an aggregate that few matches pass, in windows in which there are ever more; then RUNNING sums."""
    rng = Random(7)
    types = [f"A{rng.randint(1, 100)}" for _ in range(events)]
    values = [rng.randint(0, 1_000_000) for _ in range(events)]
    stream = pa.table({"time": list(range(events)), "type": types, "v": values})
    above = "SELECT y FROM S WHERE A1 ; (A2 AS y)+ ; A3 FILTER avg(y.v) > 999000"
    small = "SELECT y FROM S WHERE (A1 AS y FILTER RUNNING sum(y.v) < 20000)+"
    queries = {f"average in {w:,} events": f"{above} WITHIN {w} EVENTS" for w in (20, 100, 1_000)}
    queries |= {f"RUNNING sum in {w:,} events": f"{small} WITHIN {w} EVENTS" for w in (100, 1_000)}
    return compared(second_half(Workload(name, query, stream, unit="s")) for name, query in queries.items())


def second_half(workload: Workload) -> dict[str, Any]:
    """The nanoseconds that an event takes in the second half of a stream, and what its first half took to learn.

    Of three runs, the fastest; all of them have room from the start, so that no row copies what others need not.
    """
    plan, stream = prepared(workload)
    engine = re.search(r"engine +automaton: (.*?), plus", ensue.query(workload.query).explain())
    half = len(stream) // 2
    Runner(plan, stream.tick).push(stream.slice(0, 100))  # loads the kernels
    learnt = seconds = reading = math.inf
    for _ in range(3):
        with mock.patch.object(evaluator, "FIRST_NODES", ROOM), mock.patch.object(clock_evaluator, "FIRST_NODES", ROOM):
            runner = Runner(plan, stream.tick)
        start = time.process_time()
        runner.push(stream.slice(0, half))
        middle = time.process_time()
        found = runner.push(stream.slice(half, half))
        end = time.process_time()
        learnt, seconds = min(learnt, middle - start), min(seconds, end - middle)
        reader = Reader(plan, stream.tick)
        reader.read(stream.slice(0, half), 0)
        start = time.process_time()
        reader.read(stream.slice(half, half), half)
        reading = min(reading, time.process_time() - start)
    return {
        "name": workload.name,
        "nanoseconds_an_event": round(seconds / half * 1e9, 1),
        "of_which_conditions": round(reading / half * 1e9, 1),
        "first_half_seconds": round(learnt, 3),
        "matches": len(found),
        "states": plan.automaton.size,
        "claimed": None if engine is None else engine[1],
    }


def compared(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """With the ratio to the first row, and whether that is what `explain` claims of the query."""
    first = None
    for step, row in enumerate(rows):
        first = first or row
        row["to_the_first"] = round(_stepping(row) / _stepping(first), 2)
        larger = row["states"] / first["states"]  # a claim is about the events, so a larger automaton may take longer
        row["as_claimed"] = row["to_the_first"] <= _allowed(row["claimed"] or "", step) * larger
        yield row


def _stepping(row: dict[str, Any]) -> float:
    """What an event takes beside its conditions, each of which is evaluated once over a whole column."""
    return float(max(row["nanoseconds_an_event"] - row["of_which_conditions"], LEAST_NANOSECONDS))


def _allowed(claimed: str, step: int) -> float:
    """How many times the first row a row may come to; rows of logarithmic lines are a factor of ten apart."""
    if claimed.startswith("constant"):
        return FLAT
    return FLAT * (1 + step) if "logarithmic" in claimed else math.inf


def failures(rows: list[dict[str, Any]]) -> list[str]:
    """The rows that do not grow as `explain` claims, in words."""
    return [
        f"{row['name']}: {row['to_the_first']:,} times the first, but claimed is {row['claimed']}"
        for row in rows
        if not row["as_claimed"]
    ]


def lines(events: int) -> dict[str, list[dict[str, Any]]]:
    """All lines of growth, printed."""
    return {
        "open matches": section("growth with the open partial matches", open_matches(events // 5)),
        "alternatives": section("growth with alternatives", alternatives(events // 10)),
        "NEXT of pairs": section("NEXT of pairs in any order", all_pairs(events // 10)),
    }


def main() -> None:
    events = 1_000_000
    found = lines(events)
    keep("growth.json", {"commit": commit(), "events": events} | found)
    failed = [told for rows in found.values() for told in failures(rows)]
    sys.exit("\n".join(["these lines do not grow as claimed:", *failed]) if failed else 0)


if __name__ == "__main__":
    main()
