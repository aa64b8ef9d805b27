"""Estimates how much memory the rows of matches will take, before they are made."""

from __future__ import annotations

import pyarrow as pa

from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream
from ensue.language import ast
from ensue.logic.functions import AGGREGATES
from ensue.logic.outputs import Output

#: The bytes of a number, of a time, or of an offset in a list.
_WORD = 8.0
#: The bytes of an aggregate, with the arrays that are needed to compute it; also those of a Python object.
_OBJECT = 100.0
#: In pandas an event is a dict. Its bytes without entries, and the bytes of each entry with its value, as measured.
_DICT, _ENTRY = 240.0, 80.0


def size_of_rows(outputs: tuple[Output, ...], keys: int, stream: EventStream, found: ComplexEvents) -> float:
    """The approximate bytes of the matches as a table with these columns and this number of key columns."""
    marked = found.marked_of
    each = sum(_size_of_a_value(o, stream) for o in outputs) + (keys + 2) * _WORD
    return each * len(found) + sum(_size_of_an_event(o, stream) * marked.get(_listed(o), 0) for o in outputs)


def _listed(output: Output) -> str:
    """The variable for whose events the column has one value each; empty if it has one value for each match."""
    e = output.expression
    if isinstance(e, ast.Call) and e.function == "collect":
        return next((a.variable for a in ast.find(e, ast.Attribute)), "")
    return output.whole or ""


def _size_of_a_value(output: Output, stream: EventStream) -> float:
    if _listed(output):
        return _WORD
    calls = [c.function for c in ast.find(output.expression, ast.Call)]
    if any(f in AGGREGATES and f not in ("count", "first", "last") for f in calls):
        return _OBJECT
    return _size_of_an_event(output, stream)


def _size_of_an_event(output: Output, stream: EventStream) -> float:
    """The bytes of what the column shows of one event."""
    shown = [a.name for a in ast.find(output.expression, ast.Attribute)]
    names = stream.table.column_names if output.whole else shown
    return sum(_width(stream.table.column(n)) for n in names) if names else _WORD


def _width(column: pa.ChunkedArray) -> float:
    """The bytes of one value. If the column has a dictionary, these are the bytes of an index into it."""
    if pa.types.is_dictionary(column.type):
        return float(column.type.index_type.bit_width // 8)
    return max(1.0, float(column.nbytes) / max(len(column), 1))


def size_in_pandas(table: pa.Table) -> float:
    """The approximate bytes of a table as a pandas frame, in which lists and events are Python objects."""
    return sum(_size_as_objects(column) for column in table.columns)


def _size_as_objects(column: pa.ChunkedArray) -> float:
    if not pa.types.is_list(column.type):
        return float(column.nbytes) if pa.types.is_primitive(column.type) else _ENTRY * len(column) + column.nbytes
    events = sum(len(chunk.flatten()) for chunk in column.chunks)
    value = column.type.value_type
    one = _DICT + _ENTRY * value.num_fields if pa.types.is_struct(value) else _ENTRY
    return _OBJECT * len(column) + one * events
