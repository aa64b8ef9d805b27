"""Saved states as bytes: one envelope for states of every kind, which can be read without running any code.

    magic | version | checksum | length of the header | header | body

The checksum covers everything after it. The header is JSON: the kind of the state, what made it, its plain values, and
which arrays and tables are in the body. So damaged bytes, and states that something else made, are refused before
anything is read from them.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ensue.data.arrow_bytes import table_bytes, table_of
from ensue.errors import EngineError, listed

#: The parts of a state by name: NumPy arrays, Arrow tables, and values that JSON can express.
Parts = dict[str, Any]

#: The version; it is increased whenever the meaning of the stored parts changes.
VERSION = 2
_MAGIC = b"ensue st"
_OF_VERSION_1 = (b"ensue\0st", b"ENSUE1")  # the first bytes of states from before there was one envelope for all
_START = struct.Struct("<8sIIQ")  # magic, version, checksum of all that follows, length of the header
_COVERED = struct.calcsize("<8sII")
_CODEC = "zstd"
_READABLE = 20  # the most characters of a fingerprint that is shown in a message
_TYPES = {name: np.dtype(name).newbyteorder("<") for name in ("bool", "uint8", "uint16", "int32", "int64", "uint64")}


def sealed(kind: str, made_by: Mapping[str, str], parts: Mapping[str, Any], *, compressed: bool = False) -> bytes:
    """The parts as bytes. `made_by` names what they depend on, each with a fingerprint.

    >>> state = sealed("example", {"query": "1"}, {"position": 7, "slots": np.array([1, 2])})
    >>> unsealed(state, "example", {"query": "1"})
    {'position': 7, 'slots': array([1, 2])}
    >>> unsealed(state, "example", {"query": "2"})
    Traceback (most recent call last):
        ...
    ensue.errors.EngineError: the saved state was made by something else; what differs: query (1, now 2)
    """
    plain: dict[str, Any] = {}
    places: list[list[Any]] = []
    body: list[Any] = []
    for name, part in parts.items():
        if isinstance(part, pa.Table):
            body.append(table_bytes(part))
            places.append([name, "table", len(body[-1]), None])
        elif isinstance(part, np.ndarray):
            array = np.ascontiguousarray(part, _TYPES[part.dtype.name])
            body.append(array.reshape(-1).view(np.uint8))
            places.append([name, part.dtype.name, array.nbytes, part.shape])
        else:
            plain[name] = part
    data = b"".join(body)
    header: dict[str, Any] = {"kind": kind, "made_by": dict(made_by), "plain": plain, "places": places}
    if compressed:
        header["bytes"] = len(data)
        data = pa.compress(data, codec=_CODEC, asbytes=True)
    text = json.dumps(header).encode()
    rest = struct.pack("<Q", len(text)) + text + data
    return struct.pack("<8sII", _MAGIC, VERSION, zlib.crc32(rest)) + rest


def unsealed(state: bytes, kind: str, made_by: Mapping[str, str]) -> Parts:
    """The parts of a state of this kind with the same `made_by`; raises EngineError for any other bytes."""
    header, data = _opened(state)
    if header["kind"] != kind:
        raise EngineError(f"the saved state is that of a {header['kind']}, not of a {kind}")
    check_made_by(header["made_by"], made_by)
    return {**header["plain"], **dict(_read(header["places"], data))}


def check_made_by(then: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuses a state that depends on something that has changed since."""
    changed = [_change(name, then.get(name, ""), value) for name, value in now.items()]
    if any(changed):
        raise EngineError(f"the saved state was made by something else; what differs: {listed(filter(None, changed))}")


def _opened(state: bytes) -> tuple[dict[str, Any], memoryview]:
    """The header and the body; raises EngineError if the bytes are damaged or of another version."""
    if state.startswith(_OF_VERSION_1):
        raise _other_version(1)
    if len(state) < _START.size or not state.startswith(_MAGIC):
        raise EngineError("the saved state cannot be read: its first bytes are not those of a state")
    _, version, checksum, length = _START.unpack_from(state)
    if version != VERSION:
        raise _other_version(version)
    if zlib.crc32(memoryview(state)[_COVERED:]) != checksum:
        raise EngineError("the saved state cannot be read: it is damaged, because its checksum does not match")
    rest = memoryview(state)[_START.size :]
    header = json.loads(bytes(rest[:length]))
    data = rest[length:]
    if "bytes" in header:
        data = memoryview(pa.decompress(data, header["bytes"], _CODEC, asbytes=True))
    return header, data


def _other_version(version: int) -> EngineError:
    return EngineError(f"the saved state is of version {version}, and this library reads {VERSION}")


def _change(name: str, then: str, now: str) -> str:
    """The name of what has changed, with both values if they are short enough to read; empty if it has not changed."""
    if then == now:
        return ""
    return f"{name} ({then}, now {now})" if then and now and max(len(then), len(now)) <= _READABLE else name


def _read(places: list[list[Any]], data: memoryview) -> Iterator[tuple[str, Any]]:
    first = 0
    for name, type_, length, shape in places:
        own = data[first : first + length]
        first += length
        yield name, table_of(own) if type_ == "table" else np.frombuffer(own, _TYPES[type_]).reshape(shape)


def prefixed(name: str, parts: Mapping[str, Any]) -> Parts:
    """The parts of an inner layer with the prefix `name`, so that they can stand among the parts of an outer layer.

    >>> prefixed("engine", {"position": 7})
    {'engine/position': 7}
    """
    return {f"{name}/{part}": value for part, value in parts.items()}


def unprefixed(name: str, parts: Mapping[str, Any]) -> Parts:
    """The parts that have this prefix, without it."""
    return {part.removeprefix(f"{name}/"): value for part, value in parts.items() if part.startswith(f"{name}/")}
