"""Classes of events by more predicates than a word has bits: a class is a pair of a class by some and one by others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
#: Up to so many pairs, those that occur are counted in a table.
_TABLE = 1 << 20


class Pairs:
    """Numbers pairs of numbers as they occur, with the words of both sides as one."""

    def __init__(self) -> None:
        self.words: list[int] = []  # of each pair: those of its sides, which have no bit in common
        self._number: dict[tuple[int, int], int] = {}

    def numbered(self, left: Numbers, right: Any, left_words: list[int], right_words: list[int]) -> Numbers:
        """The number of the pair at each event; the words are those of the numbers of each side."""
        width = len(right_words)
        keys = left * width + right
        present = _present(keys, len(left_words) * width)
        of_present = np.empty(len(present), dtype=np.int64)
        for k, key in enumerate(present.tolist()):
            pair = divmod(key, width)
            if pair not in self._number:
                self._number[pair] = len(self.words)
                self.words.append(left_words[pair[0]] | right_words[pair[1]])
            of_present[k] = self._number[pair]
        found: Numbers = of_present[np.searchsorted(present, keys)]
        return found


def _present(keys: Numbers, most: int) -> Numbers:
    found: Numbers = np.flatnonzero(np.bincount(keys, minlength=1)) if most <= _TABLE else np.unique(keys)
    return found


def placed(word: int, bits: list[int]) -> int:
    """The word with its bits moved to the places of these.

    >>> bin(placed(0b101, [1 << 1, 1 << 2, 1 << 70])).count("1"), placed(0b01, [1 << 1, 1 << 2])
    (2, 2)
    """
    return sum(bit for k, bit in enumerate(bits) if word >> k & 1)
