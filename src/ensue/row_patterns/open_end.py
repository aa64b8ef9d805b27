"""Rows to which more will come: what is known of them besides the rows, and what the search says of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


@dataclass
class OpenEnd:
    """A mark for each row, and what is known of each partition.

    `starts` says whether a match may begin at the row, `is_first` whether the row is the first of its partition of all
    that ever came, and `is_last` whether it is the last before the `edge` of its partition: from there on, not all is
    known that conditions and measures ask. `numbers` counts the matches of the partition before these rows. No row will
    come with a time up to `passed`, in nanoseconds. The search fills `waits`: what begins at the row is not decided.
    """

    starts: Mask
    is_first: Mask
    is_last: Mask
    edge: Integers
    numbers: Integers
    passed: int | None
    waits: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.waits = np.zeros(len(self.starts), dtype=np.bool_)

    def frontier(self, begins: Integers) -> Integers:
        """For each partition: the row from which on nothing is decided."""
        found = self.edge.copy()
        rows = np.flatnonzero(self.waits)
        found[np.searchsorted(begins, rows, side="right") - 1] = rows
        return found
