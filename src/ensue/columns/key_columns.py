"""The computed keys of PARTITION BY as columns of the events, so that all that follows finds them there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from ensue.columns.conversions import as_type
from ensue.columns.evaluation import evaluated
from ensue.data.events import EventStream
from ensue.language import ast
from ensue.logic.partition_keys import attributes_of
from ensue.logic.types import Typing

#: So many events are evaluated at a time: what is computed on the way stays small.
_AT_ONCE = 1 << 18


def with_keys(stream: EventStream, query: ast.Query) -> EventStream:
    """The events with a column for each computed key of a checked query."""
    table = stream.table
    for key in query.partition:
        if key.expression is not None and key.attribute not in table.column_names:
            type_ = Typing(stream.schema).infer(key.expression)
            assert type_ is not None, "a checked query over a known schema has types"
            compute = key_values(key.expression, type_.arrow)
            parts = table.select(sorted(attributes_of(key))).to_batches(max_chunksize=_AT_ONCE)
            table = table.append_column(key.attribute, pa.chunked_array(map(compute, parts), type_.arrow))
    return stream if table is stream.table else replace(stream, table=table)


def key_values(e: ast.Expression, type_: pa.DataType) -> Callable[[pa.RecordBatch], pa.Array]:
    """The function that computes a key of this type from the columns that it is made of."""
    return lambda rows: as_type(evaluated(e, dict(zip(rows.schema.names, rows.columns, strict=True)), len(rows)), type_)
