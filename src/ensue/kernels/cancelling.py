"""Insertions and deletions of the same things, in the order in which they came: which of them remain."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ensue.kernels.jit import kernel, read_only
from ensue.kernels.value_hashes import Hashes

Mask = npt.NDArray[np.bool_]


def remaining(ids: Hashes, signs: npt.NDArray[np.int64]) -> Mask:
    """Which entries remain after each deletion has cancelled one insertion of the same id.

    `signs` has 1 for an insertion and -1 for a deletion. A deletion cancels the latest insertion before it that is
    still there; if there is none, it cancels the next one. Entries are in the order in which they came.
    """
    order = np.lexsort((ids[:, 1], ids[:, 0]))  # it is stable, so entries of one id stay in their order
    remain = np.ones(len(ids), dtype=np.bool_)
    _cancel(read_only(ids), read_only(signs), read_only(order), np.empty(len(ids), dtype=np.int64), remain)
    return remain


@kernel
def _cancel(ids: Any, signs: Any, order: Any, open_: Any, remain: Any) -> None:
    """`open_` is a stack of what has not been cancelled; all of it has the same sign."""
    depth = 0
    for k in range(len(order)):
        i = order[k]
        if k and (ids[i, 0] != ids[order[k - 1], 0] or ids[i, 1] != ids[order[k - 1], 1]):
            depth = 0
        if depth and signs[open_[depth - 1]] != signs[i]:
            depth -= 1
            remain[open_[depth]] = False
            remain[i] = False
        else:
            open_[depth] = i
            depth += 1
