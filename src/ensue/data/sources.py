"""Reads every supported source of events as an Arrow table: tables, frames, rows, paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.data.event_files import read_path, read_stream_format, schema_of_path, together
from ensue.data.row_dicts import from_rows
from ensue.errors import DataError, listed

__all__ = ["is_spark", "read_schema", "read_stream_format", "read_table"]


def read_table(source: Any, *, only: frozenset[str] | None = None, encoded: str | None = None) -> pa.Table:
    """One source as an Arrow table: a table, batches, a frame of any library, rows, or a path.

    From Parquet files, and from what is read on demand, only the columns in `only` are read if all of them are there.
    Of a Parquet file, the column `encoded` is read as a dictionary, so that not every row becomes a string.
    """
    try:
        table = _table(source, only, encoded)
        table = _with_wide_indices(table)
        table = table.cast(pa.schema([f.with_type(_without_view(f.type)) for f in table.schema]))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
        raise DataError(f"cannot read the events: {': '.join(map(str, reversed(e.args))) or e}") from None
    names = table.column_names
    check_names(names)
    if any(n.startswith("\0") for n in names):
        raise DataError("the name of a column begins with a NUL character")
    return table


def check_names(names: list[str]) -> None:
    """Refuses two columns of one name."""
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise DataError(f"the events have two columns named {listed(twice)}")


def is_spark(events: Any) -> bool:
    """Whether these are Spark DataFrames, classic or of Spark Connect; the answer does not load Spark."""
    some = next(iter(events.values()), None) if isinstance(events, Mapping) else events
    return some.__class__.__module__.startswith("pyspark.sql") and hasattr(some, "isStreaming")


def read_schema(path: str | Path) -> pa.Schema:
    """The columns of a file or folder; of Parquet files, the rows are not read."""
    schema = schema_of_path(path)
    return read_table(schema.empty_table()).schema


def _table(source: Any, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if isinstance(source, str | Path):
        return read_path(source, only, encoded)
    frame = _from_library(source, only)
    if frame is not None:
        return frame
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if hasattr(source, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(source)])
    if isinstance(source, Iterable) and not isinstance(source, bytes | Mapping):
        return _from_parts(list(source), source, only, encoded)
    raise _unknown(source)


def _from_library(source: Any, only: frozenset[str] | None) -> pa.Table | None:
    """What each library has of its own; None for what is not of these libraries."""
    library = source.__class__.__module__.partition(".")[0]
    if library == "pandas" and hasattr(source, "columns"):
        return _from_pandas(source)
    if library == "polars" and hasattr(source, "collect"):
        names = source.collect_schema().names()
        wanted = [n for n in names if n in only] if only is not None and only <= set(names) else names
        return source.select(wanted).collect().to_arrow()
    if library in ("pandas", "polars") and source.__class__.__name__ == "Series":
        raise DataError("a Series is one column, and events have several: give a frame, such as series.to_frame()")
    if library == "polars" and hasattr(source, "columns"):
        return source.to_arrow()
    if library == "pyarrow" and hasattr(source, "to_table"):  # a dataset, a fragment, a scanner
        if hasattr(source, "scanner") and only is not None and only <= set(source.schema.names):
            return source.to_table(columns=[n for n in source.schema.names if n in only])
        return source.to_table()
    return None


def _from_pandas(frame: Any) -> pa.Table:
    """A pandas frame. An index that has a name is a column, and so is one of times: without a name it is `time`."""
    check_names([str(name) for name in frame.columns])
    index, known = frame.index, set(frame.columns)
    times = index.__class__.__name__ == "DatetimeIndex"
    levels = list(index.names)
    names = ["time" if name is None and times else name for name in levels]
    if any(name is not None and name not in known for name in names):
        frame = frame.rename_axis(index=names).reset_index(
            level=[k for k, n in enumerate(names) if n not in (None, *known)]
        )
    return pa.Table.from_pandas(frame, preserve_index=False)


def _from_parts(parts: list[Any], source: Any, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    """Rows, tables or paths, as they come from a list or from a generator."""
    if all(isinstance(part, Mapping) for part in parts):
        return from_rows(parts)
    if all(isinstance(part, str | Path) for part in parts):
        return together([read_path(part, only, encoded) for part in parts])
    if all(hasattr(part, "__arrow_c_stream__") or hasattr(part, "__arrow_c_array__") for part in parts):
        return together([_table(part, only, encoded) for part in parts])
    strange = next(p for p in parts if not isinstance(p, Mapping))
    raise _unknown(source, f" with {_kind(strange)} in it")


def _kind(source: Any) -> str:
    return f"{source.__class__.__module__}.{source.__class__.__qualname__}"


def _unknown(source: Any, more: str = "") -> DataError:
    return DataError(
        f"cannot read events from {_kind(source)}{more}: give an Arrow table, reader or dataset, a pandas or polars "
        "frame, whatever has __arrow_c_stream__, dicts or record batches in a list or generator, or a path to Parquet, "
        "CSV, JSON lines or Arrow"
    )


def _with_wide_indices(table: pa.Table) -> pa.Table:
    """Widens the indices of dictionary columns of several chunks, so that they can index the values of all chunks."""
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pa.types.is_dictionary(field.type) and column.num_chunks > 1 and field.type.index_type.bit_width < 32:
            wide = pa.dictionary(pa.int32(), field.type.value_type)
            table = table.set_column(i, field.name, pa.chunked_array([c.cast(wide) for c in column.chunks]))
    return table


def _without_view(type_: pa.DataType) -> pa.DataType:
    """The type with Arrow's view types replaced by plain ones: many Arrow functions have no kernel for views."""
    if pa.types.is_dictionary(type_):
        plain = _without_view(type_.value_type)
        return type_ if plain == type_.value_type else plain
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(_without_view(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([f.with_type(_without_view(f.type)) for f in type_])
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(type_, type_)
