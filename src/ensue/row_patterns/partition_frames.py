"""Columns of aggregates over the rows around each row: `avg(x) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)`.

Such a column depends on the partition alone. So it is computed once the rows are in order, and is a column like others
for the conditions and the measures.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type, plain
from ensue.data.events import integers
from ensue.row_patterns.aggregates_of_rows import aggregates_of
from ensue.row_patterns.match_terms import CheckedClause, PartitionFrame
from ensue.row_patterns.ordered_rows import OrderedRows
from ensue.row_patterns.row_conditions import row_values
from ensue.row_patterns.running_aggregates import by_differences, of_prefixes, set_by_set


def with_frames(clause: CheckedClause, rows: OrderedRows) -> OrderedRows:
    """The rows with a column for each frame of the clause."""
    for frame in clause.frames:
        type_ = frame.aggregate.type.arrow
        column = as_type(plain(_column(frame, rows)), type_) if len(rows) else pa.nulls(0, type_)
        rows = replace(rows, table=rows.table.append_column(frame.name, column))
    return rows


def _column(frame: PartitionFrame, rows: OrderedRows) -> pa.Array:
    term, sizes = frame.aggregate, np.diff(rows.begins)
    first, behind = np.repeat(rows.begins[:-1], sizes), np.repeat(rows.begins[1:], sizes)
    place = np.arange(len(rows))
    low = first if frame.low is None else np.clip(place + frame.low, first, behind)
    high = behind if frame.high is None else np.clip(place + frame.high + 1, low, behind)
    if not term.arguments:
        return integers(high - low)
    values = [plain(row_values(value, rows)) for value in term.values]
    if term.function in ("count", "sum"):
        quick = by_differences(term, values[0], low, high)
        if quick is not None:
            return quick
    if frame.low is None and frame.high is None:
        of_partitions = aggregates_of(term, values, rows.begins)
        return of_partitions.take(integers(np.repeat(np.arange(len(sizes)), sizes)))
    if frame.low is None:
        return of_prefixes(term, values, first, low, high)
    return set_by_set(term, values, low, high)
