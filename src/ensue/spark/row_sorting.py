"""ORDER BY and LIMIT over all rows of a finite DataFrame, which Spark sorts and cuts; a stream has no such rows."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.sort_columns import SortColumn, all_shown, only_sorting
from ensue.plan.choice import Choice
from ensue.spark.plain_columns import quoted


def with_sorting_columns(choice: Choice) -> Choice:
    """The query with what only sorts among its columns: the tasks make them, and Spark sorts by them."""
    if not choice.checked.order:
        return choice
    return replace(choice, checked=replace(choice.checked, outputs=all_shown(choice.checked.outputs)))


def sorted_rows(rows: DataFrame, checked: Checked) -> DataFrame:
    """The rows that the query reports, where that depends on all of them: rows of equal order by their times."""
    query = checked.query
    whole = query.limit is not None and query.per is ast.Per.RESULT
    if not whole and not checked.order:
        return rows
    ordered = rows.orderBy(*map(_sorting, checked.order), "end_time", "start_time")
    first = ordered if query.limit is None else ordered.limit(query.limit)
    hidden = only_sorting(checked.outputs)
    return first.select(*(quoted(c) for c in rows.columns if c not in hidden))


def _sorting(by: SortColumn) -> Column:
    column = F.col(quoted(by.name))
    if by.descending:
        return column.desc_nulls_first() if by.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if by.nulls_first else column.asc_nulls_last()
