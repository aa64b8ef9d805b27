"""The aggregates of SQL over many sets of rows at a time, for what the language's own aggregates do not have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.aggregates import aggregate
from ensue.columns.raw_arrays import array_of
from ensue.data.events import integers
from ensue.data.partitions import key_codes
from ensue.language import ast
from ensue.row_patterns.match_terms import Aggregate

Integers = npt.NDArray[np.int64]


def aggregates_of(term: Aggregate, values: pa.Array, offsets: Integers) -> pa.Array:
    """The aggregate of each set: those of set `m` are the values from `offsets[m]` to `offsets[m + 1]`."""
    if term.distinct:
        values, offsets = _distinct(values, offsets)
    match term.function:
        case "bool_and" | "bool_or":
            numbers = values.cast(pa.int64())
            return aggregate("min" if term.function == "bool_and" else "max", numbers, offsets).cast(pa.bool_())
        case "string_agg":
            return _joined(term, values, offsets)
        case "collect":
            empty = array_of(np.diff(offsets) == 0, None, pa.bool_())
            return pa.ListArray.from_arrays(integers(offsets).cast(pa.int32()), values, mask=empty)
    return aggregate(term.function, values, offsets)


def _distinct(values: pa.Array, offsets: Integers) -> tuple[pa.Array, Integers]:
    """Each set with the first of its equal values alone."""
    if not len(values):
        return values, offsets
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    first = np.sort(np.unique(key_codes([integers(owner), values]), return_index=True)[1])
    kept = np.zeros(len(values), dtype=np.int64)
    kept[first] = 1
    before = np.concatenate([[0], np.cumsum(kept)])
    return values.take(integers(first)), before[offsets]


def _joined(term: Aggregate, values: pa.Array, offsets: Integers) -> pa.Array:
    separator = term.arguments[1].expression
    assert isinstance(separator, ast.Literal)
    texts = values.to_pylist()
    found: list[str | None] = []
    for low, high in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        known = [t for t in texts[low:high] if t is not None]
        found.append(str(separator.value or "").join(known) if known else None)
    return pa.array(found, pa.string())
