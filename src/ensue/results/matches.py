"""The result of a query: positions in the stream, from which rows (language page, section 7) are built on demand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial

import pyarrow as pa

from ensue.columns.conversions import as_type
from ensue.columns.evaluation import evaluated, named_by_text
from ensue.columns.match_aggregates import aggregated_of
from ensue.data.budget import Budget, Large
from ensue.data.complex_events import MANY, ComplexEvents, Marks, Positions
from ensue.data.events import EventStream, integers, one_chunk
from ensue.data.partitions import partition_codes
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.check import Checked
from ensue.logic.check_automata import FIELD_TYPES
from ensue.logic.outputs import Output
from ensue.logic.partition_keys import key_name
from ensue.logic.scope import aggregates_of, without_aggregates
from ensue.results.gathering import events_at, values_at
from ensue.results.inside_windows import Inside
from ensue.results.row_sizes import size_of_rows
from ensue.results.rows import SHOWN, Rows, count_of
from ensue.results.svg import Picture

#: Below so many marked events nobody asks how large the rows are.
_MANY_MARKED = 1 << 18
#: Rows are made so many bytes at a time: a part of what the query may take.
_PARTS_A_BUDGET, _LEAST_AT_ONCE, _MOST_AT_ONCE = 32, 1 << 21, 1 << 28


class Matches(Rows):
    """The complex events that a query found, in the order of their ends, or as ORDER BY says.

    They are kept as positions in the stream; tables are built on demand.
    """

    def __init__(
        self,
        checked: Checked,
        stream: EventStream,
        found: ComplexEvents,
        budget: Budget | None = None,
        *,
        unexpected: int = 0,
    ) -> None:
        #: How many events of the stream are not as EXPECT says.
        self.unexpected = unexpected
        self._checked = checked
        self._stream = stream
        self._found = found
        self._budget = budget or Budget()
        self._marks: dict[str, Marks] = {}

    @property
    def start(self) -> Positions:
        """The position of each match's first event."""
        with self._budget.explaining_memory_errors():
            return self._found.start

    @property
    def end(self) -> Positions:
        """The position of each match's last event."""
        with self._budget.explaining_memory_errors():
            return self._found.end

    @cached_property
    def marks(self) -> dict[str, Marks]:
        """For each variable that marks an event in some match: the positions that it marks in each match."""
        with self._budget.explaining_memory_errors():
            size = self._found.nbytes + 16 * sum(self._found.marked_of.values())
            self._budget.check(Large.MATCHES, size, len(self))
            spanned = {self._found.span} if self._found.span is not None and len(self) else set()
            return {x: self._marks_of(x) for x in sorted(self._found.variables() | spanned)}

    def __len__(self) -> int:
        return len(self._found)

    @property
    def checked(self) -> Checked:
        """The query that the matches are of."""
        return self._checked

    def plot(self) -> Picture:
        """The matches on a time line: a lane for each partition, events as dots, matches as bands with arcs.

        The busiest partitions are shown, with some matches of each; above many matches, how many end when. A notebook
        shows the picture, `save` writes it as SVG.
        """
        from ensue.results.time_line import time_line

        return time_line(self)

    @property
    def found(self) -> ComplexEvents:
        """The complex events as positions in `stream`."""
        return self._found

    @property
    def stream(self) -> EventStream:
        """The events that the matches are of."""
        return self._stream

    def some(self, places: Positions) -> Matches:
        """Those of the matches at these places, in their order."""
        return Matches(self._checked, self._stream, self._found.in_order(places), self._budget)

    # -- tables

    def to_arrow(self) -> pa.Table:
        """The partition columns, `start_time`, `end_time`, and one column for each item."""
        return self._table

    @cached_property
    def _table(self) -> pa.Table:
        with self._budget.explaining_memory_errors():
            if self._size_of_rows:
                self._budget.check(Large.TABLE, self._size_of_rows, len(self))
            parts = list(self.tables())
        return parts[0] if len(parts) == 1 else pa.concat_tables(parts)

    def tables(self) -> Iterator[pa.Table]:
        """All rows, a part at a time: for results that are too large for one table. There is one table at least."""
        for part in self._parts():
            with self._budget.explaining_memory_errors():
                table = part._made()
            yield table

    def _parts(self) -> Iterator[Matches]:
        """The matches, so many at a time that their rows are not too large for one table; one part at least."""
        if not self._size_of_rows:
            yield self
            return
        at_once = min(max(self._budget.limit // _PARTS_A_BUDGET, _LEAST_AT_ONCE), _MOST_AT_ONCE)
        row = self._size_of_rows / self._found.marked
        for found in self._found.in_parts(max(int(at_once / row), 1)):
            yield Matches(self._checked, self._stream, found, self._budget)

    @cached_property
    def _size_of_rows(self) -> float:
        """About what the rows take in a table, in bytes; 0 where they are few."""
        if self._found.marked < _MANY_MARKED:
            return 0.0
        return size_of_rows(self._checked.outputs, len(self._checked.query.partition), self._stream, self._found)

    def _made(self) -> pa.Table:
        # A thread makes each column only when it comes to it: most of the time goes into memory touched for the first
        # time.
        hidden = {o.name for o in self._checked.outputs if o.hidden}
        made = {name: make for name, make in self._columns.items() if name not in hidden}
        if len(self) < MANY:
            return pa.table({name: make() for name, make in made.items()})
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            columns = pool.map(lambda make: make(), made.values())
            return pa.table(dict(zip(made, columns, strict=True)))

    @property
    def _columns(self) -> dict[str, Callable[[], pa.ChunkedArray | pa.Array]]:
        """How each column is made, by its name; also those that only sort."""
        table, times = self._stream.table, self._stream.time_column
        keys = {key_name(k): k.attribute for k in self._checked.query.partition}
        return {
            **{name: partial(self._at_end, table.column(k)) for name, k in keys.items()},
            "start_time": lambda: values_at(times, self.start),
            "end_time": partial(self._at_end, times),
            **{o.name: partial(self._column, o) for o in self._checked.outputs},
        }

    def values_of(self, column: str) -> pa.Array:
        """One column of the result, or one that only sorts it."""
        values = self._columns[column]()
        return one_chunk(values) if isinstance(values, pa.ChunkedArray) else values

    def _at_end(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return values_at(column, self.end)

    def _column(self, output: Output) -> pa.ChunkedArray | pa.Array:
        e = output.expression
        if output.whole is not None:
            return self._events_of(output.whole)
        if isinstance(e, ast.Attribute):  # the checks made sure that its variable is single
            return values_at(self._stream.table.column(e.name), self._marks_of(e.variable).positions)
        assert output.type is not None, "a checked query over a known schema has types"
        columns = aggregated_of(self._found, aggregates_of(e), self._values_at)
        for field in ast.find(e, ast.InRegister):
            columns[print_expression(field)] = self._in_register(field)
        for a in ast.find(without_aggregates(e), ast.Attribute):
            columns[print_expression(a)] = self._values_at(a.name, self._marks_of(a.variable).positions)
        return as_type(evaluated(named_by_text(e), columns, len(self)), output.type.arrow)

    def _in_register(self, field: ast.InRegister) -> pa.Array:
        """What a field of an automaton's register holds in each match."""
        found = self._found.computed.get(field.name)
        return pa.array([], FIELD_TYPES[field.type].arrow) if found is None else found

    def _values_at(self, attribute: str, positions: Positions) -> pa.Array:
        return one_chunk(values_at(self._stream.table.column(attribute), positions))

    def _marks_of(self, variable: str) -> Marks:
        if variable not in self._marks:
            inside = variable == self._found.span
            self._marks[variable] = self._inside() if inside else self._found.marks(variable)
        return self._marks[variable]

    def _inside(self) -> Marks:
        """All events of windows that were found by their ends."""
        keys = [k.attribute for k in self._checked.query.partition]
        inside = Inside(partition_codes(self._stream, keys), self.start, self.end)
        self._budget.check(Large.MATCHES, inside.nbytes, len(self))
        return inside.marks()

    def _events_of(self, variable: str) -> pa.Array:
        """The column of a whole variable: for each match the list of its events, as structs of all input columns."""
        marks = self._marks_of(variable)
        structs = events_at(self._stream.table, marks.positions)
        return pa.ListArray.from_arrays(integers(marks.offsets).cast(pa.int32()), structs)

    # -- for people

    def head(self, count: int = 5) -> Matches:
        """The first matches; the rows of the others are not made."""
        return Matches(self._checked, self._stream, self._found.first(count), self._budget)

    def _head(self) -> pa.Table:
        return self.head(SHOWN).to_arrow()

    def _counted(self) -> str:
        return count_of(len(self), "match", "matches")
