"""Random aggregates of a set `y`, over values for which sums are hard."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa

GREATEST = 2**63 - 1
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "v": (pa.int64(), [0, 1, 2, 3, -2, None]),
    "i": (pa.int64(), [1, -1, 2**62, -(2**62), GREATEST, -GREATEST, None]),
    "f": (pa.float64(), [0.0, -0.0, 0.1, 0.2, -0.3, 1e16, -1e16, 1.0, 3e-300, 1e300, 1.7e308, -1.7e308, 5e-324, None]),
    "g": (pa.float64(), [0.5, 1.5, math.inf, -math.inf, math.nan, None]),
    "d": (pa.decimal128(5, 2), [1, 2, 3, None]),
    "s": (pa.string(), ["", "a", "b", None]),
}
NUMBERS = "vviffgd"


def aggregate(rng: random.Random) -> tuple[str, str]:
    """An aggregate of y, and the kind of what it comes to."""
    function = rng.choice(["count", "count", "sum", "sum", "sum", "avg", "min", "max", "first", "last"])
    if function == "count" and rng.random() < 0.5:
        return "count(y)", "v"
    column = rng.choice(NUMBERS + "s" if function in ("count", "first", "last") else NUMBERS)
    value = f"y.{column}" if rng.random() < 0.7 or column == "s" else f"(y.{column} * 2 - y.v)"
    return f"{function}({value})", "v" if function == "count" else column


def literal(rng: random.Random, kind: str) -> str:
    value = rng.choice(VALUES[kind][1])
    if kind == "s":
        return "'a'"
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "1"
    return f"({value!r})"


def table_of(rng: random.Random, n: int) -> pa.Table:
    columns = {name: pa.array(rng.choices(values, k=n), type_) for name, (type_, values) in VALUES.items()}
    few = rng.random() < 0.5  # floats of like size
    if few:
        columns["f"] = pa.array(rng.choices([0.1, 0.2, 0.3, 2.5, None], k=n), pa.float64())
    return pa.table(
        {
            "time": pa.array(range(n), pa.int64()),
            "type": pa.array(rng.choices("AB", [1, 2], k=n), pa.string()),
            "k": pa.array(rng.choices([0, 1], [3, 1], k=n), pa.int64()),
            **columns,
        }
    )
