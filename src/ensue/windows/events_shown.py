"""Events on which two queries differ, as a table and as text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ensue.data.events import EventStream
from ensue.engines.left_open import OTHER_TYPE


def shown_events(stream: EventStream) -> pa.Table:
    """The events with their types, where a type that no query names is called other."""
    types = stream.types.to_pylist()
    other = next(name for name in ("other", *(f"other_{k}" for k in range(len(types)))) if name not in types)
    shown = pa.array([other if t == OTHER_TYPE else t for t in types])
    columns = {n: stream.table.column(n) for n in stream.table.column_names if n not in ("time", "type")}
    return pa.table({"time": stream.table.column("time"), "type": shown, **columns})


def text_of_events(events: pa.Table) -> list[str]:
    """The events in columns, one line for each."""
    rows: list[list[Any]] = [events.column_names, *([*row.values()] for row in events.to_pylist())]
    texts = [["NULL" if v is None else str(v) for v in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    texts.insert(1, ["-" * width for width in widths])
    return ["  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in texts]
