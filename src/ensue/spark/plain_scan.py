"""Recognises a DataFrame that is nothing but Parquet files, read column by column.

Then the Python tasks can read the files themselves, and the rows need not cross from the JVM. The plan must prove it:
what is not known here, be it an operator, a table format with deletes, an option or a file system, is left to Spark.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ensue.spark.plain_columns import quoted

#: The setting of the session that leaves all reading to Spark, if it is `false`.
SETTING = "spark.ensue.readFiles"
#: More files than this are left to Spark: their footers are read before the query runs.
_MOST_FILES = 10_000
#: Operators that show the rows below them as they are.
_SEEN_THROUGH = {"SubqueryAlias", "View"}
_INDEXES = {"InMemoryFileIndex", "CatalogFileIndex"}
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
#: Options of a reader that only choose files, or that are obeyed here.
_OPTIONS = {
    "path",
    "paths",
    "basepath",
    "mergeschema",
    "pathglobfilter",
    "recursivefilelookup",
    "modifiedbefore",
    "modifiedafter",
    "datetimerebasemode",
    "int96rebasemode",
    "serialization.format",
}
#: Settings of a session with which Spark reads files in a way that is not followed here.
_LEFT_TO_SPARK = {
    SETTING: "false",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.int96TimestampConversion": "true",
}
#: The default of a column for files that do not have it, where a table was given one.
_DEFAULT = "EXISTS_DEFAULT"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class LeftToSpark(Exception):
    """Says why the tasks do not read the files themselves."""


@dataclass(frozen=True)
class PlainScan:
    """The files of a DataFrame, and the columns that are read from them."""

    paths: tuple[str, ...]
    columns: tuple[ScannedColumn, ...]
    case_sensitive: bool
    #: Whether dates and times are in today's calendar in files that do not say who wrote them; the same for INT96.
    rebased: bool
    rebased_int96: bool


@dataclass(frozen=True)
class ScannedColumn:
    """A column of the DataFrame, the column of the files that it shows, and the folder that has its value."""

    name: str
    column: str
    type: T.DataType
    part: int | None = None  # the number of a partition column, counted from the last one


def plain_scan(frame: DataFrame, used: list[str]) -> PlainScan:
    """What is to be read for these columns of the DataFrame; raises LeftToSpark if it is more than a plain scan."""
    if not hasattr(frame, "_jdf"):
        raise LeftToSpark("Spark Connect does not show its plan")
    session = frame.sparkSession
    for name, value in _LEFT_TO_SPARK.items():
        if _setting(session, name) == value:
            raise LeftToSpark(f"{name} is {value}")
    # A new DataFrame, because one that was asked before does not see that it has been cached since.
    asked = frame.select(*(F.col(quoted(name)) for name in used))
    relation, columns = _relation(asked._jdf.queryExecution().withCachedData(), used)
    options = _options(relation)
    found = _columns(relation, columns)
    mode = _setting(session, "spark.sql.parquet.datetimeRebaseModeInRead")
    mode_of_int96 = _setting(session, "spark.sql.parquet.int96RebaseModeInRead")
    return PlainScan(
        _paths(relation),
        found,
        _setting(session, "spark.sql.caseSensitive") == "true",
        options.get("datetimerebasemode", mode).lower() != "corrected",
        options.get("int96rebasemode", mode_of_int96).lower() != "corrected",
    )


def _setting(session: SparkSession, name: str) -> str:
    """A setting in small letters; empty if nobody knows it."""
    with contextlib.suppress(PySparkException):
        return str(session.conf.get(name)).lower()
    return ""


# ---------------------------------------------------------------- Spark's plan


def _class(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())


def _relation(plan: Any, names: list[str]) -> tuple[Any, dict[str, str]]:
    """The relation of files below the plan, and for each column of the plan the name that it has there."""
    wanted = {name: _id(attribute) for name, attribute in zip(names, _each(plan.output()), strict=True)}
    while (node := _class(plan)) != "LogicalRelation":
        if node == "Project":
            wanted = _through(plan, wanted)
        elif node not in _SEEN_THROUGH:
            raise LeftToSpark(f"{_described(plan, node)} is not a plain scan of Parquet files")
        plan = plan.children().head()
    named = {_id(attribute): str(attribute.name()) for attribute in _each(plan.output())}
    if not set(wanted.values()) <= set(named):
        raise LeftToSpark("a column is computed")
    return plan.relation(), {name: named[number] for name, number in wanted.items()}


def _described(plan: Any, node: str) -> str:
    """The operator, as a reader of the plan knows it."""
    return {"LogicalRDD": "a DataFrame of rows", "InMemoryRelation": "a cached DataFrame"}.get(node, str(node))


def _through(project: Any, wanted: dict[str, int]) -> dict[str, int]:
    """The columns below a projection, if it only selects and renames them."""
    shown = {_id(e): e for e in _each(project.projectList())}
    found = {}
    for name, number in wanted.items():
        e = shown[number]
        if _class(e) == "Alias":
            e = e.child()
        if _class(e) != "AttributeReference":
            raise LeftToSpark(f"the column '{name}' is computed")
        found[name] = _id(e)
    return found


def _id(attribute: Any) -> int:
    return int(attribute.exprId().id())


def _each(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _options(relation: Any) -> dict[str, str]:
    """The reader's options; the names of options are in small letters."""
    if _class(relation) != "HadoopFsRelation" or relation.fileFormat().getClass().getName() != _PARQUET:
        raise LeftToSpark("the files are not read as plain Parquet")
    if _class(relation.location()) not in _INDEXES:
        raise LeftToSpark(f"{_class(relation.location())} lists the files of a table format")
    options = relation.options()
    names = [str(name) for name in _each(options.keySet().toSeq())]
    unknown = [name for name in names if name.lower() not in _OPTIONS]
    if unknown:
        raise LeftToSpark(f"the reader has the option {unknown[0]}")
    return {name.lower(): str(options.apply(name)) for name in names}


def _columns(relation: Any, wanted: dict[str, str]) -> tuple[ScannedColumn, ...]:
    """The columns with their types; those that Spark makes up, such as `_metadata`, are left to it."""
    in_files = {f.name: f for f in T.StructType.fromJson(_json(relation.dataSchema()))}
    in_paths = T.StructType.fromJson(_json(relation.partitionSchema()))
    parts = {f.name: (len(in_paths) - 1 - k, f) for k, f in enumerate(in_paths)}
    found = []
    for name, column in wanted.items():
        if column in parts:
            part, field = parts[column]
            found.append(ScannedColumn(name, column, field.dataType, part))
        elif column not in in_files:
            raise LeftToSpark(f"the column '{column}' is not one of the files")
        elif _DEFAULT in in_files[column].metadata:
            raise LeftToSpark(f"the column '{column}' has a default for files without it")
        else:
            found.append(ScannedColumn(name, column, in_files[column].dataType))
    return tuple(found)


def _json(schema: Any) -> dict[str, Any]:
    return dict(json.loads(schema.json()))


# ---------------------------------------------------------------- paths


def _paths(relation: Any) -> tuple[str, ...]:
    """The files, as paths of this machine, in the order in which Spark lists them."""
    listed = relation.location().inputFiles()
    if len(listed) > _MOST_FILES:
        raise LeftToSpark(f"there are more than {_MOST_FILES:,} files")
    if not len(listed):
        raise LeftToSpark("there are no files")
    return tuple(map(_path, listed))


def _path(uri: str) -> str:
    found = urlsplit(uri)
    if found.scheme != "file" or found.netloc not in ("", "localhost"):
        raise LeftToSpark(f"the files are in a file system ({found.scheme}:) that the tasks do not open themselves")
    return unquote(found.path)


def value_in_path(path: str, column: ScannedColumn) -> Any:
    """The value that a file's folders give to a partition column, as in `day=2024-03-31`; NULL is None."""
    assert column.part is not None
    folders = path.split("/")[:-1]
    name, equals, text = folders[-1 - column.part].partition("=") if column.part < len(folders) else ("", "", "")
    if not equals or unquote(name).lower() != column.column.lower():
        raise LeftToSpark(f"the folders do not say the value of '{column.column}'")
    text = unquote(text)
    if text == _NO_VALUE:
        return None
    whole = re.fullmatch(r"-?\d+", text)
    match column.type:
        case T.StringType():
            return text
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType() if whole:
            return int(text)
        case T.DateType() if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return date.fromisoformat(text)
    raise LeftToSpark(f"the partition column '{column.column}' is of type {column.type.simpleString()}")
