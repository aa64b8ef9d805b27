"""How cost grows: with the window, with the stream, with the output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.measure import best_of, measure, prepared
from bench.workloads import Workload, sequence, typed_stream
from ensue.kernels.arena import USED
from ensue.kernels.runner import Runner


def windows(events: int) -> list[dict[str, Any]]:
    """The cost of an event with windows of 100 to 100,000 events and no output, as a ratio to the shortest."""
    stream = typed_stream(events)
    rows = [
        measure(Workload(f"window {w:,}", sequence(4, w, output=False), stream), times=5)
        for w in (100, 1_000, 10_000, 100_000)
    ]
    fastest = rows[0]["million_events_a_second"]
    for row in rows:
        row["cost_to_window_100"] = round(fastest / row["million_events_a_second"], 2)
    return rows


def streams(events: int, factors: tuple[int, ...]) -> list[dict[str, Any]]:
    """The rate and the memory of the match structure as the stream grows, pushed in batches of a million."""
    rows = []
    for factor in factors:
        workload = Workload("", sequence(4, 1_000, output=False), typed_stream(events * factor))
        plan, stream = prepared(workload)

        def run(plan: Any = plan, stream: Any = stream) -> Runner:
            runner = Runner(plan, stream.tick)
            for start in range(0, len(stream), 1 << 20):
                runner.push(stream.slice(start, 1 << 20))
            return runner

        # Every size takes as many events in all: a millisecond that the machine is busy hides in none of them.
        seconds, runner = best_of(2 * max(factors) // factor, run)
        rows.append(
            {
                "name": f"{events * factor:,} events",
                "million_events_a_second": round(len(stream) / seconds / 1e6, 2),
                "structure_bytes": int(runner.evaluator.arena.node.nbytes),
                "nodes_in_use": int(runner.evaluator.arena.used[USED]),
            }
        )
    for row in rows:
        row["rate_to_shortest"] = round(row["million_events_a_second"] / rows[0]["million_events_a_second"], 2)
    return rows


def enumeration(small: bool) -> list[dict[str, Any]]:
    """Nanoseconds for each reported event, from a thousand of them to a hundred million.

    What the same query costs with no output, its last type being one that never comes, is measured apart: the run's
    set-up, and its steps over the events. `beyond` is the rest.
    """
    rows = []
    for events, window in ((1_000, 120), (10_000, 150), (100_000, 300), (1_000_000, 300), (1_000_000, 1_000)):
        if small and events > 100_000:
            break
        with_output = Workload("", sequence(3, window, output=True), typed_stream(events))
        plan, stream = prepared(with_output)
        silent, _ = prepared(replace(with_output, query=sequence(3, window, output=False)))
        times = max(3, 3_000_000 // events)
        without, _ = best_of(times, lambda p=silent, s=stream: Runner(p, s.tick).push(s))
        seconds, found = best_of(min(times, 300), lambda p=plan, s=stream: Runner(p, s.tick).push(s))
        rows.append(
            {
                "name": f"{found.marked:,} reported events",
                "nanoseconds_an_event": round(seconds / found.marked * 1e9, 2),
                "beyond_a_run_without_output": round((seconds - without) / found.marked * 1e9, 2),
                "microseconds_without_output": round(without * 1e6, 1),
            }
        )
    return rows
