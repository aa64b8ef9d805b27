"""Tables that grow."""

from __future__ import annotations

from typing import Any

import numpy as np


class GrowingTable:
    """A table of integers that grows at its end; a view of it costs nothing."""

    def __init__(self, columns: int) -> None:
        self._data = np.zeros((64, columns), dtype=np.int32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, *row: int) -> None:
        if self._size == len(self._data):
            self._data = np.concatenate([self._data, np.zeros_like(self._data)])
        self._data[self._size] = row
        self._size += 1

    def view(self) -> Any:
        return self._data[: self._size]
