"""Substreams of equal values: NULLs are equal, and so are 0.0 and -0.0."""

import math
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from ensue.data.events import read_events
from ensue.data.partitions import partition_codes, substreams_of


def stream(**columns):
    return read_events(pa.table(columns), ("S",), time=None)


def test_without_attributes_there_is_one_substream():
    assert substreams_of(stream(k=[1, 2, 3]), []) == [[0, 1, 2]]


def test_numbered_as_they_appear():
    assert partition_codes(stream(k=["b", "a", "b", "c"]), ["k"]).tolist() == [0, 1, 0, 2]
    assert substreams_of(stream(k=["b", "a", "b", "c"]), ["k"]) == [[0, 2], [1], [3]]


def test_nulls_are_equal_and_no_value():
    assert substreams_of(stream(k=[None, 0, None, 0]), ["k"]) == [[0, 2], [1, 3]]
    assert substreams_of(stream(k=[None, "", None]), ["k"]) == [[0, 2], [1]]


def test_several_attributes():
    assert substreams_of(stream(k=[1, 1, 2, 1], l=["a", "b", "a", "a"]), ["k", "l"]) == [[0, 3], [1], [2]]
    assert substreams_of(stream(k=[1, None, 1], l=[None, 1, None]), ["k", "l"]) == [[0, 2], [1]]


def test_floats():
    assert substreams_of(stream(k=[0.0, -0.0, 1.0]), ["k"]) == [[0, 1], [2]]
    assert substreams_of(stream(k=[math.nan, 1.0, math.nan]), ["k"]) == [[0, 2], [1]]
    assert substreams_of(stream(k=pa.array([0.0, -0.0, 1.0], pa.float16())), ["k"]) == [[0, 1], [2]]


@pytest.mark.parametrize(
    "values",
    [
        [True, False, True],
        [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 1)],
        [datetime(2024, 1, 1), datetime(2024, 1, 2), datetime(2024, 1, 1)],
        [Decimal("1.5"), Decimal("2.5"), Decimal("1.5")],
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.chunked_array([["a"], ["b", "a"]]),
        pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()]),
        pa.array(["a", "b", "a"], pa.large_string()),
    ],
    ids=lambda v: str(getattr(v, "type", type(v[0]).__name__)),
)
def test_kinds_of_keys(values):
    assert substreams_of(stream(k=values), ["k"]) == [[0, 2], [1]]


def test_empty_stream():
    empty = stream(k=pa.array([], pa.string()))
    assert substreams_of(empty, ["k"]) == []
    assert substreams_of(empty, []) == []
