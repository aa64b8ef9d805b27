"""Hashes of the rows of a table: equal for equal values, whatever Arrow type stores them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.events import integers, numbers, one_chunk
from ensue.errors import DataError
from ensue.kernels.value_hashes import Hashes, Words, hashes_of_lists, hashes_of_texts, mix_words, new_hashes
from ensue.language.ast import NANOSECONDS

#: Stands for a value that is NULL.
_NULL = np.uint64(0x452821E638D01377)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS_A_DAY = 86_400


def hashes_of_rows(columns: Sequence[pa.ChunkedArray | pa.Array], count: int) -> Hashes:
    """The hash of each of `count` rows: of its values in these columns, in their order."""
    hashes = new_hashes(count)
    for column in columns:
        for words in words_of(_whole(column)):
            mix_words(words, hashes)
    return hashes


def words_of(column: pa.Array) -> list[Words]:
    """Words that tell the values of a column apart: the same value has the same words in every type that can hold it.

    >>> words_of(pa.array([7], pa.int8())) == words_of(pa.array([7], pa.int64()))
    True
    """
    if not column.null_count:
        return _words(column)
    null = column.is_null().to_numpy(zero_copy_only=False)
    return [np.where(null, _NULL, words) for words in _words(column)]


def _words(column: pa.Array) -> list[Words]:
    """The words of the values; those of NULLs are of no importance."""
    is_, type_ = pa.types, column.type
    if is_.is_dictionary(type_):
        places = numbers(pc.fill_null(column.indices.cast(pa.int64()), 0))
        known = words_of(column.dictionary)
        return [words[places] for words in known] if len(column.dictionary) else [_no_words(len(column))]
    if is_.is_null(type_):
        return [_no_words(len(column))]
    if is_.is_boolean(type_):
        return [_of_integers(column.cast(pa.int8()))]
    if is_.is_integer(type_):
        return [_of_integers(column)]
    if is_.is_floating(type_):
        return [_of_floats(column)]
    if is_.is_timestamp(type_) or is_.is_duration(type_):
        return _of_instants(numbers(pc.fill_null(column.cast(pa.int64()), 0)), _PER_SECOND[type_.unit])
    if is_.is_date(type_):
        days = column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        return _of_instants(numbers(pc.fill_null(days, 0)) * _SECONDS_A_DAY, 1)
    if is_.is_struct(type_):
        fields = [pc.struct_field(column, [i]) for i in range(type_.num_fields)]
        return _both(hashes_of_rows(fields, len(column)))
    if is_.is_map(type_):
        return _of_lists(column, hashes_of_rows([column.keys, column.items], len(column.keys)))
    if _is_list(type_):
        return _of_lists(column, hashes_of_rows([pc.list_flatten(column)], len(pc.list_flatten(column))))
    return _of_texts(column)


def _no_words(count: int) -> Words:
    return np.full(count, _NULL, dtype=np.uint64)


def _of_integers(column: pa.Array) -> Words:
    if pa.types.is_uint64(column.type):
        return numbers(pc.fill_null(column, 0))
    return numbers(pc.fill_null(column.cast(pa.int64()), 0)).view(np.uint64)


def _of_floats(column: pa.Array) -> Words:
    """The bits, with one zero and one NaN."""
    values = numbers(pc.fill_null(column.cast(pa.float64()), 0.0)) + 0.0
    return np.where(np.isnan(values), np.nan, values).view(np.uint64)


def _of_instants(ticks: npt.NDArray[np.int64], per_second: int) -> list[Words]:
    """Seconds and nanoseconds, so that the unit makes no difference."""
    seconds, rest = np.divmod(ticks, per_second)
    return [seconds.view(np.uint64), (rest * (NANOSECONDS["s"] // per_second)).view(np.uint64)]


def _of_lists(column: pa.Array, elements: Hashes) -> list[Words]:
    if pa.types.is_map(column.type):
        lengths = np.diff(numbers(column.offsets.cast(pa.int64())))
        lengths = np.where(column.is_null().to_numpy(zero_copy_only=False), 0, lengths)
    else:
        lengths = numbers(pc.fill_null(pc.list_value_length(column).cast(pa.int64()), 0))
    return _both(hashes_of_lists(np.concatenate([[0], np.cumsum(lengths)]), elements))


def _of_texts(column: pa.Array) -> list[Words]:
    """Of texts and bytes; what is neither is written as a text."""
    is_ = pa.types
    try:
        if is_.is_binary(column.type) or is_.is_large_binary(column.type) or is_.is_fixed_size_binary(column.type):
            plain = column.cast(pa.large_binary())
        else:
            plain = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise DataError(
            f"values of type {column.type} cannot tell events apart: name the columns that can, with id='...'"
        ) from None
    plain = plain.fill_null("" if is_.is_large_string(plain.type) else b"")
    _, offsets, data = plain.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[plain.offset : plain.offset + len(plain) + 1]
    content = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return _both(hashes_of_texts(ends, content))


def _both(hashes: Hashes) -> list[Words]:
    return [np.ascontiguousarray(hashes[:, 0]), np.ascontiguousarray(hashes[:, 1])]


def _is_list(type_: pa.DataType) -> bool:
    is_ = pa.types
    return bool(is_.is_list(type_) or is_.is_large_list(type_) or is_.is_fixed_size_list(type_))


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return one_chunk(column) if isinstance(column, pa.ChunkedArray) else column


def as_columns(hashes: Hashes) -> tuple[pa.Array, pa.Array]:
    """The two words of each hash as columns that travel with events."""
    low, high = (integers(np.ascontiguousarray(hashes[:, i]).view(np.int64)) for i in range(2))
    return low, high


def of_columns(low: pa.ChunkedArray, high: pa.ChunkedArray) -> Hashes:
    """The hashes again."""
    words = [numbers(one_chunk(column)).view(np.uint64) for column in (low, high)]
    return np.stack(words, axis=1)


_HEX = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype=np.uint16)


def hex_texts(hashes: Hashes) -> pa.Array:
    """Each hash as a text of 32 digits, the same on every machine."""
    data = np.ascontiguousarray(
        _HEX[np.ascontiguousarray(hashes.astype(">u8")).view(np.uint8).reshape(len(hashes), 16)]
    )
    offsets = np.arange(len(hashes) + 1, dtype=np.int32) * 32
    return pa.Array.from_buffers(pa.string(), len(hashes), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
