"""Maps Spark's types to Arrow's and back. PySpark has functions for it, but their parameters change with versions."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as T

from ensue.errors import DataError

_SIMPLE: list[tuple[type[T.DataType], pa.DataType]] = [
    (T.NullType, pa.null()),
    (T.BooleanType, pa.bool_()),
    (T.ByteType, pa.int8()),
    (T.ShortType, pa.int16()),
    (T.IntegerType, pa.int32()),
    (T.LongType, pa.int64()),
    (T.FloatType, pa.float32()),
    (T.DoubleType, pa.float64()),
    (T.StringType, pa.string()),
    (T.BinaryType, pa.binary()),
    (T.DateType, pa.date32()),
    (T.TimestampType, pa.timestamp("us", "UTC")),
    (T.TimestampNTZType, pa.timestamp("us")),
    (T.DayTimeIntervalType, pa.duration("us")),
]


def arrow_schema(spark: T.StructType) -> pa.Schema:
    """The columns with their Arrow types; raises DataError for a column that cannot be handed to Python."""
    return pa.schema([pa.field(f.name, _arrow(f.dataType, f.name)) for f in spark.fields])


def _arrow(type_: T.DataType, column: str) -> pa.DataType:
    match type_:
        case T.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case T.ArrayType():
            return pa.list_(_arrow(type_.elementType, column))
        case T.StructType():
            return pa.struct([pa.field(f.name, _arrow(f.dataType, column)) for f in type_.fields])
        case T.MapType():
            return pa.map_(_arrow(type_.keyType, column), _arrow(type_.valueType, column))
    for spark, arrow in _SIMPLE:
        if isinstance(type_, spark):
            return arrow
    raise DataError(
        f"the column '{column}' is of type {type_.simpleString()}, which cannot be handed to Python: drop it"
    )


def spark_schema(arrow: pa.Schema) -> T.StructType:
    """The columns of a result with Spark's types: times are in microseconds; a column of only NULLs is a string."""
    return T.StructType([T.StructField(f.name, spark_type(f.type)) for f in arrow])


def spark_type(type_: pa.DataType) -> T.DataType:
    """Spark's type of the column of a result."""
    is_ = pa.types
    if is_.is_timestamp(type_):
        return T.TimestampNTZType() if type_.tz is None else T.TimestampType()
    if is_.is_duration(type_):
        return T.DayTimeIntervalType()
    if is_.is_decimal(type_):
        return T.DecimalType(type_.precision, type_.scale)
    if is_.is_null(type_) or is_.is_large_string(type_):
        return T.StringType()
    if is_.is_map(type_):
        return T.MapType(spark_type(type_.key_type), spark_type(type_.item_type))
    if is_.is_list(type_) or is_.is_large_list(type_):
        return T.ArrayType(spark_type(type_.value_type))
    if is_.is_struct(type_):
        return T.StructType([T.StructField(f.name, spark_type(f.type)) for f in type_])
    return next(spark() for spark, arrow in _SIMPLE if arrow == type_)


def in_zone(schema: pa.Schema, zone: str) -> pa.Schema:
    """The same columns, with every instant shown in this zone; times without a zone stay without one."""
    return pa.schema([f.with_type(_in_zone(f.type, zone)) for f in schema])


def _in_zone(type_: pa.DataType, zone: str) -> pa.DataType:
    is_ = pa.types
    if is_.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, zone)
    if is_.is_list(type_):
        return pa.list_(type_.value_field.with_type(_in_zone(type_.value_type, zone)))
    if is_.is_struct(type_):
        return pa.struct([f.with_type(_in_zone(f.type, zone)) for f in type_])
    if is_.is_map(type_):
        key, item = type_.key_field, type_.item_field
        return pa.map_(key.with_type(_in_zone(key.type, zone)), item.with_type(_in_zone(item.type, zone)))
    return type_
