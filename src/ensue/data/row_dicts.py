"""Rows as a table: dicts, from a list or from a generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from ensue.errors import DataError


def from_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table. Not by Table.from_pylist, which reads only the columns that the first row has."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        # pandas' NaT is an instance of datetime, but stands for a missing time.
        values = [None if v.__class__.__name__ == "NaTType" else v for v in (row.get(name) for row in rows)]
        zoned = {v.tzinfo is not None for v in values if isinstance(v, datetime)}
        if len(zoned) > 1:
            raise DataError(f"the column '{name}' has some times with a zone and some without: give all of them a zone")
        try:
            columns[str(name)] = pa.array(values)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
            raise DataError(f"the column '{name}' cannot be read: {e}") from None
    return pa.table(columns)
