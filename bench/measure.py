"""Measures the best of a few runs. Whatever is compared is measured in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bench.workloads import Workload
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream, read_events
from ensue.engines.whole_tables import evaluate_table
from ensue.kernels.batch_reader import Reader
from ensue.language.parser import parse_query
from ensue.logic.check import check
from ensue.plan import Plan
from ensue.plan.choice import Choice, choose


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest time in seconds, and the last result."""
    shortest, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, result


def prepared(workload: Workload) -> tuple[Plan, EventStream]:
    choice, stream = chosen(workload)
    assert choice.plan is not None
    return choice.plan, stream


def chosen(workload: Workload) -> tuple[Choice, EventStream]:
    query = parse_query(workload.query)
    stream = read_events(workload.stream, query.streams, unit=workload.unit)
    return choose(check(query, workload.query, stream.schema), "automaton"), stream


def measure(workload: Workload, times: int = 3, threads: int = 1) -> dict[str, Any]:
    """The rate of a workload, and its ratio to a pass that evaluates only the predicates."""
    choice, stream = chosen(workload)
    plan = choice.plan
    assert plan is not None
    evaluate_table(choice, stream.slice(0, 1000), threads=threads)  # loads the kernels
    seconds, found = best_of(times, lambda: evaluate_table(choice, stream, threads=threads))
    bare, _ = best_of(times, lambda: Reader(plan, stream.tick).read(stream, 0))
    assert isinstance(found, ComplexEvents)
    return {
        "name": workload.name,
        "million_events_a_second": round(len(stream) / seconds / 1e6, 2),
        "times_the_bare_pass": round(seconds / bare, 2),
        "matches": len(found),
        "marked_events": found.marked,
    }
