"""The columns of a DataFrame as Ensue reads them: texts are compared by their characters, everywhere alike.

Spark compares columns with a collation by its rules, and pads columns of type CHAR with spaces. Python and Arrow know
neither. So such columns become plain strings before anything reads them. Columns that no part of the query uses may be
of any type: those that Python cannot have are left out.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue.errors import DataError, listed
from ensue.spark.type_mapping import arrow_schema

OWN = "__ensue_"
#: The metadata in which Spark keeps that a column of strings was declared as CHAR or VARCHAR.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


def quoted(name: str) -> str:
    """A column's name in backticks, as Spark reads names with any characters."""
    return "`" + name.replace("`", "``") + "`"


def with_plain_columns(frame: DataFrame, used: frozenset[str] | None) -> DataFrame:
    """The columns as Ensue reads them; `used` are those that the query needs, None means all."""
    alike = _alike(frame)
    _check_names(frame, [c for c in alike if used is None or c in used])
    unused = [f for f in frame.schema if used is not None and f.name not in used]
    unread = [f.name for f in unused if f.name in alike or not _readable(f)]
    plain = {f.name: _plain(f) for f in frame.schema if f.name not in unread}
    if not unread and not any(c is not None for c in plain.values()):
        return frame
    return frame.select(*(F.col(quoted(n)) if c is None else c.alias(n) for n, c in plain.items()))


def _alike(frame: DataFrame) -> list[str]:
    """The columns whose names differ in case alone, where Spark takes them for one name."""
    if frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
        return []
    lower = [c.lower() for c in frame.columns]
    return [c for c in frame.columns if lower.count(c.lower()) > 1]


def _check_names(frame: DataFrame, alike: list[str]) -> None:
    own = [c for c in frame.columns if c.lower().startswith(OWN)]
    if own:
        raise DataError(f"the column {listed(own)} has a name that Ensue uses itself: rename it")
    twice = {c for c in frame.columns if frame.columns.count(c) > 1}
    if twice:
        raise DataError(f"the events have two columns named {listed(twice)}")
    if alike:
        raise DataError(
            f"Spark cannot tell {listed(alike)} from another column whose name differs in case alone: rename one, "
            "or set spark.sql.caseSensitive to true"
        )


def _readable(field: T.StructField) -> bool:
    try:
        arrow_schema(T.StructType([field]))
    except DataError:
        return False
    return True


def _plain(field: T.StructField) -> Column | None:
    """The column as plain strings; None if it needs no change."""
    column = F.col(quoted(field.name))
    declared = str(field.metadata.get(_DECLARED, ""))
    if isinstance(field.dataType, T.CharType) or declared.lower().startswith("char"):
        return F.rtrim(column.cast("string"))
    plain = _without_collation(field.dataType)
    return None if plain == field.dataType else column.cast(plain)


def _without_collation(type_: T.DataType) -> T.DataType:
    match type_:
        case T.StringType() | T.VarcharType() | T.CharType():
            return T.StringType()
        case T.ArrayType():
            return T.ArrayType(_without_collation(type_.elementType), type_.containsNull)
        case T.MapType():
            key, value = _without_collation(type_.keyType), _without_collation(type_.valueType)
            return T.MapType(key, value, type_.valueContainsNull)
        case T.StructType():
            return T.StructType(
                [T.StructField(f.name, _without_collation(f.dataType), f.nullable, f.metadata) for f in type_]
            )
    return type_
