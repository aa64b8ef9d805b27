"""Aggregates over the rows around each row of a partition, one row at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ensue.data.schema import Schema
from ensue.engines.reference.expressions import Scope, aggregate
from ensue.engines.reference.scalar_functions import as_computed
from ensue.row_patterns.match_terms import CheckedClause, PartitionFrame
from ensue.row_patterns.reference.match_context import NamedValues, Partition


def with_frames(clause: CheckedClause, partition: Partition) -> Partition:
    """The partition with a column for each frame of the clause."""
    for frame in clause.frames:
        column = [_value(frame, partition, row) for row in range(partition.size)]
        partition = replace(
            partition,
            columns={**partition.columns, frame.name: column},
            schema=Schema({**partition.schema.attributes, frame.name: frame.aggregate.type}),
        )
    return partition


def _value(frame: PartitionFrame, partition: Partition, row: int) -> Any:
    first = 0 if frame.low is None else max(row + frame.low, 0)
    last = partition.size - 1 if frame.high is None else min(row + frame.high, partition.size - 1)
    inside = range(first, last + 1)
    term = frame.aggregate
    if not term.arguments:
        return len(inside)
    return aggregate(
        term.function, [as_computed(_argument(term.arguments[0].expression, partition, i)) for i in inside]
    )


def _argument(expression: Any, partition: Partition, row: int) -> Any:
    values = NamedValues(partition.schema, partial(_at, partition, row))
    return values.value(expression, Scope())


def _at(partition: Partition, row: int, name: str) -> Any:
    return partition.columns[name][row]
