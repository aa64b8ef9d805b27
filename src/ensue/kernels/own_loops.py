"""Functions of the user's own for one row, compiled by Numba into loops over columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.core.errors import NumbaError

from ensue.errors import EngineError

Numbers = npt.NDArray[Any]
_OF_NUMPY = {"bool": types.boolean, "int64": types.int64, "float64": types.float64}


def mapped(
    function: Callable[..., Any], columns: Sequence[Numbers], returns: str
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """The function of each row, and where it raised an error: there it has no result."""
    run = compiled(function, tuple(c.dtype.name for c in columns), returns)
    found = np.zeros(len(columns[0]), dtype=returns)
    failed = np.zeros(len(found), dtype=np.bool_)
    run(found, failed, *columns)
    return found, failed


@cache
def compiled(function: Callable[..., Any], takes: tuple[str, ...], returns: str) -> Any:
    """The loop; raises EngineError if Numba does not compile the function for numbers of these types."""
    names = ", ".join(f"c{k}" for k in range(len(takes)))
    row = ", ".join(f"c{k}[row]" for k in range(len(takes)))
    # Numba takes no tuple of columns of several types by a number, so the loop is written for so many columns.
    text = (
        f"def loop(found, failed, {names}):\n"
        "    for row in range(found.size):\n"
        "        try:\n"
        f"            found[row] = function({row})\n"
        "        except Exception:\n"
        "            failed[row] = True\n"
    )
    made: dict[str, Any] = {"function": njit(getattr(function, "py_func", function))}
    exec(text, made)
    columns = [types.Array(_OF_NUMPY[t], 1, "C", readonly=True) for t in takes]
    outputs = [types.Array(_OF_NUMPY[returns], 1, "C"), types.Array(types.boolean, 1, "C")]
    try:
        made["function"].compile(tuple(_OF_NUMPY[t] for t in takes))
        return njit(types.void(*outputs, *columns), nogil=True)(made["loop"])
    except (NumbaError, TypeError, NotImplementedError) as e:
        reason = [line.strip() for line in str(e).splitlines() if line.strip()]
        told = reason[1] if len(reason) > 1 and reason[0].startswith("Failed in") else (reason or [type(e).__name__])[0]
        name = getattr(function, "__name__", repr(function))
        raise EngineError(f"Numba does not compile the function '{name}': {told}") from None
