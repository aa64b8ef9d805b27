"""How kernels are compiled: once, kept on disk, and run without Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

#: Says of an index in a hot loop that it is not negative: else each access first makes the last element out of -1, with
#: registers that such a loop has not left (measured: a quarter of the time of an event). Without the compiler, NumPy
#: refuses a negative one.
at = np.uintp


def read_only(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Kernels are compiled anew for what may be written to: columns out of Arrow may not, so none may."""
    view = column.view()
    view.flags.writeable = False
    return view


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles a function that makes no arrays, so that it need not count references to those it is given.

    Counting is an atomic operation for each array that is read out of a tuple or viewed, and threads that share arrays
    wait for each other at it (measured: half of the time of an event with output). The switch is not a public option
    of Numba's: without it the kernels are slower, and the same.
    """
    return _compiled(function, counted=False)


def allocating(function: Callable[..., Any]) -> Any:
    """Compiles a function that makes arrays or lists and is called from a `kernel`, which it must not take after."""
    return _compiled(function, counted=True)


def _compiled(function: Callable[..., Any], *, counted: bool) -> Any:
    option: dict[str, Any] = {"_nrt": counted}
    try:
        return njit(cache=True, nogil=True, **option)(function)
    except KeyError:
        return njit(cache=True, nogil=True)(function)
