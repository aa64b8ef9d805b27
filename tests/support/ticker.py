"""Tables and results of row patterns, as the tests write them: the columns in one line, a row in each line after it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import ensue

ENGINES = ("reference", "auto")


def table(text: str) -> pa.Table:
    """Columns of whole numbers, or of texts where a value is none; `-` is NULL.

    >>> table("id name\\n1 a\\n2 -").to_pylist()
    [{'id': 1, 'name': 'a'}, {'id': 2, 'name': None}]
    """
    names, *lines = (line.split() for line in text.strip().splitlines())
    columns = zip(*lines, strict=True) if lines else ([] for _ in names)
    return pa.table({name: _column(list(column)) for name, column in zip(names, columns, strict=True)})


def _column(words: list[str]) -> pa.Array:
    known = [w for w in words if w != "-"]
    if all(w.lstrip("-").isdigit() for w in known):
        return pa.array([None if w == "-" else int(w) for w in words], pa.int64())
    return pa.array([None if w == "-" else w for w in words], pa.string())


def prices(*values: int | None) -> pa.Table:
    """Rows `id`, `value`, in order."""
    return pa.table({"id": range(1, len(values) + 1), "value": pa.array(values, pa.int64())})


def rows(text: str, engine: str = "auto", **tables: Any) -> list[tuple[Any, ...]]:
    """The rows of a query as tuples."""
    found = ensue.sql(text, engine=engine, **tables).to_arrow()
    return [tuple(row.values()) for row in found.to_pylist()]
