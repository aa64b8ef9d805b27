"""Events to classes: the truth of all predicates at an event, folded to one small number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.automata.predicates import Predicate, Test, TypeIs
from ensue.errors import EngineError
from ensue.events import one_chunk
from ensue.kernels.jit import kernel
from ensue.kernels.lookback import LookBack, spell_out
from ensue.kernels.masks import holds
from ensue.language import ast

Words = npt.NDArray[np.uint64]
Classes = npt.NDArray[np.uint16]
Codes = npt.NDArray[np.int32]

#: Up to so many predicates, classes are looked up in a table of all words.
_TABLE_BITS = 16
_NO_CLASS = np.uint16(2**16 - 1)
_MOST_CLASSES = 2**16 - 1


class Classifier:
    """Evaluates the predicates of a query over batches, and numbers the words that occur.

    Predicates whose bit is in `given` come evaluated with the events.
    """

    def __init__(self, predicates: Sequence[Predicate], given: int = 0) -> None:
        self.words: list[int] = []  # the word of each class
        wanted = [(k, p) for k, p in enumerate(predicates) if not given >> k & 1]
        self._types = {p.name: np.uint64(1 << k) for k, p in wanted if isinstance(p, TypeIs)}
        shifted: dict[str, tuple[str, int]] = {}
        self._tests = [(np.uint64(k), spell_out(p.expression, shifted)) for k, p in wanted if isinstance(p, Test)]
        self.look_back = LookBack(shifted.values())
        self._shifted = frozenset(shifted)
        self._table = np.full(1 << len(predicates), _NO_CLASS) if len(predicates) <= _TABLE_BITS else None
        self._class: dict[int, int] = {}

    def classify(
        self, table: pa.Table, types: pa.Array, keys: npt.NDArray[np.int64] | None, given: Words | None = None
    ) -> tuple[Codes, Classes]:
        """A code for each event of a batch, and the class of each code."""
        codes, of_code = self._type_words(types)
        columns = self.look_back.columns(table, keys)
        if not self._tests and given is None:
            return codes, self._fold(of_code)  # a word for each type is all there is to look at
        words = of_code[codes]
        if given is not None:
            words |= given
        for bit, expression in self._tests:
            words |= self._mask(expression, table, columns).astype(np.uint64) << bit
        return self._fold(words).astype(np.int32), np.arange(len(self.words), dtype=np.uint16)

    def _type_words(self, types: pa.Array) -> tuple[Codes, Words]:
        """A code for each event's type, and the word of each code; the last one is for events without a type."""
        encoded = types if pa.types.is_dictionary(types.type) else types.dictionary_encode()
        names = encoded.dictionary.to_pylist()
        words = np.array([self._types.get(n, 0) for n in names] + [0], dtype=np.uint64)
        indices = encoded.indices
        if indices.null_count:
            indices = indices.cast(pa.int32()).fill_null(len(names))
        codes: Codes = indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        return codes, words

    def _mask(
        self, expression: ast.Expression, table: pa.Table, shifted: Mapping[str, pa.Array]
    ) -> npt.NDArray[np.bool_]:
        names = {n.name for n in ast.find(expression, ast.Name)}
        columns = {n: shifted[n] if n in self._shifted else one_chunk(table.column(n)) for n in names}
        return holds(expression, columns, table.num_rows)

    def _fold(self, words: Words) -> Classes:
        if self._table is not None:
            classes: Classes = self._table[words]
            if (classes == _NO_CLASS).any():
                for word in np.unique(words[classes == _NO_CLASS]):
                    self._table[word] = self._number(int(word))
                classes = self._table[words]
            return classes
        distinct, places = np.unique(words, return_inverse=True)
        numbers = [self._number(int(w)) for w in distinct]
        folded: Classes = np.array(numbers, dtype=np.uint16)[places]
        return folded

    def _number(self, word: int) -> int:
        if word not in self._class:
            if len(self.words) == _MOST_CLASSES:
                raise EngineError(f"the query's conditions tell more than {_MOST_CLASSES:,} classes of events apart")
            self._class[word] = len(self.words)
            self.words.append(word)
        return self._class[word]


@kernel
def take_busy(codes: Any, class_of: Any, idle: Any, times: Any, base: int, found: Any, positions: Any, at: Any) -> int:
    """The class, the position and the time of each event that is not idle; gives how many there are.

    Without times, none are taken. The outputs have room for all events: each is written, and stays where it counts.
    """
    count = 0
    timed = len(times) > 0
    for i in range(len(codes)):
        class_ = class_of[codes[i]]
        found[count] = class_
        positions[count] = base + i
        if timed:
            at[count] = times[i]
        count += not idle[class_]
    return count
