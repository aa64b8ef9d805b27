"""The keys of partitions as dense numbers, from batch to batch: numbering a batch costs what the batch has, whatever
the number of all keys.

A key is a row of words: a number for each value, and bits that say which are NULL. What fits a word is its own number;
a text has one in a table of texts. Rows and texts are found by hashing, in open tables of twice their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.kernels.jit import kernel, part

Codes = npt.NDArray[np.int64]
Words = npt.NDArray[np.int64]

_FREE = -1
#: Keys of one word below this are looked up directly.
_SMALL = 1 << 16
_FIRST_ROOM = 1 << 10
#: So many NULL bits a word has: the sign is left alone.
_BITS = 63


class KeyNumbers:
    """Numbers the distinct keys in the order in which they first appear; NULLs are equal."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = tuple(attributes)
        self.texts = [TextNumbers() for _ in attributes]  # empty for a column whose values fit a word
        self._width = len(self.attributes) + -(-len(self.attributes) // _BITS)
        self.use(np.zeros((0, self._width), dtype=np.int64))

    def __len__(self) -> int:
        return int(self._used[0])

    @property
    def nbytes(self) -> int:
        """How many bytes the tables take."""
        return int(self._rows.nbytes + self._table.nbytes + sum(t.nbytes for t in self.texts))

    @property
    def rows(self) -> Words:
        """The words of each key, by its number."""
        return self._rows[: len(self)]

    def use(self, rows: Words) -> None:
        """Takes these keys, numbered as they stand, instead of those it has."""
        if rows.ndim != 2 or rows.shape[1] != self._width:
            raise ValueError("the keys are of another number of columns")
        self._used = np.array([len(rows)])
        self._small = np.full(_SMALL if self._width == 2 else 0, _FREE, dtype=np.int64)
        if self._width == 2:
            _note_small(np.ascontiguousarray(rows, dtype=np.int64), np.arange(len(rows)), self._small)
        self._make_room(rows)

    def encode(self, columns: Sequence[pa.Array], kept: Codes | None = None) -> Codes:
        """The number of each event's key, or of the `kept` ones'; new keys are numbered as they come."""
        if len(columns) == 1 and _fits_a_word(columns[0].type) and not columns[0].null_count:
            return self._encode_plain(_words(columns[0], kept, self.texts[0]))
        words = np.zeros((len(columns[0]) if kept is None else len(kept), self._width), dtype=np.int64)
        for i, (column, texts) in enumerate(zip(columns, self.texts, strict=True)):
            words[:, i] = _words(column, kept, texts)
            if column.null_count:
                null = column.is_null().to_numpy(zero_copy_only=False)
                null = null if kept is None else null[kept]
                words[null, i] = 0
                words[null, len(columns) + i // _BITS] |= 1 << (i % _BITS)
        return self._number(words)

    def _encode_plain(self, words: Words) -> Codes:
        """The numbers of keys of one word each. Small ones, which most keys are, are looked up without hashing."""
        numbers = np.empty(len(words), dtype=np.int64)
        words = words.astype(np.int64, copy=False)
        done, some = 0, _FIRST_ROOM
        while (done := _number_small(words, self._small, numbers, done)) < len(words):
            rest = np.zeros((min(len(words) - done, some), self._width), dtype=np.int64)
            rest[:, 0] = words[done : done + len(rest)]
            numbers[done : done + len(rest)] = self._number(rest)
            done += len(rest)
            some *= 4  # there may be many large ones
        return numbers

    def _number(self, words: Words) -> Codes:
        numbers = np.empty(len(words), dtype=np.int64)
        done = 0
        while (done := _number_rows(words, self._rows, self._table, self._used, numbers, done)) < len(words):
            self._make_room(self.rows)
        if self._width == 2:
            _note_small(words, numbers, self._small)
        return numbers

    def keep(self, kept: Codes) -> None:
        """Forgets all keys but these, which are numbered anew in this order."""
        rows = self.rows[kept]
        for i, texts in enumerate(self.texts):
            if len(texts):
                used, rows[:, i] = np.unique(rows[:, i], return_inverse=True)
                texts.keep(used)
        self.use(rows)

    def _make_room(self, rows: Words) -> None:
        self._rows = np.empty((max(2 * len(rows), _FIRST_ROOM), self._width), dtype=np.int64)
        self._rows[: len(rows)] = rows
        self._table = _new_table(len(self._rows))
        if len(rows):  # a query without keys need not load the kernel
            _place_rows(self._rows, len(rows), self._table)


def comparable_keys(rows: Words, texts: Sequence[tuple[Any, Codes]]) -> tuple[list[Any], Codes]:
    """The keys in an order that does not depend on their numbers, and the number of each key in it.

    `texts` are the bytes and ends of each column's texts. The keys are the same where what is given first is equal.
    """
    words, sorted_texts = rows.copy(), []
    for i, (data, end) in enumerate(texts):
        if len(end) > 1:
            column = _as_binary(data, end)
            order = pc.array_sort_indices(column).to_numpy()
            sorted_texts.append(column.take(pa.array(order)))
            is_null = words[:, len(texts) + i // _BITS] >> (i % _BITS) & 1
            words[:, i] = np.where(is_null, 0, np.argsort(order)[words[:, i]])
    order = np.lexsort(words.T) if len(texts) else np.zeros(0, dtype=np.int64)
    return [words[order], *sorted_texts], order


class TextNumbers:
    """Numbers the distinct texts (or other bytes) of a column; text `n` is `data[end[n - 1]:end[n]]`."""

    def __init__(self) -> None:
        self._data = np.zeros(0, dtype=np.uint8)
        self._end = np.zeros(1, dtype=np.int64)  # with a 0 before the first
        self._used = np.zeros(1, dtype=np.int64)
        self._table = _new_table(0)

    def __len__(self) -> int:
        return int(self._used[0])

    @property
    def nbytes(self) -> int:
        """How many bytes the texts and their table take."""
        return int(self._data.nbytes + self._end.nbytes + self._table.nbytes)

    @property
    def end(self) -> Codes:
        """Where each text ends, after a first 0."""
        return self._end[: len(self) + 1]

    @property
    def data(self) -> Any:
        """The bytes of all texts, one after the other."""
        return self._data[: self._end[len(self)]]

    def use(self, data: Any, end: Codes) -> None:
        """Takes these texts, numbered as they stand."""
        self._used[0] = len(end) - 1
        self._make_room(data, end)

    def encode(self, texts: pa.LargeBinaryArray) -> Codes:
        """The number of each text; of a NULL, that of the empty one."""
        numbers = np.empty(len(texts), dtype=np.int64)
        if not len(texts):
            return numbers
        _, offsets, buffer = texts.buffers()
        end = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1].copy()
        data = np.array([] if buffer is None else np.frombuffer(buffer, dtype=np.uint8)[end[0] : end[-1]], np.uint8)
        end -= end[0]
        done = 0
        while True:
            known = (self._data, self._end, self._table, self._used)
            done = _number_texts(data, end, *known, numbers, done)
            if done == len(texts):
                return numbers
            self._make_room(self.data, self.end, int(end[done + 1] - end[done]))

    def keep(self, kept: Codes) -> None:
        """Forgets all texts but these, which are numbered anew in this order."""
        texts = _as_binary(self.data, self.end).take(pa.array(kept))
        self.__init__()  # type: ignore[misc]
        self.encode(texts)

    def _make_room(self, data: Any, end: Codes, longest: int = 0) -> None:
        """Room for twice as much as there is, and for a text of this length."""
        count = len(end) - 1
        self._data, self._end = (
            np.empty(2 * (len(data) + longest), dtype=np.uint8),
            np.empty(max(2 * count, _FIRST_ROOM) + 1, dtype=np.int64),
        )
        self._data[: len(data)] = data
        self._end[: len(end)] = end
        self._table = _new_table(len(self._end))
        _place_texts(self._data, self._end, count, self._table)


def _as_binary(data: Any, end: Codes) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(end)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(end) - 1, buffers)


def _new_table(room: int) -> Codes:
    return np.full(1 << (2 * room).bit_length(), _FREE, dtype=np.int64)


# ---------------------------------------------------------------- columns to words


def _words(column: pa.Array, kept: Codes | None, texts: TextNumbers) -> Words:
    """A word for each value, equal where the values are; of a NULL any word."""
    is_, type_ = pa.types, column.type
    if is_.is_dictionary(type_):
        if not _fits_a_word(type_.value_type) and len(column.dictionary) <= len(column):
            return _of_dictionary(column, kept, texts)
        column = column.dictionary_decode()
        type_ = column.type
    if not _fits_a_word(type_):
        taken = column if kept is None else column.take(pa.array(kept))
        return _of_dictionary(taken.dictionary_encode(), None, texts)
    if is_.is_null(type_):
        return np.zeros(len(column) if kept is None else len(kept), dtype=np.int64)
    if is_.is_floating(type_):
        # Adding 0 makes -0.0 the 0.0 that it is equal to; one NaN is as good as another.
        floats = column.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        floats[np.isnan(floats)] = np.nan
        whole: Words = floats.view(np.int64)
    elif is_.is_boolean(type_):
        whole = column.fill_null(False).to_numpy(zero_copy_only=False)
    else:
        integers = column.view(_INTEGERS[type_.bit_width])
        whole = (integers.fill_null(0) if integers.null_count else integers).to_numpy()
    return whole if kept is None else whole[kept]


_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def _fits_a_word(type_: pa.DataType) -> bool:
    is_ = pa.types
    return bool(
        is_.is_integer(type_)
        or is_.is_floating(type_)
        or is_.is_boolean(type_)
        or is_.is_temporal(type_)
        or is_.is_null(type_)
    )


def numbered_texts(column: pa.Array, texts: TextNumbers) -> Words:
    """The number of each text of the column; of a NULL any."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return _of_dictionary(encoded, None, texts)


def _of_dictionary(column: pa.DictionaryArray, kept: Codes | None, texts: TextNumbers) -> Words:
    """The numbers of texts, each text of the dictionary being looked up once."""
    values = column.dictionary
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.string())
    numbers = texts.encode(values.cast(pa.large_binary()))
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(0)
        numbers = numbers if len(numbers) else np.zeros(1, dtype=np.int64)
    codes = indices.to_numpy(zero_copy_only=False)
    taken: Words = numbers[codes if kept is None else codes[kept]]
    return taken


# ---------------------------------------------------------------- tables


@part
def _mixed(hashed: int, word: int) -> int:
    """Multiplies and folds: the last bits of what comes out depend on all of the word."""
    hashed = (hashed ^ word) * -7046029254386353131
    return hashed ^ (hashed >> 32)


@part
def _hash_of_row(words: Any, i: int) -> int:
    hashed = 0
    for w in range(words.shape[1]):
        hashed = _mixed(hashed, words[i, w])
    return hashed


@part
def _place_of_row(words: Any, i: int, rows: Any, table: Any) -> int:
    """Where in the table the row is, or would be."""
    mask = len(table) - 1
    place: int = _hash_of_row(words, i) & mask
    while table[place] != _FREE:
        known = table[place]
        same = True
        for w in range(rows.shape[1]):
            same = same and rows[known, w] == words[i, w]
        if same:
            break
        place = (place + 1) & mask
    return place


@kernel
def _number_rows(words: Any, rows: Any, table: Any, used: Any, numbers: Any, first: int) -> int:
    """Numbers the rows from `first` on; gives the row that there was no room for, or how many there are."""
    for i in range(first, len(words)):
        place = _place_of_row(words, i, rows, table)
        if table[place] == _FREE:
            if used[0] == len(rows):
                return i
            for w in range(rows.shape[1]):
                rows[used[0], w] = words[i, w]
            table[place] = used[0]
            used[0] += 1
        numbers[i] = table[place]
    return len(words)


@kernel
def _number_small(words: Any, small: Any, numbers: Any, first: int) -> int:
    """Looks the words up from `first` on; gives the first one that is not small or not known, or how many there are."""
    for i in range(first, len(words)):
        word = words[i]
        if word < 0 or word >= len(small) or small[word] == _FREE:
            return i
        numbers[i] = small[word]
    return len(words)


@kernel
def _note_small(rows: Any, numbers: Any, small: Any) -> None:
    """Notes the numbers of keys whose first word is small, and whose second says that it is not NULL."""
    for i in range(len(rows)):
        if rows[i, 1] == 0 and 0 <= rows[i, 0] < len(small):
            small[rows[i, 0]] = numbers[i]


@kernel
def _place_rows(rows: Any, count: int, table: Any) -> None:
    """Puts rows that differ from each other into an empty table."""
    for i in range(count):
        _put(table, _hash_of_row(rows, i), i)


@part
def _put(table: Any, hashed: int, number: int) -> None:
    mask = len(table) - 1
    place = hashed & mask
    while table[place] != _FREE:
        place = (place + 1) & mask
    table[place] = number


@part
def _hash_of_text(data: Any, first: int, last: int) -> int:
    hashed = last - first
    for b in range(first, last):
        hashed = _mixed(hashed, data[b])
    return hashed


@part
def _place_of_text(data: Any, first: int, last: int, known_data: Any, known_end: Any, table: Any) -> int:
    mask = len(table) - 1
    place: int = _hash_of_text(data, first, last) & mask
    while table[place] != _FREE:
        begin, end = known_end[table[place]], known_end[table[place] + 1]
        same = end - begin == last - first
        b = 0
        while same and b < last - first:
            same = data[first + b] == known_data[begin + b]
            b += 1
        if same:
            break
        place = (place + 1) & mask
    return place


@kernel
def _number_texts(
    data: Any, end: Any, known_data: Any, known_end: Any, table: Any, used: Any, numbers: Any, start: int
) -> int:
    """Numbers the texts from `start` on; gives the one that there was no room for, or how many there are."""
    for i in range(start, len(numbers)):
        first, last = end[i], end[i + 1]
        place = _place_of_text(data, first, last, known_data, known_end, table)
        if table[place] == _FREE:
            n = used[0]
            begin = known_end[n]
            if n + 1 >= len(known_end) or begin + last - first > len(known_data):
                return i
            for b in range(last - first):
                known_data[begin + b] = data[first + b]
            known_end[n + 1] = begin + last - first
            table[place] = n
            used[0] = n + 1
        numbers[i] = table[place]
    return len(numbers)


@kernel
def _place_texts(data: Any, end: Any, count: int, table: Any) -> None:
    """Puts texts that differ from each other into an empty table."""
    for i in range(count):
        _put(table, _hash_of_text(data, end[i], end[i + 1]), i)
