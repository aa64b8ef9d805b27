"""What every result of rows can do: tables of several libraries, a dict for each row, and a short text for people."""

from __future__ import annotations

import html
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ensue.data.budget import Budget, Large
from ensue.results.row_sizes import size_in_pandas

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars


#: The number of rows in the text for people.
SHOWN = 20
_WIDEST_CELL = 60


class Rows(ABC):
    """A result of rows, which gives tables of several libraries, one dict for each row, and a short text for people."""

    #: How much memory the tables may take, with the result itself.
    _budget: Budget

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows."""

    @abstractmethod
    def _head(self) -> pa.Table:
        """The first rows; the others are not built."""

    @abstractmethod
    def _counted(self) -> str:
        """The number of rows, in words."""

    def tables(self) -> Iterator[pa.Table]:
        """All rows, a part at a time: for results that are too large for one table. There is one table at least."""
        yield self.to_arrow()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """One dict for each row, with the columns of `to_arrow`; not all rows are made at once."""
        for table in self.tables():
            for batch in table.to_batches(max_chunksize=1000):
                yield from rows_of(pa.Table.from_batches([batch]))

    def to_pandas(self) -> pandas.DataFrame:
        """The columns of `to_arrow` as a pandas frame; it needs pandas."""
        _need("pandas")
        table = self.to_arrow()
        with self._budget.explaining_memory_errors():
            self._budget.check(Large.TABLE, size_in_pandas(table), len(self))
            return table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The columns of `to_arrow` as a polars frame; it needs polars."""
        _need("polars")
        import polars

        table = self.to_arrow()
        with self._budget.explaining_memory_errors():
            self._budget.check(Large.TABLE, table.nbytes, len(self))
            frame = polars.from_arrow(table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """The columns of `to_arrow` as a relation of DuckDB, of this connection or of DuckDB's own; it needs duckdb."""
        _need("duckdb", "duckdb")
        import duckdb

        return (connection or duckdb).from_arrow(self.to_arrow())

    def write_parquet(self, path: str | Path) -> int:
        """Writes the columns of `to_arrow` to a Parquet file, a part at a time, and returns the number of rows.

        The file gets its name when it is complete: a failure leaves an older file as it was.
        """
        from ensue.results.writers import OutputFormat, write_tables

        return write_tables(self.tables(), str(path), OutputFormat.parquet)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns of `to_arrow` for any library that reads Arrow streams: `polars.DataFrame(matches)`."""
        tables = self.tables()
        first = next(tables)
        batches = (batch for table in chain((first,), tables) for batch in table.to_batches())
        return pa.RecordBatchReader.from_batches(first.schema, batches).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return as_text(self._head(), self._counted())

    def _repr_html_(self) -> str:
        head = self._head()
        titles = "".join(f"<th>{html.escape(n)}</th>" for n in head.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(as_cell(v))}</td>" for v in row.values()) + "</tr>"
            for row in rows_of(head)
        )
        counted = html.escape(self._counted())
        return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table><p>{counted}</p>"


def as_text(head: pa.Table, counted: str) -> str:
    """The first rows as a table for people, followed by the count of all rows in words."""
    names = head.column_names
    rows = [[as_cell(v) for v in row.values()] for row in rows_of(head)]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [names, *rows]]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join([*lines, counted])


def count_of(count: int, one: str, many: str) -> str:
    """The count with its noun; if there are more rows than are shown, also how many are."""
    found = f"{count:,} {one if count == 1 else many}"
    return f"{found}, the first {SHOWN} shown" if count > SHOWN else found


def _need(library: str, package: str = "ensue[frames]") -> None:
    if importlib.util.find_spec(library) is None:
        raise ImportError(f"to_{library} needs {library}: install {package}")


def as_cell(value: Any, widest: int = _WIDEST_CELL) -> str:
    """A value as one cell of a table for people, cut if it is long."""
    if isinstance(value, list):
        text = ", ".join(as_cell(v, widest) for v in value)
    elif isinstance(value, dict):
        text = "(" + ", ".join(f"{k}={as_cell(v, widest)}" for k, v in value.items() if v is not None) + ")"
    else:
        text = "NULL" if value is None else str(value)
    text = text.replace("\r", "\\r").replace("\n", "\\n")
    return text if len(text) <= widest else text[: widest - 3] + "..."


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as dicts; times become text if Python's datetime cannot hold one (nanoseconds, the year 10000)."""
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (OverflowError, ValueError):
        rows = table.cast(pa.schema([f.with_type(_times_as_text(f.type)) for f in table.schema])).to_pylist()
    return rows


def _times_as_text(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return pa.string()
    if pa.types.is_struct(type_):
        return pa.struct([f.with_type(_times_as_text(f.type)) for f in type_])
    return pa.list_(_times_as_text(type_.value_type)) if pa.types.is_list(type_) else type_
