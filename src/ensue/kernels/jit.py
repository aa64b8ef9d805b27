"""How kernels are compiled: once, kept on disk, and run without Python's lock.

Most of the time that a compiler takes goes into reading Python, so each function is compiled by itself, once, and
linked into those that call it. Numba's own inlining would read it again wherever it is called (measured: the first
query over stored values took 45 s of processor time to compile with it).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types

from ensue.kernels.compiling import tell_that_nothing_is_kept, with_care
from ensue.kernels.kernels_on_disk import drop_stale

#: Says of an index in a hot loop that it is not negative: else each access first makes the last element out of -1, with
#: registers that such a loop has not left (measured: a quarter of the time of an event). Without the compiler, NumPy
#: refuses a negative one.
at = np.uintp

#: What no function here does: counting references to the arrays that it is given. That is an atomic operation for each
#: array that is read out of a tuple or viewed, and threads that share arrays wait for each other at it (measured: half
#: of the time of an event with output).
_UNCOUNTED = {"_nrt": False}
#: No code for calls from Python, which takes as long to compile as a small function itself.
_INNER = {"no_cpython_wrapper": True}


def read_only(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Kernels are compiled anew for what may be written to: columns out of Arrow may not, so none may."""
    view = column.view()
    view.flags.writeable = False
    return view


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles a function that is called from Python. It makes no arrays."""
    return _called_from_python(function, tell=False)


def evaluator(function: Callable[..., Any]) -> Any:
    """The same, for a function that takes seconds to compile, so that the user is told."""
    return _called_from_python(function, tell=True)


def inner(function: Callable[..., Any]) -> Any:
    """Compiles a function that only kernels call: a call from Python would crash. It makes no arrays."""
    return _compiled(function, _UNCOUNTED | _INNER)


def inlined(function: Callable[..., Any]) -> Any:
    """The same for one that is so small, or called so often, that its callers take it in."""
    return _compiled(function, _UNCOUNTED | _INNER | {"forceinline": True})


def part(function: Callable[..., Any]) -> Any:
    """Marks a part of a kernel, cut out to be read by itself: the compiler reads it together with what calls it."""
    return njit(inline="always")(function)


def allocating(function: Callable[..., Any]) -> Any:
    """Compiles a function that makes arrays, which are counted, and that Python or a kernel calls."""
    return _compiled(function, {"_nrt": True})


def _keep_what_can_be_kept(made: Any) -> None:
    """Keeps nothing on disk that is compiled for a user's function: whoever reads it would need that module.

    A full disk is no reason to answer no query: what is compiled is used, and not kept.
    """
    save = made._cache.save_overload

    def save_ours(signature: Any, overload: Any) -> None:
        arguments = getattr(signature, "args", signature)
        if not any(isinstance(type_, types.Dispatcher) for type_ in arguments):
            try:
                save(signature, overload)
            except OSError as e:
                tell_that_nothing_is_kept(e)

    made._cache.save_overload = save_ours


def _called_from_python(function: Callable[..., Any], *, tell: bool) -> Any:
    made = _compiled(function, _UNCOUNTED)
    if not hasattr(made, "compile"):  # without the compiler
        return made
    return with_care(made, tell=tell, kept=made.stats.cache_path is not None)


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    options = {"nogil": True, "forceinline": False, "no_cfunc_wrapper": True, **options}
    try:
        made = njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder where what is compiled can be kept: not even one of the user
        made = njit(**options)(function)
    template = getattr(made, "get_call_template", None)
    if template is not None:
        if made.stats.cache_path is not None:
            drop_stale(Path(made.stats.cache_path))
            _keep_what_can_be_kept(made)
        # Numba would compile a function anew for each constant that it is called with.
        made.get_call_template = lambda args, kws: template(tuple(map(types.unliteral, args)), kws)
    return made
