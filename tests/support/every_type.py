"""Events with an attribute of every type that Spark can send to Python."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

T0 = datetime(2024, 1, 1, tzinfo=UTC)


def everything(n: int) -> dict[str, Any]:
    """A DataFrame of one event with an attribute of every such type."""
    return {
        "time": T0 + timedelta(seconds=n),
        "type": "AB"[n % 2],
        "byte": n,
        "flag": n % 3 == 0,
        "single": n / 4,
        "price": Decimal(n) / 8,
        "day": date(2024, 1, 1 + n),
        "local": datetime(2024, 1, 1, n),
        "raw": bytes([n, 255]),
        "list": [n, None],
        "record": {"a": n, "b": str(n)},
        "map": [(str(n), n)],
        "span": timedelta(seconds=n),
        "nothing": None,
    }


EVERYTHING = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("byte", pa.int8()),
        ("flag", pa.bool_()),
        ("single", pa.float32()),
        ("price", pa.decimal128(12, 3)),
        ("day", pa.date32()),
        ("local", pa.timestamp("us")),
        ("raw", pa.binary()),
        ("list", pa.list_(pa.int32())),
        ("record", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("map", pa.map_(pa.string(), pa.int64())),
        ("span", pa.duration("us")),
        ("nothing", pa.int16()),
    ]
)
