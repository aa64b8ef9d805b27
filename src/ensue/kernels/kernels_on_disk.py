"""The compiled kernels on disk."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from ensue.kernels import evaluate


def folder() -> Path | None:
    """Where compiled kernels are kept; None where they are not, or where there is no compiler."""
    path = getattr(getattr(evaluate.advance, "stats", None), "cache_path", None)
    return None if path is None else Path(path)


@cache
def drop_stale() -> None:
    """Once a process: drops what an older version of this library or of Numba has compiled.

    Numba looks at the file of a function only, and not at the files of those that are linked into it.
    """
    kept = folder()
    if kept is None or not kept.is_dir():
        return
    changed = _latest_change(Path(__file__).parent.glob("*.py"))
    for index in kept.glob("*.nbi"):
        if _latest_change([index]) < changed:
            index.unlink(missing_ok=True)
        else:
            _drop_if_stale(index)


def _latest_change(files: Iterable[Path]) -> int:
    found = 0
    for file in files:
        with suppress(OSError):  # another process has removed it just now
            found = max(found, file.stat().st_mtime_ns)
    return found


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
