"""Functions and aggregates of the user's own over columns, with arguments of the types that they take."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type, plain
from ensue.columns.raw_arrays import Integers, Value, in_rows, length_of, missing
from ensue.logic.own_aggregates import OwnAggregate
from ensue.logic.own_functions import OwnFunction


def of_columns(function: OwnFunction, *values: Value) -> pa.Array:
    """The function of each row. Rows with a NULL are not shown to it, unless it takes them."""
    rows = length_of(*values)
    wanted = [t.arrow for t in function.takes]
    given = [in_rows(v, rows) for v in values]
    columns = [as_type(c, t) for c, t in zip(given, wanted, strict=True)]
    null = None if function.takes_nulls else missing(*columns)
    if null is not None:
        there = pa.array(np.flatnonzero(~null))
        columns = [c.take(there) for c in columns]
    if not len(columns[0]):
        return pa.nulls(rows, function.result.arrow)
    found = plain(function.over(columns))
    if null is None:
        return found
    places = np.cumsum(~null) - 1
    return found.take(pa.array(places, mask=null))


def values_for(aggregate: OwnAggregate, values: pa.Array) -> list[Any]:
    """The values as the aggregate takes them."""
    found: list[Any] = as_type(values, aggregate.takes.arrow).to_pylist()
    return found


def of_sets(aggregate: OwnAggregate, values: pa.Array, offsets: Integers) -> pa.Array:
    """The aggregate of each set: those of set `m` are the values from `offsets[m]` to `offsets[m + 1]`."""
    given = values_for(aggregate, values)
    states = [aggregate.folded(given[a:b]) for a, b in itertools.pairwise(offsets.tolist())]
    return plain(aggregate.results(states))
