"""Reads the cases of the corpus: events as lines of text, which become a table."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pyarrow as pa


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def read(case: dict[str, Any]) -> tuple[pa.Table, dict[str, Any]]:
    """The events as a table in the order of the case, and the options of `run`."""
    header, *rows = lines(case["events"]) if "events" in case else ["type", *case["types"].split()]
    names = header.split()
    values = [[value(cell) for cell in row.split()] for row in rows]
    columns = {name: [row[i] for row in values] for i, name in enumerate(names)}
    options = dict(case.get("options", {}))
    time = options.get("time", "time")
    if time not in columns:
        columns[time] = list(range(len(rows)))
    if all(isinstance(t, int) for t in columns[time]):
        options.setdefault("unit", "s")
    types = {"type": pa.string(), time: pa.int64()} if not rows else {}
    return pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()}), options


def value(cell: str) -> int | float | datetime | str | dict[str, Any] | list[Any] | None:
    if cell == "-":
        return None
    if cell[0] in "{[":
        nested: dict[str, Any] | list[Any] = json.loads(cell)
        return nested
    for read_as in (int, float, datetime.fromisoformat):
        try:
            return read_as(cell)
        except ValueError:
            pass
    return cell
