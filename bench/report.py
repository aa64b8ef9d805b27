"""Prints and keeps the results of `make bench`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def section(title: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Prints the rows under their title, each when it is there, and returns them."""
    print(f"\n{title}")
    kept = []
    for row in rows:
        kept.append(row)
        rest = "   ".join(f"{k.replace('_', ' ')} {_shown(v)}" for k, v in row.items() if k != "name" and v is not None)
        print(f"  {row['name']:<45}{rest}", flush=True)
    return kept


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def commit() -> str:
    """The commit that is measured. It ends in `-dirty` if any files other than the results differ from it."""
    name = _git("describe", "--always", "--exclude", "*")
    if not name:
        return "unknown"
    if not _git("status", "--porcelain", "--", ".", ":!bench/results"):
        return name
    print("the tree has changes that are not committed: results are printed, and not kept", file=sys.stderr)
    return f"{name}-dirty"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=RESULTS.parents[1], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def keep(name: str, results: dict[str, Any]) -> None:
    """Writes results into bench/results/. Results from a tree with changes are not kept: nobody could check it out."""
    if results["commit"] == "unknown" or results["commit"].endswith("-dirty"):
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / name).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
