"""Functions and aggregates of the user's own, asked for one row of Python values at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ensue.data.schema import Kind, ValueType
from ensue.engines.reference.python_values import python_values
from ensue.language.ast import NANOSECONDS
from ensue.logic.own_aggregates import OwnAggregate
from ensue.logic.own_functions import OwnFunction


def own_value(function: OwnFunction, values: list[Any]) -> Any:
    """What the function is of these values; times are whole numbers of nanoseconds."""
    if not function.takes_nulls and any(v is None for v in values):
        return None
    columns = [_column(v, t) for v, t in zip(values, function.takes, strict=True)]
    (found,) = python_values(pa.chunked_array([function.over(columns)]))
    return found


def own_aggregate(aggregate: OwnAggregate, values: list[Any]) -> Any:
    """What the aggregate is of these values, in stream order."""
    given = [_column(v, aggregate.takes).to_pylist()[0] for v in values]
    (found,) = python_values(pa.chunked_array([aggregate.results([aggregate.folded(given)])]))
    return found


def _column(value: Any, type_: ValueType) -> pa.Array:
    """A column of one row."""
    if value is None:
        return pa.nulls(1, type_.arrow)
    match type_.kind:
        case Kind.FLOAT:
            value = float(value)
        case Kind.TIMESTAMP | Kind.DURATION if not pa.types.is_date(type_.arrow):
            return pa.array([value // NANOSECONDS[type_.arrow.unit]], pa.int64()).cast(type_.arrow)
        case Kind.TIMESTAMP:
            days = pa.array([value // NANOSECONDS["d"]], pa.int32()).cast(pa.date32())
            return days.cast(type_.arrow)
    return pa.array([value], type_.arrow)
