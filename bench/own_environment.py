"""Python environments for programs whose dependencies differ from ours; they are kept in bench/.cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.spark_data import CACHE


def environment(name: str, packages: tuple[str, ...], *, install: bool = True) -> Path | str:
    """The Python of the environment, which is made if it is missing; or the reason why there is none."""
    folder = CACHE / name
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    if not install:
        return "it is not installed: python -m bench.spark installs it"
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "-q", *packages],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if not line.startswith("WARNING")]
            return f"{packages[0]} cannot be installed: {said[-1] if said else 'pip gave no reason'}"
    (folder / "ready").touch()
    return python
