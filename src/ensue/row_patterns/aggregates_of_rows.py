"""The aggregates of SQL over many sets of rows at a time, for what the language's own aggregates do not have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.aggregates import aggregate
from ensue.columns.conversions import plain
from ensue.columns.raw_arrays import array_of, missing
from ensue.data.events import integers
from ensue.data.partitions import key_codes
from ensue.row_patterns.match_terms import Aggregate, OrderKey
from ensue.row_patterns.ordered_rows import ranks_of

Integers = npt.NDArray[np.int64]


def aggregates_of(term: Aggregate, given: Sequence[pa.Array], offsets: Integers) -> pa.Array:
    """The aggregate of each set: those of set `m` are the values from `offsets[m]` to `offsets[m + 1]`.

    `given` are columns, one for each of `term.values`.
    """
    if term.order:
        given = _in_order(term, given, offsets)
    values = given[0]
    if term.distinct:
        values, offsets = _distinct(values, offsets)
    match term.function:
        case "bool_and" | "bool_or":
            numbers = values.cast(pa.int64())
            return aggregate("min" if term.function == "bool_and" else "max", numbers, offsets).cast(pa.bool_())
        case "any_value":
            return aggregate("first", *_known(values, values, offsets))
        case "max_by" | "min_by":
            return _of_extreme(values, given[1], offsets, least=term.function == "min_by")
        case "string_agg":
            return _joined(term.separator, values, offsets)
        case "collect":
            empty = array_of(np.diff(offsets) == 0, None, pa.bool_())
            return pa.ListArray.from_arrays(integers(offsets).cast(pa.int32()), values, mask=empty)
    return aggregate(term.function, values, offsets)


def _in_order(term: Aggregate, given: Sequence[pa.Array], offsets: Integers) -> list[pa.Array]:
    """The values of each set in the order that the aggregate asks for."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    by = given[len(given) - len(term.order) :]
    ranks = [
        ranks_of(array, OrderKey("", o.descending, o.nulls_first)) for array, o in zip(by, term.order, strict=True)
    ]
    order = integers(np.lexsort([*ranks[::-1], owner]))
    return [array.take(order) for array in given]


def _known(values: pa.Array, by: pa.Array, offsets: Integers) -> tuple[pa.Array, Integers]:
    """The values of the sets at which `by` is not NULL."""
    null = missing(by) if not pa.types.is_null(by.type) else np.ones(len(by), dtype=np.bool_)
    if null is None:
        return values, offsets
    before = np.concatenate([[0], np.cumsum(~null)])
    return values.take(integers(np.flatnonzero(~null))), before[offsets]


def _of_extreme(values: pa.Array, by: pa.Array, offsets: Integers, *, least: bool) -> pa.Array:
    """The value at the least or the greatest of another: the first of those where that is equal."""
    values, known = _known(values, by, offsets)
    by, _ = _known(by, by, offsets)
    ranks = ranks_of(plain(by), OrderKey("", not least, False))
    owner = np.repeat(np.arange(len(known) - 1), np.diff(known))
    order = np.lexsort([ranks, owner])
    return aggregate("first", values.take(integers(order)), known)


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


def _joined(separator: str, values: pa.Array, offsets: Integers) -> pa.Array:
    texts = values.to_pylist()
    found: list[str | None] = []
    for low, high in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        known = [t for t in texts[low:high] if t is not None]
        found.append(separator.join(known) if known else None)
    return pa.array(found, pa.string())
