"""The clause over a whole table: partitions, order, one match after the other, and the rows that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

import pyarrow as pa

from ensue.data.events import one_chunk
from ensue.data.partitions import key_codes
from ensue.data.schema import Kind, Schema, value_type
from ensue.engines.reference.python_values import python_values
from ensue.errors import DataError
from ensue.language.ast import NANOSECONDS
from ensue.row_patterns.clause_ast import RowsPerMatch, SkipTo
from ensue.row_patterns.match_terms import CheckedClause
from ensue.row_patterns.reference.backtracking import Mapped, find_match
from ensue.row_patterns.reference.frame_values import with_frames
from ensue.row_patterns.reference.match_context import MatchContext, Partition
from ensue.row_patterns.reference.value_order import compared


@dataclass(frozen=True)
class _Match:
    start: int
    mapped: Mapped
    number: int

    @property
    def labels(self) -> list[str]:
        return [name for name, _ in self.mapped]


def recognize(clause: CheckedClause, table: pa.Table) -> pa.Table:
    """The rows that the clause gives: partition after partition in the order in which their first rows come."""
    values = {name: python_values(table.column(name)) for name in table.column_names}
    found: list[tuple[Any, ...]] = []
    for members in _partitions(clause, table, values):
        columns = {name: [column[i] for i in members] for name, column in values.items()}
        partition = with_frames(clause, Partition(columns, Schema.of(table.schema), len(members)))
        found.extend(_rows(clause, partition, list(_matches(clause, partition))))
    types = [table.schema.field(n).type for n in clause.shown_first]
    types += [m.formula.type.arrow for m in clause.measures]
    types += [table.schema.field(n).type for n in clause.columns]
    by_column = list(zip(*found, strict=True)) or [()] * len(types)
    arrays = [_arrow(list(column), type_) for column, type_ in zip(by_column, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(clause.column_names))


# ---------------------------------------------------------------- partitions and order


def _partitions(clause: CheckedClause, table: pa.Table, values: dict[str, list[Any]]) -> list[list[int]]:
    members: dict[int, list[int]] = {}
    codes = [0] * len(table)
    if clause.partition:
        codes = key_codes([one_chunk(table.column(c)) for c in clause.partition]).tolist()
    for row, code in enumerate(codes):
        members.setdefault(code, []).append(row)

    def compare(a: int, b: int) -> int:
        for key in clause.order:
            column = values[key.column]
            order = compared(column[a], column[b], key.descending, key.nulls_first)
            if order:
                return order
        return 0

    return [sorted(m, key=cmp_to_key(compare)) for m in members.values()]


# ---------------------------------------------------------------- matches


def _matches(clause: CheckedClause, partition: Partition) -> Iterator[_Match]:
    start, number = 0, 1
    while start < partition.size:
        mapped = _match_at(clause, partition, start, number)
        if mapped is None:
            start += 1
            continue
        match = _Match(start, mapped, number)
        yield match
        number += 1
        start = _next_start(clause, match)


def _match_at(clause: CheckedClause, partition: Partition, start: int, number: int) -> Mapped | None:
    def holds(labels: Sequence[str]) -> bool:
        current = len(labels) - 1
        if not _is_within(clause, partition, start, start + current):
            return False
        condition = clause.conditions.get(labels[-1])
        context = MatchContext(partition, start, labels, current, number)
        return condition is None or context.value(condition) is True

    return find_match(clause.pattern, start, partition.size, holds)


def _is_within(clause: CheckedClause, partition: Partition, start: int, row: int) -> bool:
    if clause.within is None:
        return True
    times = partition.columns[clause.order[0].column]
    if times[start] is None or times[row] is None:
        return False
    return bool(abs(times[row] - times[start]) <= clause.within)


def _next_start(clause: CheckedClause, match: _Match) -> int:
    skip = clause.skip
    if not match.mapped or skip.to is SkipTo.NEXT:
        return match.start + 1
    if skip.variable is None:
        return match.start + len(match.mapped)
    rows = [i for i, label in enumerate(match.labels) if label in clause.unions[skip.variable]]
    where = f"match {match.number}, from row {match.start + 1} of its partition on"
    if not rows:
        raise DataError(f"AFTER MATCH SKIP {skip.to} {skip.variable}: {skip.variable} has no row of {where}")
    row = rows[0] if skip.to is SkipTo.FIRST else rows[-1]
    if row == 0:
        raise DataError(
            f"AFTER MATCH SKIP {skip.to} {skip.variable} goes to the first row of {where}: it would be found again"
        )
    return match.start + row


# ---------------------------------------------------------------- rows of the result


def _rows(clause: CheckedClause, partition: Partition, matches: list[_Match]) -> Iterator[tuple[Any, ...]]:
    shown: list[tuple[int, list[tuple[Any, ...]]]] = []
    for match in matches:
        shown.append((match.start, list(_rows_of_match(clause, partition, match))))
    if clause.rows is RowsPerMatch.WITH_UNMATCHED:
        matched = {m.start + i for m in matches for i in range(max(len(m.mapped), 1))}
        nothing = (None,) * len(clause.measures)
        for row in set(range(partition.size)) - matched:
            shown.append((row, [_row(clause, partition, row, nothing)]))
    for _, rows in sorted(shown, key=lambda s: s[0]):
        yield from rows


def _rows_of_match(clause: CheckedClause, partition: Partition, match: _Match) -> Iterator[tuple[Any, ...]]:
    def measured(current: int) -> tuple[Any, ...]:
        context = MatchContext(partition, match.start, match.labels, current, match.number)
        return tuple(context.value(m.formula) for m in clause.measures)

    if clause.rows is RowsPerMatch.ONE:
        yield _row(clause, partition, match.start, measured(len(match.mapped) - 1))
    elif not match.mapped:
        if clause.rows is not RowsPerMatch.OMIT_EMPTY:
            yield _row(clause, partition, match.start, measured(-1))
    else:
        for i, (_, excluded) in enumerate(match.mapped):
            if not excluded:
                yield _row(clause, partition, match.start + i, measured(i))


def _row(clause: CheckedClause, partition: Partition, row: int, measures: tuple[Any, ...]) -> tuple[Any, ...]:
    before = (partition.columns[c][row] for c in clause.shown_first)
    behind = (partition.columns[c][row] for c in clause.columns)
    return (*before, *measures, *behind)


def _arrow(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Python values, with times as nanoseconds, as a column of the type."""
    kind = value_type(type_).kind
    if pa.types.is_dictionary(type_):
        return _arrow(values, type_.value_type).cast(type_)
    if kind is Kind.LIST and values:
        parts = _arrow([v for row in values for v in row or ()], type_.value_type)
        offsets = [0]
        for row in values:
            offsets.append(offsets[-1] + len(row or ()))
        missing = pa.array([row is None for row in values])
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), parts, mask=missing)
    if kind in (Kind.TIMESTAMP, Kind.DURATION):
        unit = "d" if pa.types.is_date32(type_) else "ms" if pa.types.is_date64(type_) else type_.unit
        ticks = [None if v is None else v // NANOSECONDS[unit] for v in values]
        return pa.array(ticks, pa.int32() if unit == "d" else pa.int64()).cast(type_)
    if pa.types.is_floating(type_):
        values = [None if v is None else float(v) for v in values]
    return pa.array(values, type_)
