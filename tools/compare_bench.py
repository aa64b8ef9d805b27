"""Compares the speed of two checkouts, line by line of `make bench`, in turns.

    python tools/compare_bench.py ../before . --events 300000 --rounds 5 [part of a line's name]

Each checkout has its own process, and both are asked for the same line in turns. A line's figure is the processor time
of one run on one core, the best of three, so other work on the machine matters little. Printed are the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

#: A slower median than this is a loss.
MOST = 1.1


class Side:
    """A checkout, and its process that measures lines. It is this file again, with the checkout's own modules."""

    def __init__(self, checkout: Path, events: int) -> None:
        self.folder = checkout
        paths = [str(checkout / "src"), str(checkout)]
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--measure", str(events)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.names: list[str] = self._answer()

    def seconds(self, name: str) -> float:
        assert self._process.stdin is not None
        print(name, file=self._process.stdin, flush=True)
        found: float = self._answer()
        return found

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"the process for {self.folder} has ended")
        return json.loads(line)

    def close(self) -> None:
        self._process.communicate()


def main() -> int:
    if "--measure" in sys.argv:
        answer(int(sys.argv[-1]))
        return 0
    asked = argparse.ArgumentParser()
    asked.add_argument("before", type=Path)
    asked.add_argument("after", type=Path)
    asked.add_argument("parts", nargs="*", help="parts of lines' names; all lines by default")
    asked.add_argument("--events", type=int, default=300_000)
    asked.add_argument("--rounds", type=int, default=5)
    given = asked.parse_intermixed_args()
    before, after = (Side(folder.resolve(), given.events) for folder in (given.before, given.after))
    losses = 0
    for name in before.names:
        if name not in after.names or (given.parts and not any(part in name for part in given.parts)):
            continue
        turns = [(before.seconds(name), after.seconds(name)) for _ in range(given.rounds)]
        old, new = (median(seconds) for seconds in zip(*turns, strict=True))
        losses += new > MOST * old
        print(
            f"{'SLOWER' if new > MOST * old else '':8}{new / old:5.2f}  {old * 1e3:9.2f} ms {new * 1e3:9.2f} ms  {name}"
        )
        sys.stdout.flush()
    for side in (before, after):
        side.close()
    print(f"{losses} lines are slower by more than {MOST - 1:.0%}")
    return int(losses > 0)


def answer(events: int) -> None:
    """Says which lines there are, and then measures those that are asked for."""
    import time

    time.perf_counter = time.process_time  # what `bench` measures with
    from bench import measure

    shortest: list[float] = []

    def noted(times: int, work: Any) -> tuple[float, Any]:
        seconds, result = best_of(times, work)
        shortest.append(seconds)
        return seconds, result

    best_of, measure.best_of = measure.best_of, noted
    lines = lines_of(events)
    print(json.dumps(list(lines)), flush=True)
    for name in sys.stdin:
        shortest.clear()
        measure.measure(lines[name.strip()])
        print(json.dumps(shortest[0]), flush=True)


def lines_of(events: int) -> dict[str, Any]:
    """The workloads of all lines on one core, by their names. Some are only made where they are measured."""
    sys.modules.setdefault("duckdb", ModuleType("duckdb"))  # only the lines of other programs need it
    from bench import remembered, scaling, workloads

    found = [*workloads.engine_workloads(events), *workloads.selector_workloads(events)]

    def noted(workload: Any, times: int = 0) -> dict[str, Any]:
        found.append(workload)
        return {"million_events_a_second": 1.0}

    for module in (remembered, scaling):
        module.__dict__["measure"] = noted
    scaling.windows(events)
    remembered.correlation(events)
    remembered.few_hits(events)
    remembered.timed(events)
    return {w.name: w for w in found}


if __name__ == "__main__":
    sys.exit(main())
