"""What is done and said while kernels are compiled."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core.event import Event, Listener, install_listener

from ensue.data.events import log

#: What the user was told of in this process, so as to tell it once: several threads may need the same kernel.
_told: set[tuple[Any, ...]] = set()


class _Teller(Listener):
    """Tells the user when the first function of a kernel is compiled. If all are on disk, nothing is told."""

    def __init__(self, key: tuple[Any, ...], kept: bool) -> None:
        self._key, self._kept = key, kept

    def on_start(self, event: Event) -> None:
        if self._key in _told:
            return
        _told.add(self._key)
        if self._kept:
            log.warning(
                "compiling the engine for queries of this kind: some 3 to 8 seconds of processor time, once on this "
                "machine; 'ensue prepare' does it beforehand"
            )
        else:
            log.warning(
                "compiling the engine for queries of this kind: some 3 to 8 seconds of processor time in each process, "
                "because no folder for compiled kernels can be written to; NUMBA_CACHE_DIR names another"
            )

    def on_end(self, event: Event) -> None:
        pass


@cache
def _tell_once(reason: str) -> None:
    log.warning("what was compiled cannot be kept on disk (%s): the next process compiles it again", reason)


def tell_that_nothing_is_kept(error: OSError) -> None:
    """Once for each reason, whatever the number of kernels."""
    _tell_once(error.strerror or str(error))


def with_care(made: Any, *, tell: bool, kept: bool) -> Any:
    """Lets a kernel be compiled without collections of garbage; with `tell`, the user is told that it takes long."""
    compile_kernel = made.compile

    def compile_with_care(signature: Any) -> Any:
        if signature in made.overloads:
            return compile_kernel(signature)
        if not tell:
            with _without_collections():
                return compile_kernel(signature)
        began = time.thread_time()
        key = (made.py_func, signature)
        with install_listener("numba:compile", _Teller(key, kept)), _without_collections():
            done = compile_kernel(signature)
        if key in _told:
            log.info("compiled in %.1f s of processor time", time.thread_time() - began)
        return done

    made.compile = compile_with_care
    return made


@contextmanager
def _without_collections() -> Iterator[None]:
    """The compiler keeps nearly all that it makes, and looking through it for garbage takes an eighth of its time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
