"""The results of a live query: tables of changes, and the answer that they add up to."""

from __future__ import annotations

import pyarrow as pa

from ensue.data.budget import Budget
from ensue.results.rows import SHOWN, Rows, count_of

#: The columns in front of those of the matches.
CHANGE, MATCH = "change", "match"
INSERT, DELETE = "insert", "delete"


class _Table(Rows):
    """Rows that are there already."""

    def __init__(self, table: pa.Table, budget: Budget | None = None) -> None:
        self._table = table
        self._budget = budget or Budget()

    def __len__(self) -> int:
        return len(self._table)

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self._table

    def _head(self) -> pa.Table:
        return self._table.slice(0, SHOWN)


class Changes(_Table):
    """What one step of a live query changes: `change` says `insert` or `delete`, and `match` is the match's id.

    The same match has the same id in every run, in every order of arrival, and on Spark. A row that is taken back is
    shown with all its columns.
    """

    def _counted(self) -> str:
        return count_of(len(self), "change", "changes")


class Answer(_Table):
    """The matches of a live query as things are now, each with its id."""

    def _counted(self) -> str:
        return count_of(len(self), "match", "matches")
