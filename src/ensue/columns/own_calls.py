"""Functions of the user's own over columns: arguments of the types that they take, and NULL where one is NULL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type, plain
from ensue.columns.raw_arrays import Value, length_of, missing
from ensue.logic.own_functions import OwnFunction


def of_columns(function: OwnFunction, *values: Value) -> pa.Array:
    """The function of each row. Rows with a NULL are not shown to it, unless it takes them."""
    rows = length_of(*values)
    wanted = [t.arrow for t in function.takes]
    given = [pa.repeat(v, rows) if isinstance(v, pa.Scalar) else v for v in values]
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
