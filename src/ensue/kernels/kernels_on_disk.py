"""The compiled kernels on disk.

Numba keeps what it has compiled beside each source file, and compiles a function anew when that file has changed. It
does not see that a function which was compiled into this one has changed, or a number that it got from elsewhere. So
the sources of all that kernels are made of are compared as one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

#: The rooms whose functions and numbers are compiled into kernels.
_ROOMS = ("kernels", "automata", "logic")
_NOTE = "ensue-sources"


@cache
def drop_stale(kept: Path) -> None:
    """Once a process: drops what was compiled from other sources, as by an older version of this library."""
    note, sources = kept / _NOTE, _sources()
    try:
        if note.exists() and note.read_text() == sources:
            return
        for index in kept.glob("*.nbi"):
            index.unlink(missing_ok=True)
        new = kept / f"{_NOTE}.{os.getpid()}"
        new.write_text(sources)
        new.replace(note)  # at once, because other processes may do the same
    except OSError:
        pass  # a folder that cannot be written to is one that is not used


@cache
def _sources() -> str:
    """A digest of the sources."""
    return digest_of(Path(__file__).parent.parent / room for room in _ROOMS)


def digest_of(folders: Iterable[Path]) -> str:
    """A digest of all modules in the folders and below them."""
    digest = hashlib.blake2b(digest_size=16)
    for source in sorted(path for top in folders for path in top.rglob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()
