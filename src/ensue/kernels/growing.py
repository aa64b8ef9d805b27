"""Arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np


class Growing:
    """An array of integers that grows at its end; a view of it costs nothing."""

    def __init__(self, *first: int) -> None:
        self._data = np.zeros(64, dtype=np.int32)
        self._size = 0
        for value in first:
            self.append(value)

    def __len__(self) -> int:
        return self._size

    def append(self, value: int) -> None:
        if self._size == len(self._data):
            self._data = np.concatenate([self._data, np.zeros_like(self._data)])
        self._data[self._size] = value
        self._size += 1

    def view(self) -> Any:
        return self._data[: self._size]
