"""A file that grows, or standard input as it comes: the new rows, again and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.cli.interruption import stop_if_asked
from ensue.errors import DataError

#: How often a file is looked at, in seconds.
PAUSE = 0.2
#: At most so much of a file is read at a time.
_AT_ONCE = 1 << 24


def growing_tables(input: str) -> Iterator[pa.Table | None]:
    """The rows of CSV, TSV or JSON lines as they are written, only whole lines; None while nothing comes.

    It ends where standard input ends; a file is followed until the process is stopped.
    """
    ending = ".jsonl" if input == "-" else Path(input).suffix.lower()
    if ending not in (".csv", ".tsv", ".jsonl", ".ndjson"):
        raise DataError(f"--follow reads lines: {input} is to be .csv, .tsv, .jsonl or .ndjson")
    reader: _JsonLines | _Separated | None = None
    for lines in whole_lines(_pieces(input)):
        if lines is None:
            yield None
            continue
        if reader is None:
            is_json = lines.lstrip()[:1] == b"{"
            reader = _JsonLines() if is_json else _Separated("\t" if ending == ".tsv" else ",")
        try:
            table = reader.read(lines)
        except (pa.ArrowException, ValueError) as e:
            raise DataError(f"cannot read the new lines of {input}: {e}") from None
        if table is not None:
            yield table


def whole_lines(pieces: Iterator[bytes | None]) -> Iterator[bytes | None]:
    """What comes, cut behind the last line break; what is left at the end counts as a line.

    >>> list(whole_lines(iter([b"a", None, b"b\\nc", b"\\nd"])))
    [None, b'ab\\n', b'c\\n', b'd']
    """
    rest = b""
    for piece in pieces:
        if piece is None:
            yield None
            continue
        lines, line_break, after = piece.rpartition(b"\n")
        if line_break:
            yield rest + lines + line_break
            rest = after
        else:
            rest += piece
    if rest.strip():
        yield rest


def _pieces(input: str) -> Iterator[bytes | None]:
    if input == "-":
        source: Any = sys.stdin.buffer
        while piece := source.read1(_AT_ONCE):  # what is there, as soon as something is
            stop_if_asked()
            yield piece
        return
    path = Path(input)
    if not path.is_file():
        raise DataError(f"there is no file {input}")
    with open(path, "rb") as file:
        while True:
            piece = file.read(_AT_ONCE)
            if piece:
                yield piece
                continue
            if not path.exists() or path.stat().st_size < file.tell():
                raise DataError(f"{input} is shorter than it was, or gone: what follows is not known")
            yield None
            stop_if_asked()
            time.sleep(PAUSE)


class _Separated:
    """CSV or TSV; the first lines decide the columns and their types."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._header = b""
        self._types: dict[str, pa.DataType] = {}

    def read(self, lines: bytes) -> pa.Table | None:
        from ensue.data.text_formats import read_csv

        if not self._header:
            header, _, lines = lines.partition(b"\n")
            self._header = header + b"\n"
        if not lines.strip():
            return None
        table = read_csv(pa.BufferReader(self._header + lines), self._delimiter, self._types)
        if not self._types:
            table = _typed(table)
            self._types = {f.name: f.type for f in table.schema}
        return table


class _JsonLines:
    """JSON lines; the first ones decide the columns and their types."""

    def __init__(self) -> None:
        self._schema: pa.Schema | None = None

    def read(self, lines: bytes) -> pa.Table | None:
        from pyarrow import json

        if not lines.strip():
            return None
        how = json.ParseOptions(explicit_schema=self._schema, unexpected_field_behavior="ignore")
        table = json.read_json(pa.BufferReader(lines), None, how if self._schema else None)
        if self._schema is None:
            table = _typed(table)
            self._schema = table.schema
        return table


def _typed(table: pa.Table) -> pa.Table:
    """A column of which nothing is known yet is one of texts."""
    known = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in table.schema]
    return table.cast(pa.schema(known))
