"""CONSUME BY among matches that are known: those that start behind the last end that was reported, key by key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.envelope import Parts
from ensue.data.events import integers
from ensue.engines.keys_of_events import codes_of
from ensue.engines.protocol import Positions

#: The last end of a key that was reported, in a column that no attribute is named like.
_END = "\0end"
_NONE = -1


class Consumption:
    """Remembers the last end of each key. Of one end, the `longest_only` or the first `limit` are reported, or all."""

    def __init__(self, *, longest_only: bool = False, limit: int | None = None) -> None:
        self._how = (longest_only, limit or 0)
        self._consumed: pa.Table | None = None  # each key of which something was reported, and the last end of these

    def reported(self, keys: pa.Table, starts: Positions, ends: Positions) -> npt.NDArray[np.bool_]:
        """Which of the matches are reported; those of one end are neighbours, and the ends of each key in order."""
        from ensue.kernels.following import take_unconsumed  # numba is loaded where it is used

        both = keys if self._consumed is None else pa.concat_tables([self._consumed.select(keys.column_names), keys])
        (codes,) = codes_of([both])
        before = len(both) - len(keys)
        consumed = np.full(int(codes.max(initial=_NONE)) + 1, _NONE, dtype=np.int64)
        if self._consumed is not None:
            consumed[codes[:before]] = self._consumed.column(_END).to_numpy()
        kept = np.empty(len(starts), dtype=np.bool_)
        take_unconsumed(codes[before:], starts, ends, consumed, *self._how, kept)
        numbers, first = np.unique(codes, return_index=True)
        self._consumed = both.take(integers(first)).append_column(_END, integers(consumed[numbers])).combine_chunks()
        return kept

    def save(self) -> Parts:
        return {} if self._consumed is None else {"consumed": self._consumed}

    def load(self, parts: Parts) -> None:
        self._consumed = parts.get("consumed")
