"""Reads every supported source of events as an Arrow table: tables, frames, rows, files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.errors import DataError, listed


def read_table(source: Any, *, only: frozenset[str] | None = None, encoded: str | None = None) -> pa.Table:
    """One source as an Arrow table: a table, batches, a pandas or polars frame, rows, or a path.

    From a Parquet file, only the columns in `only` are read if the file has them all, and the column `encoded` is read
    as a dictionary, so that not every row becomes a string.
    """
    try:
        table = _table(source, only, encoded)
        table = _with_wide_indices(table)
        table = table.cast(pa.schema([f.with_type(_without_view(f.type)) for f in table.schema]))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
        raise DataError(f"cannot read the events: {e}") from None
    names = table.column_names
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise DataError(f"the events have two columns named {listed(twice)}")
    if any(n.startswith("\0") for n in names):
        raise DataError("the name of a column begins with a NUL character")
    return table


def is_spark(events: Any) -> bool:
    """Whether these are Spark DataFrames, classic or of Spark Connect; the answer does not load Spark."""
    some = next(iter(events.values()), None) if isinstance(events, Mapping) else events
    return some.__class__.__module__.startswith("pyspark.sql") and hasattr(some, "isStreaming")


def read_schema(path: str | Path) -> pa.Schema:
    """The columns of a file; for a Parquet file, the rows are not read."""
    if Path(path).suffix.lower() in _PARQUET and Path(path).exists():
        try:
            return _parquet_schema(Path(path))
        except (pa.ArrowException, OSError) as e:
            raise DataError(f"cannot read {path}: {e}") from None
    return read_table(path).schema


def _table(source: Any, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if isinstance(source, str | Path):
        return _read_file(Path(source), only, encoded)
    library = source.__class__.__module__.partition(".")[0]
    if library == "pandas" and hasattr(source, "columns"):
        return pa.Table.from_pandas(source, preserve_index=False)
    if library == "polars" and hasattr(source, "collect"):
        source = source.collect()
    if library == "polars" and hasattr(source, "columns"):
        return source.to_arrow()
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, list) and all(isinstance(row, Mapping) for row in source):
        return _from_rows(source)
    kind = f"{source.__class__.__module__}.{source.__class__.__qualname__}"
    raise DataError(
        f"cannot read events from {kind}: give an Arrow table or reader, a pandas or polars frame, "
        "a list of dicts, or a path to Parquet, CSV or JSON lines"
    )


def _with_wide_indices(table: pa.Table) -> pa.Table:
    """Widens the indices of dictionary columns of several chunks, so that they can index the values of all chunks."""
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pa.types.is_dictionary(field.type) and column.num_chunks > 1 and field.type.index_type.bit_width < 32:
            wide = pa.dictionary(pa.int32(), field.type.value_type)
            table = table.set_column(i, field.name, pa.chunked_array([c.cast(wide) for c in column.chunks]))
    return table


def _from_rows(rows: list[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table. Not by Table.from_pylist, which reads only the columns that the first row has."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        # pandas' NaT is an instance of datetime, but stands for a missing time.
        values = [None if v.__class__.__name__ == "NaTType" else v for v in (row.get(name) for row in rows)]
        zoned = {v.tzinfo is not None for v in values if isinstance(v, datetime)}
        if len(zoned) > 1:
            raise DataError(f"the column '{name}' has some times with a zone and some without: give all of them a zone")
        try:
            columns[str(name)] = pa.array(values)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as e:
            raise DataError(f"the column '{name}' cannot be read: {e}") from None
    return pa.table(columns)


_PARQUET = (".parquet", ".pq")


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


def _read_file(path: Path, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    try:
        if not path.exists():
            raise DataError(f"there is no file {path}")
    except OSError as e:
        raise DataError(f"cannot read this path: {e.strerror}") from None
    endings = [s for s in path.suffixes if s not in (".gz", ".bz2", ".zst")]
    ending = endings[-1].lower() if endings else ""
    try:
        if ending in _PARQUET:
            return _read_parquet(path, only, encoded)
        return read_stream_format(path, ending)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as e:
        raise DataError(f"cannot read {path}: {e}") from None


def _read_parquet(source: Any, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    import pyarrow.parquet as pq

    if isinstance(source, pa.NativeFile):
        # In one thread: a process that ended right after a parallel read of a buffer aborted in 2 of 25 runs.
        return pq.ParquetFile(source, pre_buffer=False).read(use_threads=False)
    schema = _parquet_schema(source)
    columns = [n for n in schema.names if n in only] if only is not None and only <= set(schema.names) else None
    strings = encoded in schema.names and pa.types.is_string(schema.field(encoded).type)
    # Buffering ahead helps with remote files; for a local file it costs a tenth of the time (measured).
    how = {"read_dictionary": [encoded] if strings else None, "pre_buffer": False}
    if source.is_file() and (file := pq.ParquetFile(source, **how)).num_row_groups <= 1:
        return file.read(columns=columns)
    # This reads row groups in parallel, but it loads pandas if that is installed: a small file should not wait for it.
    return pq.read_table(source, columns=columns, **how)


def _parquet_schema(path: Path) -> pa.Schema:
    """The columns of a Parquet file, or of a folder of such files, as Spark writes it."""
    import pyarrow.parquet as pq

    return pq.read_schema(path) if path.is_file() else pq.ParquetDataset(path).schema


def read_stream_format(source: Any, ending: str) -> pa.Table:
    """Reads a path or an open file, in the format that `ending`, the end of the file's name, stands for."""
    match ending:
        case ".parquet" | ".pq":
            return _read_parquet(source, None, None)
        case ".csv":
            from pyarrow import csv

            return _checked_text(csv.read_csv(source))
        case ".jsonl" | ".ndjson" | ".json":
            return _read_json(source)
        case ".arrow" | ".feather":
            from pyarrow import feather

            return feather.read_table(source)
    raise DataError(f"cannot tell the format of {source}: name it .parquet, .csv, .jsonl or .arrow")


def _checked_text(table: pa.Table) -> pa.Table:
    """The table of a CSV, after a check that its text is UTF-8: Arrow reads other text as bytes."""
    for name in table.column_names:
        if pa.types.is_binary(table.schema.field(name).type):
            values = table.column(name).to_pylist()
            row = next(i for i, v in enumerate(values) if v is not None and not _is_utf8(v)) + 1
            raise DataError(f"the column '{name}' is not UTF-8 text, first in row {row}: save the file as UTF-8")
    return table


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read_json(source: Any) -> pa.Table:
    """JSON lines, or one JSON array of objects."""
    import json as standard

    from pyarrow import json

    with source if isinstance(source, pa.NativeFile) else pa.input_stream(str(source)) as stream:
        data = stream.read()
    if not data.strip():
        return pa.table({})
    if data.lstrip().startswith(b"["):
        rows = standard.loads(data)
        if not all(isinstance(row, dict) for row in rows):
            raise DataError("a JSON file must hold one object per line, or an array of objects")
        return _from_rows(rows)
    return json.read_json(pa.BufferReader(data))
