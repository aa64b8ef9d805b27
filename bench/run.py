"""`make bench`: every measure in one run, as ratios where it can be, printed and kept in bench/results/."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import peers, scaling
from bench.measure import measure
from bench.workloads import engine_workloads, selector_workloads

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    small = "--small" in sys.argv
    events = 100_000 if small else 1_000_000
    results: dict[str, Any] = {"commit": _commit(), "python": platform.python_version(), "events": events}
    results["engine, one core"] = _section("engine, one core", [measure(w) for w in engine_workloads(events)])
    results["selectors"] = _section("selectors, one core", [measure(w) for w in selector_workloads(events)])
    results["window"] = _section("longer windows, no output", scaling.windows(events))
    results["stream"] = _section("longer streams", scaling.streams(events, (1, 2) if small else (1, 10, 50)))
    results["enumeration"] = _section("enumeration", scaling.enumeration(small))
    results["peers"] = _section("peers, sequence of 3 within 100, over 20,000 events", peers.sequence_of_three())
    results["parquet"] = _section("from Parquet, both cores", scaling.parquet(events if small else 10 * events))
    if not small:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "engine.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _section(title: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    print(f"\n{title}")
    for row in rows:
        rest = "   ".join(f"{k.replace('_', ' ')} {_shown(v)}" for k, v in row.items() if k != "name" and v is not None)
        print(f"  {row['name']:<45}{rest}", flush=True)
    return rows


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _commit() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
