"""The rows that a clause gives: one for each match, or all of its rows, and maybe those of no match."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.events import integers
from ensue.row_patterns.clause_ast import RowsPerMatch
from ensue.row_patterns.match_finding import FoundMatches, Plan, find_matches
from ensue.row_patterns.match_measures import Measures, Views
from ensue.row_patterns.match_terms import CheckedClause
from ensue.row_patterns.ordered_rows import Integers, OrderedRows, order_rows
from ensue.row_patterns.partition_frames import with_frames

#: The most steps that the search takes from one row before it gives up.
BUDGET = 2_000_000


def recognize_rows(plan: Plan, table: pa.Table, budget: int = BUDGET) -> pa.Table:
    """The rows of the clause over the table: partition after partition, match after match."""
    rows = with_frames(plan.clause, order_rows(plan.clause, table))
    return rows_of(plan.clause, rows, find_matches(plan, rows, budget))


def rows_of(
    clause: CheckedClause, rows: OrderedRows, found: FoundMatches, unmatched: Integers | None = None
) -> pa.Table:
    """The rows that show the matches, and those of no match if they are shown: the `unmatched`, by default all."""
    views, row = _views(clause, found)
    measures = Measures(rows, found, views)
    values = {m.name: measures.value(m.formula) for m in clause.measures}
    if clause.rows is RowsPerMatch.WITH_UNMATCHED:
        others = np.flatnonzero(~covered(found, len(rows))) if unmatched is None else unmatched
        began = np.concatenate([found.start[views.match], others])
        order = np.argsort(began, kind="stable")
        row = np.concatenate([row, others])[order]
        values = {n: _with_nulls(v, len(others)).take(integers(order)) for n, v in values.items()}
    index = integers(row)
    before = [rows.table.column(c).take(index) for c in clause.shown_first]
    behind = [rows.table.column(c).take(index) for c in clause.columns]
    columns: list[Any] = [*before, *values.values(), *behind]
    return pa.Table.from_arrays(columns, names=list(clause.column_names))


def _views(clause: CheckedClause, found: FoundMatches) -> tuple[Views, Integers]:
    """The points of view of the rows that are shown, and the row of the table that each one shows."""
    every = np.arange(len(found))
    if clause.rows is RowsPerMatch.ONE:
        return Views(every, found.lengths - 1, one_each=True), found.start
    empty = found.lengths == 0
    shown = np.where(empty, clause.rows is not RowsPerMatch.OMIT_EMPTY, found.lengths).astype(np.int64)
    match = np.repeat(every, shown)
    begin = np.cumsum(shown) - shown
    place = np.arange(len(match)) - begin[match]
    current = np.where(empty[match], -1, place)
    if found.program.excluded.any():
        flat = np.where(empty[match], 0, found.offset[match] + place)
        hidden = found.program.excluded[found.steps[flat]] if len(found.steps) else np.zeros(len(flat), np.bool_)
        kept = empty[match] | ~hidden
        match, current, place = match[kept], current[kept], place[kept]
    return Views(match, current), found.start[match] + place


def covered(found: FoundMatches, size: int) -> npt.NDArray[np.bool_]:
    """Whether each row is in a match, or is the row at which an empty one begins."""
    change = np.zeros(size + 1, dtype=np.int64)
    np.add.at(change, found.start, 1)
    np.add.at(change, found.start + np.maximum(found.lengths, 1), -1)
    inside: npt.NDArray[np.bool_] = np.cumsum(change)[:size] > 0
    return inside


def _with_nulls(column: pa.Array, count: int) -> pa.Array:
    return pa.concat_arrays([column, pa.nulls(count, column.type)])
