"""Texts as arrays of characters, for what Arrow's kernels do only with one pattern, or one place, for all rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.raw_arrays import Integers, Mask, Value, array_of, as_array, length_of, missing

#: Of 8 bits where all are ASCII, and else of 32.
Characters = npt.NDArray[Any]
#: So many bytes of text are looked at together: their characters take some ten times the memory.
_BLOCK = 1 << 20


class Texts(NamedTuple):
    """Text `k` is `characters[first[k]:first[k] + length[k]]`."""

    characters: Characters
    first: Integers
    length: Integers

    def rows(self, rows: Integers | Mask) -> Texts:
        """Some of the texts, on the same characters."""
        return Texts(self.characters, self.first[rows], self.length[rows])


def over_characters(compute: Callable[..., Mask | Texts], *values: Value) -> pa.Array:
    """What a function gives of texts, a block of rows at a time; it is NULL where one of the arguments is.

    `compute` gets `Texts` for texts, the empty one for NULL, and any other argument as it is. It gives texts, or truth.
    """
    chunks = []
    for begin, end in _blocks(length_of(*values), values):
        part = [v.slice(begin, end - begin) if isinstance(v, pa.Array) else v for v in values]
        null = missing(*part)
        found = compute(*(_texts(v, end - begin) if is_text(v) else v for v in part))
        if isinstance(found, Texts):
            chunks.append(_column(found, None if null is None else np.broadcast_to(null, end - begin)))
        else:
            chunks.append(array_of(found, null, pa.bool_()))
    return pa.concat_arrays(chunks)


def is_text(value: Value) -> bool:
    return bool(pa.types.is_string(value.type) or pa.types.is_large_string(value.type))


def _blocks(rows: int, values: tuple[Value, ...]) -> list[tuple[int, int]]:
    """Where the rows are cut so that each piece has little text; there is one piece at least."""
    size = np.zeros(rows + 1, dtype=np.int64)
    for v in filter(is_text, values):
        offsets = _offsets(as_array(v))
        size += offsets - offsets[0] if isinstance(v, pa.Array) else np.arange(rows + 1) * (offsets[1] - offsets[0])
    cuts = np.searchsorted(size, np.arange(_BLOCK, size[-1], _BLOCK))
    bounds = np.unique(np.concatenate([[0], cuts, [rows]])).tolist()
    return list(itertools.pairwise(bounds)) or [(0, 0)]


def _offsets(array: pa.Array) -> Integers:
    """Where each text begins and ends, in bytes of the array's memory."""
    type_ = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
    if not len(array):
        return np.zeros(1, dtype=np.int64)
    found = np.frombuffer(array.buffers()[1], type_, len(array) + 1, type_.itemsize * array.offset)
    return found.astype(np.int64)


def texts_of(texts: pa.Array) -> Texts:
    """The characters of a column; the empty text for NULL."""
    return _texts(texts, len(texts))


def _texts(value: Value, rows: int) -> Texts:
    array = as_array(value)
    if array.null_count:
        array = pc.fill_null(array, "")
    offsets = _offsets(array)
    text = memoryview(array.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    characters, bounds = np.frombuffer(text, np.uint8), offsets - offsets[0]
    if characters.max(initial=0) >= 0x80:
        # A byte that continues a character looks like 10xxxxxx.
        before = np.concatenate([[0], np.cumsum((characters & 0xC0) != 0x80)])
        characters, bounds = np.frombuffer(str(text, "utf-8").encode("utf-32-le"), np.uint32), before[bounds]
    first, length = bounds[:-1], np.diff(bounds)
    if isinstance(value, pa.Scalar):
        first, length = np.repeat(first, rows), np.repeat(length, rows)
    return Texts(characters, first, length)


def places_of(first: Integers, length: Integers) -> Integers:
    """The places of each range, one range after the other.

    >>> places_of(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    found: Integers = np.repeat(first - (ends - length), length) + np.arange(total)
    return found


def written_out(texts: Texts) -> Characters:
    """The characters of all texts, one text after the other."""
    first, length = texts.first, texts.length
    if len(first) and (first[1:] == first[:-1] + length[:-1]).all():
        return texts.characters[first[0] : first[-1] + length[-1]]
    return texts.characters[places_of(first, length)]


def _column(texts: Texts, null: Mask | None) -> pa.Array:
    characters = written_out(texts)
    offsets = np.concatenate([[0], np.cumsum(texts.length)])
    data = characters.tobytes()
    if characters.dtype != np.uint8:
        data = data.decode("utf-32-le").encode("utf-8")
        width = 1 + (characters >= 0x80) + (characters >= 0x800) + (characters >= 0x10000)
        offsets = np.concatenate([[0], np.cumsum(width)])[offsets]
    validity = None
    if null is not None:
        validity = pa.py_buffer(np.packbits(~null, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(texts.length), buffers)
