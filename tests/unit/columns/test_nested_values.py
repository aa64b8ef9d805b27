"""Fields, elements and values of keys over columns of every form that Arrow has for them, and over parts of columns."""

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from odd_values import by_columns, by_reference, same

from ensue.engines.reference.python_values import python_values
from ensue.language import ast
from ensue.language.parser import parse_expression

LISTS = [[1, 2, 3], None, [], [None, 5], [7], [1], [5, 5], None]
INDICES = [1, 2, -1, -2, 3, 0, 2**63 - 1, None]
FORMS = [
    pa.list_(pa.int64()),
    pa.large_list(pa.int64()),
    pa.list_view(pa.int64()),
    pa.large_list_view(pa.int64()),
    pa.list_(pa.int8()),
    pa.list_(pa.float32()),
]


def checked(text: str, columns: dict[str, pa.Array]) -> list[Any]:
    """What engine and reference say of an expression over bare names: the same, also over a part of the rows."""
    condition = parse_expression(f"x[{text}]")
    assert isinstance(condition, ast.Each)
    e, length = condition.condition, len(next(iter(columns.values())))
    found = by_columns(e, columns, length)
    assert all(map(same, found, by_reference(e, columns, length)))
    part = {name: column.slice(1, length - 2) for name, column in columns.items()}
    assert all(map(same, found[1:-1], by_columns(e, part, length - 2)))
    assert all(map(same, found[1:-1], by_reference(e, part, length - 2)))
    assert by_columns(e, {name: column.slice(0, 0) for name, column in columns.items()}, 0) == []
    return found


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_lists_in_every_form(form):
    columns = {"l": pa.array(LISTS, form), "n": pa.array(INDICES)}
    assert checked("l[1]", columns) == [1, None, None, None, 7, 1, 5, None]
    assert checked("l[-2]", columns) == [2, None, None, None, None, None, 5, None]
    assert checked("l[n]", columns) == [1, None, None, None, None, None, None, None]
    assert checked("length(l)", columns) == [3, None, 0, 2, 1, 1, 2, None]
    assert checked("contains(l, 5)", columns) == [False, None, False, True, False, False, True, None]
    assert checked("contains(l, n)", columns) == [True, None, False, None, False, False, False, None]
    assert checked("l[NULL]", columns) == [None] * 8
    assert checked("split('a b', ' ')[n]", columns) == ["a", "b", "b", "a", None, None, None, None]


def test_lists_of_one_size():
    columns = {"l": pa.array([[1, 2], None, [3, None], [4, 5]], pa.list_(pa.int64(), 2)), "n": pa.array([2, 1, -1, -2])}
    assert checked("l[n]", columns) == [2, None, None, 4]
    assert checked("length(l)", columns) == [2, None, 2, 2]
    assert checked("contains(l, 2)", columns) == [True, None, None, False]


def test_an_index_beyond_all_integers():
    columns = {"l": pa.array([[1], [2], [3]]), "n": pa.array([1, 2**63, 2**64 - 1], pa.uint64())}
    assert checked("l[n]", columns) == [1, None, None]


def test_maps():
    entries = [[("a", 1), ("b", 2)], None, [], [("a", None)], [("b", 3), ("a", 4), ("a", 5)]]
    columns = {"m": pa.array(entries, pa.map_(pa.string(), pa.int64())), "k": pa.array(["b", "b", "b", "a", "b"])}
    assert checked("m['a']", columns) == [1, None, None, None, 5]
    assert checked("m[k]", columns) == [2, None, None, None, 3]
    numbered = pa.array([[(1, "x")], [(2, "y")], [(-1, "z")]], pa.map_(pa.int32(), pa.string()))
    assert checked("m[-1]", {"m": numbered}) == [None, None, "z"]
    assert checked("m[2]", {"m": numbered}) == [None, "y", None]


def test_structs_with_times_and_texts():
    type_ = pa.struct([("t", pa.timestamp("ms", "Europe/Berlin")), ("d", pa.date32()), ("s", pa.string())])
    rows = [
        {"t": datetime(2024, 3, 31, 1, 30), "d": datetime(2024, 3, 31), "s": "é"},
        None,
        {"t": None, "d": None, "s": None},
    ]
    columns = {"u": pa.array(rows, type_), "l": pa.array([rows, None, rows[:1]], pa.list_(type_))}
    assert checked("hour(u.t)", columns) == [3, None, None]
    assert checked("day(l[1].d)", columns) == [31, None, 31]
    assert checked("upper(u.s) || l[1].s", columns) == ["Éé", None, None]
    assert checked("u.t - u.t < 1 s", columns) == [True, None, None]
    assert checked("u IS NULL", columns) == [False, True, False]


def test_texts_with_a_dictionary_inside():
    coded = pa.StructArray.from_arrays([pa.array(["a", "b", "a", None]).dictionary_encode()], ["s"])
    assert checked("u.s || '!'", {"u": coded}) == ["a!", "b!", "a!", None]


def test_a_column_of_nothing():
    columns = {"u": pa.nulls(3), "n": pa.array([1, 2, 3])}
    assert checked("u.id", columns) == [None] * 3
    assert checked("u[n]", columns) == [None] * 3


def test_values_of_the_reference_keep_their_places_in_parts_of_columns():
    maps = pa.array([[("a", 1)], None, [("b", 2), ("c", 3)]], pa.map_(pa.string(), pa.int64()))
    assert python_values(pa.chunked_array([maps.slice(1), maps.slice(0, 1)])) == [None, {"b": 2, "c": 3}, {"a": 1}]
