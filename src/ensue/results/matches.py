"""The result of a query: positions in the stream, from which rows (language page, section 7) are built on demand."""

from __future__ import annotations

import html
import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ensue.columns.masks import named_by_text, values
from ensue.data.complex_events import MANY, ComplexEvents, Marks, Positions
from ensue.data.events import EventStream, integers, one_chunk
from ensue.engines.reference.expressions import Events, Expressions, Scope
from ensue.language import ast
from ensue.language.ast import NANOSECONDS
from ensue.language.printer import print_expression
from ensue.logic.check import Checked
from ensue.logic.functions import AGGREGATES
from ensue.logic.outputs import Output
from ensue.logic.scope import named_in, singles
from ensue.results.gathering import taken

if TYPE_CHECKING:
    import pandas
    import polars


class Rows(ABC):
    """A result of rows, which gives tables of several libraries, one dict for each row, and a short text for people."""

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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """One dict for each row, with the columns of `to_arrow`."""
        for batch in self.to_arrow().to_batches(max_chunksize=1000):
            yield from rows_of(pa.Table.from_batches([batch]))

    def to_pandas(self) -> pandas.DataFrame:
        _need("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        _need("polars")
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __repr__(self) -> str:
        return as_text(self._head(), self._counted())

    def _repr_html_(self) -> str:
        head = self._head()
        titles = "".join(f"<th>{html.escape(n)}</th>" for n in head.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(v))}</td>" for v in row.values()) + "</tr>"
            for row in rows_of(head)
        )
        counted = html.escape(self._counted())
        return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table><p>{counted}</p>"


class Matches(Rows):
    """The complex events that a query found, in the order of their ends.

    They are kept as positions in the stream; tables are built on demand.
    """

    def __init__(self, checked: Checked, stream: EventStream, found: ComplexEvents) -> None:
        self._checked = checked
        self._stream = stream
        self._found = found
        self._marks: dict[str, Marks] = {}

    @property
    def start(self) -> Positions:
        """The position of each match's first event."""
        return self._found.start

    @property
    def end(self) -> Positions:
        """The position of each match's last event."""
        return self._found.end

    @cached_property
    def marks(self) -> dict[str, Marks]:
        """For each variable that marks an event in some match: the positions that it marks in each match."""
        return {x: self._marks_of(x) for x in sorted(self._found.variables())}

    def __len__(self) -> int:
        return len(self._found)

    # -- tables

    def to_arrow(self) -> pa.Table:
        """The partition columns, `start_time`, `end_time`, and one column for each item."""
        return self._table

    @cached_property
    def _table(self) -> pa.Table:
        table, times = self._stream.table, self._stream.time_column
        keys = [k.attribute for k in self._checked.query.partition]
        # A thread makes each column only when it comes to it: most of the time goes into memory touched for the first
        # time.
        made: dict[str, Callable[[], pa.ChunkedArray | pa.Array]] = {
            **{k: partial(self._at_end, table.column(k)) for k in keys},
            "start_time": lambda: taken(times, self.start),
            "end_time": partial(self._at_end, times),
            **{o.name: partial(self._column, o) for o in self._checked.outputs},
        }
        if len(self) < MANY:
            return pa.table({name: make() for name, make in made.items()})
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            columns = pool.map(lambda make: make(), made.values())
            return pa.table(dict(zip(made, columns, strict=True)))

    def _at_end(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return taken(column, self.end)

    def _column(self, output: Output) -> pa.ChunkedArray | pa.Array:
        e = output.expression
        if output.whole is not None:
            return self._events_of(output.whole)
        if isinstance(e, ast.Attribute):  # the checks made sure that its variable is single
            return taken(self._stream.table.column(e.name), self._marks_of(e.variable).positions)
        assert output.type is not None, "a checked query over a known schema has types"
        column = self._at_once(e)
        if column is not None:
            return column.cast(output.type.arrow)
        return arrow_array(self._match_by_match(e), output.type.arrow)

    def _at_once(self, e: ast.Expression) -> pa.Array | None:
        """The values of an item as one column; None if it has an aggregate and is not just a count, first or last."""
        match e:
            case ast.Call(function="count", arguments=(ast.Name(name=x),)):
                return integers(np.diff(self._marks_of(x).offsets))
            case ast.Call(function="first" | "last", arguments=(ast.Attribute(variable=x, name=name),)):
                marks = self._marks_of(x)
                places = marks.offsets[:-1] if e.function == "first" else marks.offsets[1:] - 1
                empty = np.diff(marks.offsets) == 0
                padded = np.append(marks.positions, 0)  # so that the index is valid even if no event is marked
                return one_chunk(self._stream.table.column(name).take(pa.array(padded[places], mask=empty)))
        if any(c.function in AGGREGATES for c in ast.find(e, ast.Call)):
            return None
        terms = {print_expression(a): a for a in ast.find(e, ast.Attribute)}
        columns = {
            text: one_chunk(taken(self._stream.table.column(a.name), self._marks_of(a.variable).positions))
            for text, a in terms.items()
        }
        return values(named_by_text(e), columns, len(self))

    def _marks_of(self, variable: str) -> Marks:
        if variable not in self._marks:
            self._marks[variable] = self._found.marks(variable)
        return self._marks[variable]

    def _events_of(self, variable: str) -> pa.Array:
        """The column of a whole variable: for each match the list of its events, as structs of all input columns."""
        marks = self._marks_of(variable)
        attributes = [n for n in self._stream.table.column_names if not n.startswith("\0")]
        table = self._stream.table.select(attributes)
        columns = [one_chunk(taken(c, marks.positions)) for c in table.columns]
        fields = [f.with_type(c.type) for f, c in zip(table.schema, columns, strict=True)]
        structs = pa.StructArray.from_arrays(columns, fields=fields)
        return pa.ListArray.from_arrays(integers(marks.offsets).cast(pa.int32()), structs)

    def _match_by_match(self, e: ast.Expression) -> list[Any]:
        """The values of an item, evaluated match by match by the reference."""
        expressions = Expressions(Events(self._stream, []))
        single = singles(self._checked.query.pattern)
        marks = {x: self._marks_of(x) for x in named_in(e) | {n.name for n in ast.find(e, ast.Name)}}
        found = []
        for m in range(len(self)):
            sets = {x: mark.of(m).tolist() for x, mark in marks.items()}
            chosen = {x: positions[0] for x, positions in sets.items() if x in single}
            found.append(expressions.value(e, Scope(chosen, sets)))
        return found

    # -- for people

    def _head(self) -> pa.Table:
        first = self._found.in_order(np.arange(min(SHOWN, len(self))))
        return Matches(self._checked, self._stream, first).to_arrow()

    def _counted(self) -> str:
        return count_of(len(self), "match", "matches")


def as_text(head: pa.Table, counted: str) -> str:
    """The first rows as a table for people, followed by the count of all rows in words."""
    names = head.column_names
    rows = [[_cell(v) for v in row.values()] for row in rows_of(head)]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [names, *rows]]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join([*lines, counted])


def count_of(count: int, one: str, many: str) -> str:
    """The count with its noun; if there are more rows than are shown, also how many are."""
    found = f"{count:,} {one if count == 1 else many}"
    return f"{found}, the first {SHOWN} shown" if count > SHOWN else found


def _need(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        raise ImportError(f"to_{library} needs {library}: install ensue[frames]")


#: The number of rows in the text for people.
SHOWN = 20
_WIDEST_CELL = 60


def _cell(value: Any) -> str:
    if isinstance(value, list):
        text = ", ".join(_cell(v) for v in value)
    elif isinstance(value, dict):
        text = "(" + ", ".join(f"{k}={_cell(v)}" for k, v in value.items() if v is not None) + ")"
    else:
        text = "NULL" if value is None else str(value)
    text = text.replace("\r", "\\r").replace("\n", "\\n")
    return text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 3] + "..."


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


def arrow_array(values: list[Any], type_: pa.DataType) -> pa.Array:
    """The column of an expression's Python values; times are given in nanoseconds and converted to the type's unit."""
    if pa.types.is_list(type_):
        offsets = np.cumsum([0, *(len(v) for v in values)])
        flat = arrow_array([v for vs in values for v in vs], type_.value_type)
        return pa.ListArray.from_arrays(integers(offsets).cast(pa.int32()), flat)
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        ticks = [None if v is None else int(v // NANOSECONDS[type_.unit]) for v in values]
        return pa.array(ticks, pa.int64()).cast(type_)
    if pa.types.is_date32(type_):
        return pa.array([None if v is None else v // NANOSECONDS["d"] for v in values], pa.int32()).cast(type_)
    if pa.types.is_date64(type_):
        return pa.array([None if v is None else v // NANOSECONDS["ms"] for v in values], pa.int64()).cast(type_)
    if pa.types.is_floating(type_):
        values = [None if v is None else float(v) for v in values]
    return pa.array(values, type_)
