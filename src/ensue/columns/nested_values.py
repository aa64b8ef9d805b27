"""Fields of structs, elements of lists and values of maps over columns: of all rows at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.comparing import compare
from ensue.columns.conversions import plain
from ensue.columns.raw_arrays import Mask, Value, array_of, as_array, in_rows, length_of, missing, raw, truth
from ensue.data.events import integers
from ensue.data.schema import is_list

Positions = npt.NDArray[np.int64]
_FARTHEST = 2**63 - 1


def field(structs: Value, name: str) -> pa.Array:
    """The field of each struct; NULL where there is no struct."""
    array = as_array(structs)
    if pa.types.is_null(array.type):
        return array
    return pc.struct_field(array, [array.type.get_field_index(name)])


def element(of: Value, index: Value) -> pa.Array:
    """The element of each list, or the value of a key of each map; NULL where there is none."""
    rows = length_of(of, index)
    array = in_rows(of, rows)
    if pa.types.is_null(array.type):
        return array
    if pa.types.is_map(array.type):
        return _value_of_key(array, index)
    return _element(_with_offsets(array), index)


def _element(lists: pa.Array, index: Value) -> pa.Array:
    if pa.types.is_null(index.type):
        return pa.nulls(len(lists), lists.type.value_type)
    begin, end = _bounds(lists)
    number = np.broadcast_to(np.minimum(raw(index), _FARTHEST).astype(np.int64), len(lists))
    place = np.where(number > 0, begin + (number - 1), end + number)
    there = (number != 0) & (place >= begin) & (place < end)
    null = missing(lists, index)
    if null is not None:
        there &= ~null
    return _taken(lists.values, place, there)


def _value_of_key(maps: pa.Array, key: Value) -> pa.Array:
    """The value that belongs to the key; of two entries with one key, the later one counts."""
    begin, _ = _bounds(maps)
    lengths = _lengths(maps)
    row = np.repeat(np.arange(len(maps)), lengths)
    entry = _entries(begin, lengths)
    wanted = key if isinstance(key, pa.Scalar) else key.take(integers(row))
    found = truth(compare("=", plain(maps.keys.take(integers(entry))), wanted))
    place = np.full(len(maps), -1, dtype=np.int64)
    place[row[found]] = entry[found]
    return _taken(maps.items, place, place >= 0)


def length(lists: pa.Array) -> pa.Array:
    """The number of elements; NULL where there is no list."""
    return pc.list_value_length(lists).cast(pa.int64())


def contains(lists: Value, wanted: Value) -> pa.Array:
    """Whether an element of each list equals the value; if none does and one is NULL, that is not known."""
    rows = length_of(lists, wanted)
    array = _with_offsets(in_rows(lists, rows))
    lengths = _lengths(array)
    row = np.repeat(np.arange(len(array)), lengths)
    entry = _entries(_bounds(array)[0], lengths)
    other = wanted if isinstance(wanted, pa.Scalar) else wanted.take(integers(row))
    equal = compare("=", plain(array.values.take(integers(entry))), other)
    found, unknown = np.zeros(len(array), dtype=np.bool_), np.zeros(len(array), dtype=np.bool_)
    found[row[truth(equal)]] = True
    null = missing(equal)
    if null is not None:
        unknown[row[null]] = True
    none = missing(array, wanted)
    if none is not None:
        unknown |= none
    return array_of(found, unknown & ~found if none is None else (unknown & ~found) | none, pa.bool_())


# ---------------------------------------------------------------- where the entries of a row are


def _with_offsets(lists: pa.Array) -> pa.Array:
    """The lists in a form that has offsets."""
    if pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type):
        return lists
    assert is_list(lists.type)
    lengths = raw(pc.fill_null(length(lists), 0))
    null = missing(lists)
    mask = None if null is None else array_of(null, None, pa.bool_())
    return pa.LargeListArray.from_arrays(
        integers(np.concatenate([[0], np.cumsum(lengths)])), lists.flatten(), mask=mask
    )


def _bounds(nested: pa.Array) -> tuple[Positions, Positions]:
    """Where the entries of each row begin and end, in the array of all entries."""
    if not len(nested):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    offsets = raw(nested.offsets.cast(pa.int64()))
    return offsets[:-1], offsets[1:]


def _lengths(nested: pa.Array) -> Positions:
    """How many entries each row has: none, where it is NULL."""
    begin, end = _bounds(nested)
    null = missing(nested)
    lengths: Positions = np.where(False if null is None else null, 0, end - begin)
    return lengths


def _entries(begin: Positions, lengths: Positions) -> Positions:
    """The places of the entries of all rows, one row after the other."""
    before = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(begin - before[:-1], lengths) + np.arange(before[-1])


def _taken(entries: pa.Array, place: Positions, there: Mask) -> pa.Array:
    """The entries at these places, and NULL elsewhere."""
    if there.all():
        return entries.take(integers(place))
    return entries.take(array_of(np.where(there, place, 0), ~there, pa.int64()))
