"""Reads Parquet files in a task, as events in the order of time with the travelling columns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.data.events import as_integers
from ensue.errors import DataError
from ensue.spark.file_stretches import Stretch
from ensue.spark.parquet_footers import RowGroup, ScannedFile
from ensue.spark.plain_scan import SETTING
from ensue.spark.recipe import TIE, TIME, TYPE, in_order, travelling_name


@dataclass(frozen=True)
class FileReader:
    """Knows the files of a query, and which of their columns are which travelling columns."""

    files: tuple[ScannedFile, ...]
    columns: pa.Schema  # by the user's names, with the types that Spark has, in the order of `ScannedFile.names`
    attributes: tuple[str, ...]
    time: str
    type: str | None  # if None, every event has the type `stream`
    stream: str
    tiebreak: str | None

    def in_order(self, stretch: Stretch, budget: Budget) -> Iterator[pa.Table]:
        """The events of a stretch in the order of time; equal times are in the order of files and rows."""
        waiting: list[pa.Table] = []
        holder = budget.holder()
        opened = OpenFile(self)
        for place, group in enumerate(stretch.groups):
            waiting.append(_within(self._travelling(opened.read(group), group), stretch))
            joined = _joined(waiting)
            holder.hold(Large.TASK, 2 * joined.nbytes, len(joined))
            ordered = in_order(joined)
            if place + 1 == len(stretch.groups):
                ready = len(ordered)
            else:  # a row group that follows may have events from this time on
                ready = int(np.searchsorted(as_integers(ordered.column(TIME)), stretch.groups[place + 1].earliest))
            yield ordered.slice(0, ready)
            waiting = [ordered.slice(ready)] if ready < len(ordered) else []

    def _travelling(self, table: pa.Table, group: RowGroup) -> pa.Table:
        times = table.column(self.time)
        if times.null_count:
            path = self.files[group.file].path
            raise DataError(
                f"the time column '{self.time}' has a NULL value in {path}: an event without a time has no place in "
                "the stream"
            )
        found = {TIME: times, **{travelling_name(a): self._plain(table, a) for a in self.attributes}}
        if self.type is None:
            found[TYPE] = pa.chunked_array([pa.repeat(pa.scalar(self.stream), len(table)).dictionary_encode()])
        else:
            found[TYPE] = table.column(self.type)
        if self.tiebreak is not None:
            found[TIE] = self._plain(table, self.tiebreak)
        return pa.table(found)

    def _plain(self, table: pa.Table, name: str) -> pa.ChunkedArray:
        """The column with the type that was promised: only the types of events are read as a dictionary."""
        column, type_ = table.column(name), self.columns.field(name).type
        return column if column.type == type_ else column.cast(type_)


def _joined(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _within(table: pa.Table, stretch: Stretch) -> pa.Table:
    """The events that the stretch reads."""
    if stretch.reads_from is None and stretch.end is None:
        return table
    times = as_integers(table.column(TIME))
    read = np.ones(len(times), dtype=np.bool_)
    if stretch.reads_from is not None:
        read &= times >= stretch.reads_from
    if stretch.end is not None:
        read &= times < stretch.end
    return table if read.all() else table.filter(pa.array(read))


class OpenFile:
    """Reads row groups, mostly of one file after another: the last file stays open."""

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self._number = -1
        self._file: Any = None

    def read(self, group: RowGroup) -> pa.Table:
        """The columns of a row group, with the types that Spark has."""
        scanned = self._reader.files[group.file]
        try:
            if self._number != group.file:
                self._open(group.file, scanned)
            names = [name for name in scanned.names if name is not None]
            found = self._file.read_row_group(group.number, columns=list(dict.fromkeys(names)), use_threads=False)
        except (OSError, pa.ArrowException) as e:
            raise _changed(scanned.path, f"cannot be read: {e}") from None
        columns = map(partial(_column, found, group.rows), scanned.names, scanned.values, self._reader.columns)
        return pa.table(dict(zip(self._reader.columns.names, columns, strict=True)))

    def _open(self, number: int, scanned: ScannedFile) -> None:
        import pyarrow.parquet as pq

        try:
            status = os.stat(scanned.path)
        except FileNotFoundError:
            raise _changed(scanned.path, "is gone") from None
        if (status.st_size, status.st_mtime_ns) != (scanned.size, scanned.modified):
            raise _changed(scanned.path, "has changed")
        columns = zip(scanned.names, self._reader.columns.names, strict=True)
        types = [n for n, column in columns if n is not None and column == self._reader.type]
        how = {"read_dictionary": types, "pre_buffer": False, "coerce_int96_timestamp_unit": "us"}
        self._file, self._number = pq.ParquetFile(scanned.path, **how), number


def _column(table: pa.Table, rows: int, name: str | None, value: Any, field: pa.Field) -> pa.ChunkedArray:
    """A column as Spark has it: where the file has none, it is the value of its folder, or NULL."""
    if name is None:
        return pa.chunked_array([pa.repeat(pa.scalar(value, field.type), rows)])
    column = table.column(name)
    if pa.types.is_dictionary(column.type) and column.type.value_type == field.type:
        return column
    if pa.types.is_timestamp(column.type) and column.type.tz is None and field.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))  # INT96, which is in UTC
    return column if column.type == field.type else column.cast(field.type)


def _changed(path: str, what: str) -> DataError:
    return DataError(
        f"the file {path} {what} since the query was planned: read the DataFrame anew, and run the query over that\n"
        f"  The tasks read the files themselves; with {SETTING} = false, Spark does"
    )
