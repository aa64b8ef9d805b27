"""Automata of one's own: events a second on one core, in order and with late events that are corrected."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

import ensue
from ensue.results.running_query import RunningQuery

#: Live queries take fewer events: each batch is a step with changes of its own.
LIVE_EVENTS, BATCH, DELAY = 400_000, 20_000, 2_000
STOPPED_EVENTS, STOPPED_BATCH, STOPPED_DELAY = 100_000, 2_000, 20_000
TEXT = "SELECT n FROM S WHERE MATCHES m"


def automata(events: int) -> Iterator[dict[str, Any]]:
    """One row for each automaton over events in order, and rows for late ones."""
    table = _events(events)
    kinds = {
        "expressions, by event": (_downs_and_ups(), TEXT),
        "the same with 1,000 keys": (_downs_and_ups(), f"{TEXT} PARTITION BY k"),
        "the same, few matches": (_downs_and_ups(least=6), TEXT),
        "a Python function, by event": (_with_function(), TEXT),
        "expressions, by time": (_by_time(), TEXT),
    }
    for name, (automaton, text) in kinds.items():
        query = ensue.query(text, m=automaton)
        query.run(table.slice(0, 1_000), unit="ms")  # what is compiled is compiled now
        before = time.process_time()
        found = len(query.run(table, unit="ms"))
        took = time.process_time() - before
        goal = 10 if name.endswith("by event") else None
        yield {"name": name, "million_events_a_second": round(events / took / 1e6, 2), "matches": found, "goal": goal}
    yield from _late(table.slice(0, LIVE_EVENTS))
    yield from _stopping_early(table.slice(0, STOPPED_EVENTS))


def _late(table: pa.Table) -> Iterator[dict[str, Any]]:
    query = ensue.query(TEXT, m=_downs_and_ups(least=6))
    for late in (0.0, 0.1):
        arrived = _arriving(table, late, DELAY)
        _run_live(query, arrived.slice(0, 2 * BATCH))  # what is compiled is compiled now
        before = time.process_time()
        replayed = _run_live(query, arrived)
        took = time.process_time() - before
        yield {
            "name": f"corrected, batches of {BATCH:,}, {late:.0%} late by up to {DELAY / 1000:.0f} s",
            "million_events_a_second": round(len(table) / took / 1e6, 2),
            "evaluated_again_an_event": round(replayed / len(table), 2),
            "goal": 2 if late else None,
        }


def _stopping_early(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Small batches, and a long delay: how much sooner the same is done where the evaluation stops early."""
    size, delay, late = STOPPED_BATCH, STOPPED_DELAY, 0.001
    arrived = _arriving(table, late, delay)
    kinds = {"50 open runs": _long_runs(), "short runs": _downs_and_ups(least=6)}
    for name, automaton in kinds.items():
        query = ensue.query(TEXT, m=automaton)
        _run_live(query, arrived.slice(0, 3 * size), size, delay)
        took, replayed = {True: math.inf, False: math.inf}, dict[bool, int]()
        for early in (True, False) * 2:
            with mock.patch.object(RunningQuery, "comparable", early):
                before = time.process_time()
                replayed[early] = _run_live(query, arrived, size, delay)
                took[early] = min(took[early], time.process_time() - before)
        yield {
            "name": f"{name}, batches of {size:,}, {late:.1%} late by up to {delay / 1000:.0f} s",
            "million_events_a_second": round(len(table) / took[True] / 1e6, 3),
            "evaluated_again_an_event": round(replayed[True] / len(table), 2),
            "without_early_stop_evaluated_again": round(replayed[False] / len(table), 2),
            "times_without_early_stop": round(took[False] / took[True], 2),
            "goal": 3,
        }


def _arriving(table: pa.Table, late: float, delay: int) -> pa.Table:
    """The events as they come: so many of them late."""
    rng, times = np.random.default_rng(2), table.column("time").to_numpy().astype(np.float64)
    some = rng.random(len(times)) < late
    times[some] += rng.uniform(0, delay, int(some.sum()))
    return table.take(pa.array(np.argsort(times, kind="stable")))


def _run_live(query: ensue.Query, arrived: pa.Table, batch: int = BATCH, delay: int = DELAY) -> int:
    """How many events were evaluated once more."""
    live = query.live(unit="ms", delay=f"{delay} ms")
    for first in range(0, len(arrived), batch):
        live.push(arrived.slice(first, batch)).to_arrow()
    return live.metrics["replayed"]


def _long_runs() -> ensue.Automaton:
    """Every second event begins a run, which stays open for a hundred; few of them fall far enough."""
    made = ensue.Automaton(register={"n": 0, "begun": 0.0}).start("level").accept("low")
    made.arc("level", "open", "d > 0", then={"n": 1, "begun": "v"})
    made.arc("open", "open", "v > begun - 40 AND n < 100", then={"n": "n + 1"})
    return made.arc("open", "low", "v <= begun - 40")


def _downs_and_ups(least: int = 1) -> ensue.Automaton:
    """Steps down, then as many up; at least so many of each."""
    made = ensue.Automaton(register={"n": 0, "depth": 0}).start("level").accept("back")
    made.arc("level", "down", "v < PREV(v)", then={"n": 1, "depth": 1})
    made.arc("down", "down", "v < PREV(v)", then={"n": "n + 1", "depth": "depth + 1"})
    for state in ("down", "up"):
        made.arc(state, "up", f"v > PREV(v) AND n > 1 AND depth >= {least}", then={"n": "n - 1"})
        made.arc(state, "back", f"v > PREV(v) AND n = 1 AND depth >= {least}")
    return made


def _lower(event: Any, register: Any) -> Any:
    return event.v < register.least


def _with_function() -> ensue.Automaton:
    """Falls of some length, told by a function."""
    made = ensue.Automaton(register={"n": 0, "least": 0.0}).start("level").accept("low")
    made.arc("level", "down", "v < PREV(v)", then={"n": 1, "least": "v"})
    made.arc("down", "down", _lower, uses="v", then={"n": "n + 1", "least": "v"})
    return made.arc("down", "low", "v > PREV(v) AND n > 5")


def _by_time() -> ensue.Automaton:
    """What sums of all events of a time come to stays below nothing."""
    made = ensue.Automaton(register={"n": 0}, by="time").start("level").accept("low")
    made.arc("level", "down", "sum(d) < 0", then={"n": 1}).arc("down", "down", "sum(d) < 0", then={"n": "n + 1"})
    return made.arc("down", "low", "sum(d) >= 0 AND n > 3")


def _events(count: int) -> pa.Table:
    rng = np.random.default_rng(1)
    steps = rng.normal(size=count)
    return pa.table(
        {
            "time": np.arange(count) // 2,
            "k": rng.integers(0, 1_000, count),
            "v": np.cumsum(steps),
            "d": (steps * 100).astype(np.int64),
        }
    )


if __name__ == "__main__":
    from bench.report import commit, keep, section

    rows = section("automata of one's own, one core", list(automata(4_000_000)))
    keep("automata.json", {"commit": commit(), "events": 4_000_000, "automata": rows})
