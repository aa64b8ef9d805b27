"""Writes Arrow tables as bytes and reads them back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def table_bytes(table: pa.Table) -> bytes:
    """The table in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_of(data: Any) -> pa.Table:
    """The table that `table_bytes` wrote."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()
