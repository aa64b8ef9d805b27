"""How the cost grows with the window, with the stream and with the output."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from bench.measure import best_of, measure, prepared
from bench.workloads import Workload, blocks, sequence, typed_stream
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream
from ensue.kernels.arena import USED
from ensue.kernels.runner import Runner
from ensue.plan import Plan


def windows(events: int) -> list[dict[str, Any]]:
    """The cost of an event with windows of 100 to 100,000 events and no output, relative to the shortest window."""
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
    """The rate and the memory of the match structure as the stream grows, in batches of a million events."""
    rows: list[dict[str, Any]] = []
    for factor in factors:
        workload = Workload("", sequence(4, 1_000, output=False), typed_stream(events * factor))
        plan, stream = prepared(workload)

        def run(plan: Any = plan, stream: Any = stream) -> Runner:
            runner = Runner(plan, stream.tick)
            for start in range(0, len(stream), 1 << 20):
                runner.push(stream.slice(start, 1 << 20))
            return runner

        # Every size runs over as many events in all, so a short disturbance affects all of them equally.
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


def _pushed(plan: Plan, events: EventStream) -> ComplexEvents:
    return Runner(plan, events.tick).push(events)


def enumeration(small: bool) -> list[dict[str, Any]]:
    """Nanoseconds for each reported event, when one end has from a thousand to a hundred million of them.

    Small ends are repeated, so that every row but the largest reports ten million events in all. The cost of the same
    query without output is subtracted. The last row is a shortest run: its set-up and a thousand events.
    """
    rows = []
    for size in (10**3, 10**4, 10**5, 10**6, 10**7, 10**8):
        if small and size > 10**6:
            break
        starts, middles = 18, round(size / 54)
        ends = max(1, (10**6 if small else 10**7) // size)
        stream = blocks([starts, middles, ends])
        with_output = Workload("", sequence(3, len(stream), output=True), stream)
        plan, events = prepared(with_output)
        silent, _ = prepared(replace(with_output, query=sequence(3, len(stream), output=False)))
        without, _ = best_of(5, partial(_pushed, silent, events))
        seconds, found = best_of(5, partial(_pushed, plan, events))
        assert found.marked == 3 * starts * middles * ends
        rows.append(
            {
                "name": f"{found.marked // ends:,} reported events an end",
                "nanoseconds_an_event": round((seconds - without) / found.marked * 1e9, 2),
                "reported_events": found.marked,
            }
        )
    plan, stream = prepared(Workload("", sequence(3, 120, output=True), typed_stream(1_000)))
    seconds, _ = best_of(300, lambda: Runner(plan, stream.tick).push(stream))
    return [*rows, {"name": "a run over 1,000 events", "microseconds": round(seconds * 1e6)}]
