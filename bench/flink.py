"""Asks Flink's MATCH_RECOGNIZE the same question. Flink has its own environment, because its dependencies differ."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench.own_environment import environment

_JOB = Path(__file__).with_name("flink_job.py")


def measured(
    query: str, folder: Path, rows: int, window: int, ours: float | None, *, install: bool = True
) -> list[dict[str, Any]]:
    """Flink's rate for a query of `flink_job.py` over the events of a folder; `ours` is in million rows a second.

    The package from PyPI cannot read Parquet, so the files are CSV. The time for reading alone is measured too.
    """
    python = _environment(install=install)
    if isinstance(python, str):
        return [{"name": "Flink skipped", "because": python}]
    command = [str(python), str(_JOB), query, str(folder), str(window)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return [{"name": "Flink skipped", "because": f"Flink failed: {said[-1] if said else 'it said nothing'}"}]
    seconds = json.loads(done.stdout.splitlines()[-1])
    found = [
        {
            "name": name,
            "seconds": round(seconds[which], 2),
            "million_rows_a_second": round(rows / seconds[which] / 1e6, 3),
        }
        for name, which in (("Flink: reading the CSV files alone", "reading"), ("Flink: MATCH_RECOGNIZE", "matching"))
    ]
    if ours:
        found[1]["ensue_times_as_fast"] = round(ours * 1e6 * seconds["matching"] / rows, 1)
    return found


def _environment(*, install: bool) -> Path | str:
    """The Python of Flink's environment, or the reason why there is none."""
    given = os.environ.get("FLINK_PYTHON")
    return Path(given) if given else environment("flink", ("apache-flink",), install=install)
