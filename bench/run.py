"""`make bench`: measures everything in one run, as ratios where possible, and keeps it in bench/results/."""

from __future__ import annotations

import platform
import sys
from typing import Any

from bench import (
    aggregates,
    automata,
    between_events,
    disorder,
    functions,
    growth,
    keyed,
    peers,
    realistic,
    remembered,
    row_patterns,
    scaling,
    windows,
)
from bench.measure import measure
from bench.report import commit, keep, section
from bench.workloads import engine_workloads, selector_workloads


def main() -> None:
    small = "--small" in sys.argv
    events = 100_000 if small else 1_000_000
    results: dict[str, Any] = {"commit": commit(), "python": platform.python_version(), "events": events}
    results["engine, one core"] = section("engine, one core", [measure(w) for w in engine_workloads(events)])
    results["selectors"] = section("selectors, one core", [measure(w) for w in selector_workloads(events)])
    results["window"] = section("longer windows, no output", scaling.windows(events))
    results["stream"] = section("longer streams", scaling.streams(events, (1, 2) if small else (1, 10, 50)))
    results["enumeration"] = section("enumeration", scaling.enumeration(small))
    results |= (grown := growth.lines(events))
    results["aggregate filters"] = section("filters on aggregates, one core", growth.aggregate_filters(events))
    results["correlation"] = section("correlation, one core", remembered.correlation(events))
    results["between events"] = section("conditions between events, one core", between_events.between_events(events))
    results["many types"] = section("many types, one core", between_events.many_types(events))
    results["realistic"] = section("queries as users write them, one core", list(realistic.realistic(events, [])))
    results["few hits"] = section("correlation with few hits, one core", remembered.few_hits(events))
    results["joined"] = section("peers, pairs of one key", remembered.joined(events))
    results["time"] = section("time, one core", remembered.timed(events))
    results["disorder"] = section("live queries, one core", list(disorder.disorder(events)))
    results["automata"] = section("automata of one's own, one core", list(automata.automata(4 * events)))
    results["windows of data"] = section("aggregates of windows, one core", list(windows.windows(events)))
    results["aggregates"] = section("aggregates over all matches, one core", list(aggregates.aggregates(events)))
    results["functions"] = section("each function beside a comparison", list(functions.functions(events)))
    results["row patterns"] = section("row patterns, one core", row_patterns.embedded(events if small else 10 * events))
    results["row patterns, limit"] = section("row patterns, too long", row_patterns.too_long())
    results["row patterns, peers"] = section("row patterns, V shape", row_patterns.peers())
    results["peers"] = section("peers, sequence of 3 within 100, over 20,000 events", peers.sequence_of_three())
    results |= {
        title: section(f"A ; B ; C of one key within 1 s, all cores, {title}", rows)
        for title, rows in keyed.keyed(events if small else 10 * events).items()
    }
    if not small:
        keep("engine.json", results)
    failed = [told for rows in grown.values() for told in growth.failures(rows)]
    sys.exit("\n".join(["these lines do not grow as claimed:", *failed]) if failed else 0)


if __name__ == "__main__":
    main()
