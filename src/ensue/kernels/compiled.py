"""The compiled kernels on disk: they are made once after an installation, which takes some seconds and is said."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

from ensue.data.events import log
from ensue.kernels import evaluate


@cache
def make_ready(kernel: str) -> None:
    """Once a process: says when the kernels are about to be compiled, and drops what an older version compiled."""
    stats = getattr(evaluate.advance, "stats", None)
    if stats is None:  # without the compiler
        return
    folder = Path(stats.cache_path)
    for index in folder.glob("*.nbi"):
        _drop_if_stale(index)
    if not any(folder.glob(f"{kernel}-*.nbi")):
        log.warning("compiling the engine for this machine: this takes some seconds, once")


def _drop_if_stale(index: Path) -> None:
    """Removes an index that speaks of classes that are no more: Numba would fail on it instead of compiling anew."""
    try:
        with index.open("rb") as file:
            pickle.load(file)  # the version of Numba
            pickle.loads(file.read())
    except (ImportError, AttributeError, EOFError, pickle.UnpicklingError):
        index.unlink(missing_ok=True)
    except OSError:
        pass  # another process has removed it just now
