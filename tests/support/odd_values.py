"""Columns of every type that expressions take, with values that are easily computed wrongly.

`differing` evaluates an expression over the engine's columns and by the reference, and gives the rows that differ.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type
from ensue.columns.evaluation import evaluated, holds
from ensue.data.events import EventStream
from ensue.data.schema import Schema
from ensue.engines.reference.expressions import Events, Expressions, Scope
from ensue.engines.reference.python_values import python_values
from ensue.language import ast
from ensue.logic.types import Typing

LEAST, MOST = -(2**63), 2**63 - 1
INTEGERS: list[int | None] = [
    0,
    1,
    -1,
    2,
    7,
    -7,
    2**31,
    2**53 + 1,
    -(2**53) - 1,
    3_037_000_500,
    LEAST,
    LEAST + 1,
    MOST,
    None,
]
FLOATS: list[float | None] = [
    0.0,
    -0.0,
    1.0,
    0.5,
    -0.5,
    2.5,
    -2.5,
    0.49999999999999994,
    1e300,
    -1e300,
    5e-324,
    2.0**53,
    2.0**63,
    math.pi,
]
FLOATS += [math.inf, -math.inf, math.nan, 1e15 + 0.3, -7.0, None]
TEXTS: list[str | None] = [
    "",
    "a",
    "ab",
    "B",
    "a%b",
    "a_b",
    "a\\b",
    "\\",
    "%",
    " a b ",
    "\ta",
    "a\nb",
    "\n",
    "Größe",
    "straße",
    "日本語",
]
TEXTS += ["\U0001f600x", "e\u0301", "\u0130", "aaaa", "abab", "\0", "it's", "[a-z].*", None]
#: In seconds: long before 1970, just before it, around changes of summer time, in leap years, in 9999, and beyond.
SECONDS: list[int | None] = [
    0,
    -1,
    1,
    -86_401,
    951_782_399,
    951_868_800,
    1_711_846_799,
    1_711_846_800,
    1_729_990_800,
    1_729_994_399,
]
SECONDS += [-2_208_988_801, -5_000_000_000, 4_102_444_800, 32_503_680_000, None]
FAR = [-62_135_596_800, -62_135_596_801, 253_402_300_799, 253_402_300_800, 2**60, -(2**62), LEAST, MOST]
DECIMALS = ["0", "1", "-1", "0.1", "0.3", "-0.5", "2.5", "7", "1234.5", "-1234.5", None]


def _decimals(type_: pa.DataType, more: tuple[str, ...] = ()) -> pa.Array:
    return pa.array([None if v is None else Decimal(v) for v in (*DECIMALS, *more)], type_)


def _ticks(type_: pa.DataType, *, far: bool = False) -> pa.Array:
    steps = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[type_.unit]
    ticks = [None if s is None else s * steps + (steps // 7 if s and s % 2 else 0) for s in SECONDS]
    if far:
        ticks += [s * steps for s in FAR if LEAST <= s * steps <= MOST] + [LEAST, MOST]
    return pa.array([t if t is None or LEAST <= t <= MOST else None for t in ticks], pa.int64()).cast(type_)


COLUMNS: dict[str, pa.Array] = {
    "i": pa.array(INTEGERS),
    "byte": pa.array([0, 1, -1, 7, 127, -128, None], pa.int8()),
    "u": pa.array([0, 1, 7, 2**63 - 1, 2**63, 2**64 - 1, None], pa.uint64()),
    "small_u": pa.array([0, 1, 7, 255, None], pa.uint8()),
    "fitting_u": pa.array([0, 1, MOST, None], pa.uint64()),
    "f": pa.array(FLOATS),
    "single": pa.array([0.0, -0.0, 0.1, -2.5, 3.4e38, math.inf, math.nan, None], pa.float32()),
    "half": pa.array(np.array([0.0, 0.1, -2.5, 65504.0, math.inf, math.nan], np.float16)),
    "dec": _decimals(pa.decimal128(6, 2)),
    "long_dec": _decimals(pa.decimal128(38, 10), ("12345678901234567.8900000001", "12345678901234567.8900000002")),
    "huge_dec": _decimals(pa.decimal256(76, 70)),
    "wide_dec": pa.array([*map(Decimal, (0, 1, -1, 7, 10**70, 10**75 + 1, -(10**75))), None], pa.decimal256(76, 0)),
    "rough_dec": pa.array([Decimal("1.2E+5"), Decimal("-1E+3"), Decimal(0), None], pa.decimal128(5, -3)),
    "b": pa.array([True, False, None]),
    "s": pa.array(TEXTS),
    "large_s": pa.array(TEXTS, pa.large_string()),
    "coded_s": pa.array(TEXTS * 2).dictionary_encode().slice(3, 40),
    "coded_i": pa.array([1, 7, None, 1, 7, MOST]).dictionary_encode(),
    "ts_s": _ticks(pa.timestamp("s"), far=True),
    "ts_ms": _ticks(pa.timestamp("ms"), far=True),
    "ts_us": _ticks(pa.timestamp("us")),
    "ts_ns": _ticks(pa.timestamp("ns"), far=True),
    "utc": _ticks(pa.timestamp("us", "UTC")),
    "berlin": _ticks(pa.timestamp("s", "Europe/Berlin"), far=True),
    "new_york": _ticks(pa.timestamp("ns", "America/New_York"), far=True),
    "offset": _ticks(pa.timestamp("ms", "-02:30")),
    "day": pa.array([0, -1, 1, 19_782, 11_016, -719_162, 2_932_896, 2**31 - 1, None], pa.int32()).cast(pa.date32()),
    "day64": pa.array([0, -86_400_000, 1_709_164_800_000, None], pa.int64()).cast(pa.date64()),
    "dur_s": pa.array([0, 1, -1, 86_400, 2**40, LEAST, MOST, None], pa.int64()).cast(pa.duration("s")),
    "dur_ms": pa.array([0, 1500, -1500, 86_400_000, MOST, None], pa.int64()).cast(pa.duration("ms")),
    "dur_ns": pa.array([0, 1, -1, 10**9, LEAST, MOST, None], pa.int64()).cast(pa.duration("ns")),
    "nothing": pa.nulls(3),
    "list": pa.array([[1, None], [], None]),
    "bytes": pa.array([b"a", b"", None]),
}
SCHEMA = Schema.of(pa.schema([(name, column.type) for name, column in COLUMNS.items()]))


def product(*names: str) -> dict[str, pa.Array]:
    """Columns with these names, in which each value of one column meets each value of the others."""
    sizes = [len(COLUMNS[n]) for n in names]
    rows = np.indices(sizes).reshape(len(names), -1) if names else np.zeros((0, 1), np.int64)
    return {n: COLUMNS[n].take(pa.array(r)) for n, r in zip(names, rows, strict=True)}


def is_accepted(e: ast.Expression) -> bool:
    """Whether the expression is well typed over these columns."""
    typing = Typing(SCHEMA)
    typing.infer(e)
    return not typing.problems


def by_columns(e: ast.Expression, columns: dict[str, pa.Array], length: int) -> list[Any]:
    """The values that the engine computes; times are nanoseconds. A filter holds where the value is TRUE."""
    found = evaluated(e, columns, length)
    assert len(found) == length
    found.validate(full=True)
    values = python_values(pa.chunked_array([found]))
    if pa.types.is_boolean(found.type):
        assert holds(e, columns, length).tolist() == [v is True for v in values]
    return values


def by_reference(e: ast.Expression, columns: dict[str, pa.Array], length: int) -> list[Any]:
    table = pa.table(columns) if columns else pa.table({"\0": pa.nulls(length)})
    types = pa.chunked_array([pa.nulls(length, pa.string())])
    stream = EventStream(table, types, np.zeros(length, dtype=np.int64), None, types)
    expressions = Expressions(Events(stream, [range(length)]))
    return [expressions.value(e, Scope(here=k)) for k in range(length)]


def shown(e: ast.Expression, columns: dict[str, pa.Array], length: int) -> None:
    """Checks that the values of the expression can become a column of the result, with its type."""
    type_ = Typing(SCHEMA).infer(e)
    assert type_ is not None
    column = as_type(evaluated(e, columns, length), type_.arrow)
    assert column.type == type_.arrow
    column.validate(full=True)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two values are equal and of one kind. Floats must have equal bits: zeros have signs, and NaN is NaN."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return (math.isnan(ours) and math.isnan(theirs)) or (
            ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
        )
    return type(ours) is type(theirs) and bool(ours == theirs)


def differing(e: ast.Expression, *names: str) -> list[Any]:
    """The rows of the product of these columns in which engine and reference disagree, with both values."""
    columns = product(*names)
    length = len(next(iter(columns.values()))) if columns else 1
    ours, theirs = by_columns(e, columns, length), by_reference(e, columns, length)
    shown(e, columns, length)
    rows = pa.table(columns) if columns else None
    return [
        ({n: str(rows.column(n)[k]) for n in names} if rows is not None else {}, a, b)
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True))
        if not same(a, b)
    ]
