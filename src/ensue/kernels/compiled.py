"""Says when the kernels are about to be compiled: once after an installation, then they are on disk."""

from __future__ import annotations

from pathlib import Path

from ensue.events import log
from ensue.kernels import evaluate


def say_if_not_compiled() -> None:
    """A line in the log before the first use, which takes some seconds; nothing later, or without the compiler."""
    stats = getattr(evaluate.advance, "stats", None)
    if stats is not None and not any(Path(stats.cache_path).glob("evaluate.advance-*.nbi")):
        log.warning("compiling the engine for this machine: this takes some seconds, once")
