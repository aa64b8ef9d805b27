"""A table divided into partitions, each in the order of its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.columns.ranks import ranks
from ensue.data.events import integers, one_chunk
from ensue.data.partitions import key_codes
from ensue.row_patterns.match_terms import CheckedClause, OrderKey

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OrderedRows:
    """The rows, partition after partition; partition `p` has those from `begins[p]` to `begins[p + 1]`."""

    table: pa.Table
    begins: Integers

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """Whether each row is the first of its partition."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.begins[:-1]] = True
        return found

    @property
    def is_last(self) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(self), dtype=np.bool_)
        found[self.begins[1:] - 1] = True
        return found

    def partition_of(self, rows: Integers) -> Integers:
        return np.searchsorted(self.begins, rows, side="right") - 1

    def column(self, name: str) -> pa.Array:
        return one_chunk(self.table.column(name))


def order_rows(clause: CheckedClause, table: pa.Table) -> OrderedRows:
    """The partitions in the order in which their first rows come, and rows of equal order as they come.

    Rows that are in order already, which one pass over them shows, are not sorted.
    """
    if not len(table):
        return OrderedRows(table, np.zeros(1, dtype=np.int64))
    codes = np.zeros(len(table), dtype=np.int64)
    if clause.partition:
        codes = key_codes([one_chunk(table.column(c)) for c in clause.partition])
    ranks = [ranks_of(one_chunk(table.column(k.column)), k) for k in clause.order]
    keys = ([codes] if clause.partition else []) + ranks
    if not _in_order(keys):
        # The last key is the first for NumPy.
        order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
        table, codes = table.take(integers(order)), codes[order]
    cuts = np.flatnonzero(codes[1:] != codes[:-1]) + 1 if clause.partition else np.zeros(0, dtype=np.int64)
    return OrderedRows(table, np.concatenate([[0], cuts, [len(table)]]).astype(np.int64))


def _in_order(keys: list[Integers]) -> bool:
    """Whether each row comes behind the one before it, by the first key in which they differ."""
    if not keys:
        return True
    undecided = np.ones(len(keys[0]) - 1, dtype=np.bool_)
    for key in keys:
        before, after = key[:-1], key[1:]
        if (undecided & (after < before)).any():
            return False
        undecided &= after == before
    return True


def ranks_of(column: pa.Array, key: OrderKey) -> Integers:
    """Integers whose order is that of the rows; times and numbers of 64 bits keep theirs."""
    return ranks(column, descending=key.descending, nulls_first=key.nulls_first)
