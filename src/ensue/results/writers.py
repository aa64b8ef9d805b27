"""Writes rows of matches to one file or to standard output, table by table: Parquet, Arrow, CSV, JSON."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.errors import DataError, listed
from ensue.results.rows import rows_of


class OutputFormat(StrEnum):
    parquet = "parquet"
    csv = "csv"
    arrow = "arrow"
    json = "json"
    jsonl = "jsonl"
    table = "table"


#: The number of rows that become Python objects at a time.
_STEP = 1000


def write_tables(tables: Iterable[pa.Table], output: str | None, wanted: OutputFormat) -> int:
    """Writes one or more tables of one schema to one file; returns the number of rows."""
    count = 0
    writer = None
    with _opened(output) as file:
        for table in tables:
            if writer is None:
                writer = _WRITERS[wanted](file, table.schema)
            writer.write(table)
            count += table.num_rows
        if writer is not None:
            writer.close()
    return count


def write_text(text: str, output: str | None) -> None:
    with _opened(output) as file:
        file.write(text.encode())


@contextmanager
def _opened(output: str | None) -> Iterator[Any]:
    """Standard output, or a file that gets its name when it is complete: a failure leaves an older file unchanged."""
    if output is None or output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        path = Path(os.path.realpath(output))  # a link goes on to lead where it did
        with open(path, "wb") if _takes_what_comes(path) else _complete(path) as file:
            yield file
    except BrokenPipeError:  # nobody reads the pipe of that name any more
        raise
    except OSError as e:
        raise DataError(f"cannot write {output}: {e.strerror or e}") from None


def _takes_what_comes(path: Path) -> bool:
    """Whether this is a pipe or a device, whose place no file may take."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def _complete(path: Path) -> Iterator[Any]:
    """A file that gets its name at the end, and the rights of the one that it replaces."""
    part = Path(f"{path}.part")
    try:
        with open(part, "wb") as file:
            yield file
        if path.is_file():
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _parquet(file: Any, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(file, schema)


def _arrow(file: Any, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(file, schema)


class _Csv:
    """Writes CSV, which has no lists and no bytes: such cells are written as JSON."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        from pyarrow import csv

        self._as_json = [f.name for f in schema if pa.types.is_nested(f.type) or pa.types.is_binary(f.type)]
        fields = [f.with_type(pa.string()) if f.name in self._as_json else f for f in schema]
        self._writer = csv.CSVWriter(file, pa.schema(fields))

    def write(self, table: pa.Table) -> None:
        if self._as_json:
            rows = [row for batch in table.to_batches(_STEP) for row in rows_of(pa.Table.from_batches([batch]))]
            for name in self._as_json:
                cells = pa.array([as_json(row[name]) for row in rows], pa.string())
                table = table.set_column(table.column_names.index(name), name, cells)
        self._writer.write(table)

    def close(self) -> None:
        self._writer.close()


class _JsonLines:
    def __init__(self, file: Any, _schema: pa.Schema) -> None:
        self._file = file

    def write(self, table: pa.Table) -> None:
        for batch in table.to_batches(_STEP):
            for row in rows_of(pa.Table.from_batches([batch])):
                self._file.write(as_json(row).encode() + b"\n")

    def close(self) -> None:
        """Nothing is left to write."""


class _Json:
    """Writes one JSON array, a row a line."""

    def __init__(self, file: Any, _schema: pa.Schema) -> None:
        self._file = file
        self._before = b"["

    def write(self, table: pa.Table) -> None:
        for batch in table.to_batches(_STEP):
            for row in rows_of(pa.Table.from_batches([batch])):
                self._file.write(self._before + b"\n" + as_json(row).encode())
                self._before = b","

    def close(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[" else b"\n]\n")


_WRITERS = {
    OutputFormat.parquet: _parquet,
    OutputFormat.arrow: _arrow,
    OutputFormat.csv: _Csv,
    OutputFormat.json: _Json,
    OutputFormat.jsonl: _JsonLines,
}


def rows_as_written(table: pa.Table, wanted: OutputFormat, *, first: bool) -> bytes:
    """Some rows of a result that goes on, in a format of lines; only the `first` ones have a header."""
    if wanted not in LINES:
        raise DataError(f"a result that goes on is written in lines: as {listed(LINES)}, not as {wanted}")
    file = io.BytesIO()
    writer = _WRITERS[wanted](file, table.schema)
    writer.write(table)
    writer.close()
    written = file.getvalue()
    return written if first or wanted is not OutputFormat.csv else written.partition(b"\n")[2]


#: The formats to which rows can be added later.
LINES = (OutputFormat.jsonl, OutputFormat.csv)


def as_json(value: Any) -> str:
    return json.dumps(_plain(value), default=str, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """The value in terms that JSON has: NaN and infinities become null, bytes become hexadecimal text."""
    match value:
        case dict():
            return {k: _plain(v) for k, v in value.items()}
        case list():
            return [_plain(v) for v in value]
        case float() if not math.isfinite(value):
            return None
        case bytes():
            return value.hex()
    return value
