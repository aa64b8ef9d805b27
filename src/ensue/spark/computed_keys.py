"""The computed keys of PARTITION BY as columns of the DataFrame: Spark shares events out by them.

The JVM computes what it computes with our meaning. Other keys are computed in Python, by the engine itself, before the
events are shared out: that is one more crossing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from ensue.columns.key_columns import key_values
from ensue.data.schema import Schema
from ensue.language import ast
from ensue.logic.partition_keys import attributes_of
from ensue.logic.types import Typing
from ensue.spark.conditions_in_sql import value_in_sql
from ensue.spark.frames import EventFrame
from ensue.spark.plain_columns import quoted
from ensue.spark.recipe import travelling_name
from ensue.spark.type_mapping import in_zone, spark_type


def column_of(attribute: str) -> Column:
    """An attribute of the events, or a computed key."""
    return F.col(quoted(travelling_name(attribute) if attribute.startswith("\0") else attribute))


def with_key_columns(events: EventFrame, query: ast.Query, schema: Schema, zone: str) -> EventFrame:
    """The events with a column for each computed key of a checked query."""
    frame = events.frame
    for key in query.partition:
        if key.expression is not None:
            frame = frame.withColumn(travelling_name(key.attribute), _key(key, key.expression, schema, zone))
    return replace(events, frame=frame)


def _key(key: ast.PartitionKey, e: ast.Expression, schema: Schema, zone: str) -> Column:
    type_ = Typing(schema).infer(e)
    assert type_ is not None, "a checked query over a known schema has types"
    spark = spark_type(type_.arrow)
    column = value_in_sql(e, schema)
    if column is not None:
        return column.cast(spark)
    names = sorted(attributes_of(key))
    in_python = arrow_udf(_in_python(e, names, type_.arrow, zone), spark)  # type: ignore[call-overload]  # its hints say which it is
    found: Column = in_python(*(F.col(quoted(n)) for n in names))
    return found


def _in_python(e: ast.Expression, names: list[str], type_: pa.DataType, zone: str) -> Callable[..., pa.Array]:
    """The function of a batch of these columns."""
    compute = key_values(e, type_)

    def key(*columns: pa.Array) -> pa.Array:
        rows = pa.table(list(columns), names=names)
        (batch,) = rows.cast(in_zone(rows.schema, zone)).combine_chunks().to_batches()
        found = compute(batch)
        # Spark has microseconds.
        return found.cast(pa.timestamp("us", found.type.tz)) if pa.types.is_timestamp(found.type) else found

    return key
