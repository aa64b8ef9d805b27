"""Columns as the Python values that the reference computes with: structs and maps are dicts, lists are lists."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pyarrow as pa

from ensue.data.events import one_chunk
from ensue.data.schema import Kind, is_list, value_type
from ensue.language.ast import NANOSECONDS


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; times and durations, also inside of other values, are integers of nanoseconds."""
    return _values(one_chunk(column))


def _values(array: pa.Array) -> list[Any]:
    type_ = array.type
    if pa.types.is_dictionary(type_):
        return _values(array.dictionary_decode())
    if pa.types.is_struct(type_):
        rows = zip(*map(_values, array.flatten()), strict=True) if type_.num_fields else ((),) * len(array)
        names = [f.name for f in type_]
        return [
            dict(zip(names, row, strict=True)) if there else None
            for row, there in zip(rows, _there(array), strict=True)
        ]
    if is_list(type_):
        items = iter(_values(array.flatten()))
        lengths = array.value_lengths().to_pylist()
        return [None if n is None else list(islice(items, n)) for n in lengths]
    if pa.types.is_map(type_):
        entries = pa.struct([("key", type_.key_type), ("value", type_.item_type)])
        return [
            None if row is None else {entry["key"]: entry["value"] for entry in row}
            for row in _values(_as_list(array, entries))
        ]
    if value_type(type_).kind in (Kind.TIMESTAMP, Kind.DURATION):
        return _nanoseconds(array)
    values: list[Any] = array.to_pylist()
    return values


def _as_list(array: pa.Array, entries: pa.StructType) -> pa.Array:
    """A map as a list of its entries."""
    first, last = (array.offsets[0].as_py(), array.offsets[-1].as_py()) if len(array) else (0, 0)
    keys, values = array.keys.slice(first, last - first), array.items.slice(first, last - first)
    offsets = pa.array([o - first for o in array.offsets.to_pylist()] or [0], pa.int32())
    mask = pa.array([not there for there in _there(array)], pa.bool_())
    return pa.ListArray.from_arrays(
        offsets, pa.StructArray.from_arrays([keys, values], fields=list(entries)), mask=mask
    )


def _there(array: pa.Array) -> list[bool]:
    there: list[bool] = array.is_valid().to_pylist()
    return there


def _nanoseconds(array: pa.Array) -> list[int | None]:
    if pa.types.is_date32(array.type):
        array, unit = array.cast(pa.int32()), "d"
    else:
        unit = "ms" if pa.types.is_date64(array.type) else array.type.unit
    return [None if t is None else t * NANOSECONDS[unit] for t in array.cast(pa.int64()).to_pylist()]
