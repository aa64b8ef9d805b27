"""Values taken from columns in chunks are those that Arrow takes, in whatever order the positions are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ensue.kernels.gather import gathered
from ensue.results.gathering import values_at

ROWS = 20_000
RNG = np.random.default_rng(7)
NUMBERS = RNG.integers(-(2**62), 2**62, ROWS)
COLUMNS = {
    "integers": pa.array(NUMBERS),
    "floats": pa.array(RNG.random(ROWS)),
    "times": pa.array(NUMBERS).cast(pa.timestamp("us", "UTC")),
    "durations": pa.array(NUMBERS).cast(pa.duration("ms")),
    "short": pa.array(NUMBERS % 1000).cast(pa.int32()),
    "with NULL": pa.array(NUMBERS, mask=NUMBERS % 3 == 0),
    "texts": pa.array(NUMBERS % 100).cast(pa.string()),
    "flags": pa.array(NUMBERS % 2 == 0),
    "types": pa.array(NUMBERS % 100).cast(pa.string()).dictionary_encode(),
}
ENDS = np.sort(RNG.integers(0, ROWS, 2 * ROWS))
ORDERS = {
    "rising": ENDS,
    "near an end": np.maximum(ENDS - RNG.integers(0, 500, len(ENDS)), 0),
    "any": RNG.integers(0, ROWS, 2 * ROWS),
    "falling": ENDS[::-1].copy(),
    "all the same": np.full(5000, ROWS - 1),
    "few": np.array([ROWS - 1, 0, 5]),
    "none": np.zeros(0, dtype=np.int64),
}
#: Where the chunks begin: also one without rows, at the start, in between, and at the end.
CUTS = {"one chunk": [0], "chunks": [0, 1, 7000, 7001, 13_000], "empty ones": [0, 0, 9000, 9000, ROWS]}


def in_chunks(column: pa.Array, begins: list[int]) -> pa.ChunkedArray:
    return pa.chunked_array([column[i:j] for i, j in zip(begins, [*begins[1:], len(column)], strict=True)])


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("column", COLUMNS)
def test_the_values_are_those_at_the_positions(column: str, order: str, cuts: str) -> None:
    chunked = in_chunks(COLUMNS[column], CUTS[cuts])
    found = values_at(chunked, ORDERS[order])
    assert found.type == chunked.type
    assert found.equals(pa.chunked_array([COLUMNS[column].take(pa.array(ORDERS[order]))]))


@pytest.mark.parametrize(
    ("column", "order", "at_once"),
    [
        ("integers", "rising", True),
        ("times", "near an end", True),
        ("integers", "falling", True),
        ("integers", "any", False),
        ("with NULL", "rising", False),
        ("short", "rising", False),
    ],
)
def test_plain_values_at_positions_in_some_order_are_gathered(column: str, order: str, at_once: bool) -> None:
    chunked = in_chunks(COLUMNS[column], list(range(0, ROWS, 1000)))
    begins = np.array([*range(0, ROWS, 1000), ROWS])
    assert (gathered(chunked, begins, ORDERS[order]) is not None) == at_once
