"""Whatever the user has, as an Arrow table: tables, frames, rows, files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.errors import DataError, listed


def read_table(source: Any, *, only: frozenset[str] | None = None, encoded: str | None = None) -> pa.Table:
    """One source as an Arrow table: a table, batches, a pandas or polars frame, rows, or a path.

    From a Parquet file, `only` these columns are read if it has them all, and the column `encoded` is read as a
    dictionary, so that its strings are never made.
    """
    try:
        table = _table(source, only, encoded)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError) as e:
        raise DataError(f"cannot read the events: {e}") from None
    names = table.column_names
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise DataError(f"the events have two columns named {listed(twice)}")
    if any(n.startswith("\0") for n in names):
        raise DataError("the name of a column begins with a NUL character")
    return table.cast(pa.schema([f.with_type(_without_view(f.type)) for f in table.schema]))


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
        # Not Table.from_pylist, which takes the columns of the first row alone.
        names = dict.fromkeys(name for row in source for name in row)
        return pa.table({name: pa.array([row.get(name) for row in source]) for name in names})
    kind = f"{source.__class__.__module__}.{source.__class__.__qualname__}"
    raise DataError(
        f"cannot read events from {kind}: give an Arrow table or reader, a pandas or polars frame, "
        "a list of dicts, or a path to Parquet, CSV or JSON lines"
    )


_PARQUET = (".parquet", ".pq")


def _without_view(type_: pa.DataType) -> pa.DataType:
    """The view types of Arrow as plain ones: many of its functions have no kernel for views."""
    if pa.types.is_dictionary(type_):
        plain = _without_view(type_.value_type)
        return type_ if plain == type_.value_type else plain
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(type_, type_)


def _read_file(path: Path, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    if not path.exists():
        raise DataError(f"there is no file {path}")
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

    if only is None and encoded is None:
        return pq.read_table(source)
    schema = pq.read_schema(source)
    columns = [n for n in schema.names if n in only] if only is not None and only <= set(schema.names) else None
    strings = encoded in schema.names and pa.types.is_string(schema.field(encoded).type)
    return pq.read_table(source, columns=columns, read_dictionary=[encoded] if strings else None)


def read_stream_format(source: Any, ending: str) -> pa.Table:
    """A path or an open file in the format that the file name's ending names."""
    match ending:
        case ".parquet" | ".pq":
            return _read_parquet(source, None, None)
        case ".csv":
            from pyarrow import csv

            return csv.read_csv(source)
        case ".jsonl" | ".ndjson" | ".json":
            from pyarrow import json

            return json.read_json(source)
        case ".arrow" | ".feather":
            from pyarrow import feather

            return feather.read_table(source)
    raise DataError(f"cannot tell the format of {source}: name it .parquet, .csv, .jsonl or .arrow")
