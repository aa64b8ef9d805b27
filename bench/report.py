"""What `make bench` prints and keeps."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def section(title: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Prints the rows under their title and gives them back."""
    print(f"\n{title}")
    for row in rows:
        rest = "   ".join(f"{k.replace('_', ' ')} {_shown(v)}" for k, v in row.items() if k != "name" and v is not None)
        print(f"  {row['name']:<45}{rest}", flush=True)
    return rows


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def commit() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
