"""Several things as one string of bytes: named parts behind a small header, read without running any code.

magic, length of the header, header (JSON: the names and lengths of the parts), the parts
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa

_MAGIC = b"ENSUE1"
_LENGTH = 8  # bytes that hold the header's length


def parcel(parts: Mapping[str, bytes]) -> bytes:
    """The parts as one string of bytes.

    >>> unparcel(parcel({"a": b"1", "b": b""}))
    {'a': b'1', 'b': b''}
    """
    header = json.dumps({name: len(part) for name, part in parts.items()}).encode()
    return b"".join([_MAGIC, len(header).to_bytes(_LENGTH, "little"), header, *parts.values()])


def unparcel(data: bytes) -> dict[str, bytes]:
    """The parts again; raises ValueError where the bytes are no parcel, or a damaged one."""
    start = len(_MAGIC) + _LENGTH
    if data[: len(_MAGIC)] != _MAGIC or len(data) < start:
        raise ValueError("it is no parcel")
    first = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    lengths = json.loads(data[start:first])
    if first + sum(lengths.values()) != len(data):
        raise ValueError("its length is not the one it had")
    parts = {}
    for name, length in lengths.items():
        parts[name] = data[first : first + length]
        first += length
    return parts


def table_bytes(table: pa.Table) -> bytes:
    """A table as Arrow writes it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_of(data: bytes) -> pa.Table:
    """The table that `table_bytes` wrote."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()
