"""The state of a running query as bytes: versioned, tied to its query, and free of code that runs when it is read.

The bytes are MAGIC, the checksum and the length of the header, the header as JSON, and then the arrays that it lists,
as they lie in memory, least significant byte first.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ensue.errors import EngineError
from ensue.kernels import evaluate
from ensue.kernels.arena import EVENT, TREE, USED, Arena, new_arena
from ensue.kernels.evaluate import Partitions

if TYPE_CHECKING:
    from ensue.kernels.runner import Runner

#: Raised when what is stored changes its meaning; states of older versions that can be read are read.
VERSION = 1
_MAGIC = b"ensue\0st"
_START = struct.Struct("<8sIQ")  # MAGIC, the checksum of all that follows it, the length of the header
_TYPES: dict[str, np.dtype[Any]] = {"int32": np.dtype("<i4"), "int64": np.dtype("<i8"), "uint8": np.dtype("u1")}


def save(runner: Runner) -> bytes:
    """The state between two batches, without what its windows have left behind."""
    runner.drop_idle()
    evaluator, reader = runner.evaluator, runner.reader
    partitions, rules, look_back = evaluator.partitions, evaluator.rules, reader.classifier.look_back
    count = len(reader.keys) if rules.keyed else len(partitions.configuration)
    in_use, configuration = np.unique(partitions.configuration[:count], return_inverse=True)
    used = evaluator.arena.used[USED]
    arrays: dict[str, Any] = {
        "node": evaluator.arena.node[:used],
        "configuration": configuration.astype(np.int32),
        "slots": partitions.slots[:count],
        "count": partitions.count[: count if rules.counted else 0],
        "epoch": partitions.epoch[: count if rules.consume == evaluate.CONSUME_ANY else 0],
        "second": evaluator.arena.second[: used if len(evaluator.arena.second) > 1 else 0],
        "keys": reader.keys.rows,
        "tail_keys": look_back.tail_keys,
        "tail": _bytes_of(look_back.tail),
    }
    if evaluator.arena.values.shape[1] > 1:  # a query with registers
        texts = reader.columns.texts
        stored = np.where(evaluator.arena.node[:used, EVENT, None] <= TREE, evaluator.arena.values[:used], 0)
        arrays |= {"values": stored, "text": texts.data, "text_end": texts.end}
    for i, texts in enumerate(reader.keys.texts):
        arrays |= {f"text_{i}": texts.data, f"text_end_{i}": texts.end}
    for i, machine in enumerate(reader.classifier.machines):
        arrays[f"machine_{i}"] = machine.states
    header = {
        "version": VERSION,
        "query": runner.fingerprint,
        "position": runner.position,
        "latest": evaluator.latest,
        "registered_epoch": int(evaluator.progress[evaluate.EPOCH]),
        "configurations": [[sorted(s) for s in evaluator.programs.configurations[c]] for c in in_use],
        "arrays": [[name, a.dtype.name, a.shape] for name, a in arrays.items()],
    }
    text = json.dumps(header).encode()
    parts: list[Any] = [text]
    parts += [np.ascontiguousarray(a, _TYPES[a.dtype.name]).reshape(-1).view(np.uint8) for a in arrays.values()]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_START.pack(_MAGIC, checksum, len(text)), *parts])


def load(runner: Runner, state: bytes) -> None:
    """Puts a saved state into a runner of the same query; a damaged one leaves the runner as it was."""
    try:
        header, arrays = _read(state)
    except Exception as e:  # whatever damage does to a header or an array
        raise EngineError(f"the saved state cannot be read: it is not one, or it is damaged ({e})") from None
    if header["version"] != VERSION:
        raise EngineError(f"the saved state is of version {header['version']}, and this library reads {VERSION}")
    if header["query"] != runner.fingerprint:
        raise EngineError(
            "the saved state belongs to another query or another unit of time: what has changed starts with no state"
        )
    _put(runner, header, arrays)


def _read(state: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    magic, checksum, length = _START.unpack_from(state)
    if magic != _MAGIC:
        raise ValueError("it begins with other bytes")
    rest = memoryview(state)[_START.size :]
    if zlib.crc32(rest) != checksum:
        raise ValueError("its checksum is another one")
    header = json.loads(bytes(rest[:length]))
    arrays = {}
    place = length
    for name, type_, shape in header["arrays"]:
        size = int(np.prod(shape)) * _TYPES[type_].itemsize
        arrays[name] = np.frombuffer(rest[place : place + size], _TYPES[type_]).reshape(shape)
        place += size
    return header, arrays


def _put(runner: Runner, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    evaluator, reader = runner.evaluator, runner.reader
    runner.position = header["position"]
    evaluator.latest = header["latest"]
    evaluator.progress[evaluate.EPOCH] = header["registered_epoch"]
    # The programs that were learned stay: other states of the query are in the same configurations, by and large.
    known = [evaluator.programs.number(tuple(map(frozenset, c))) for c in header["configurations"]]
    slots = arrays["slots"].copy()
    evaluator.partitions = Partitions(
        np.array(known, dtype=np.int32)[arrays["configuration"]],
        slots,
        _or_zeros(arrays["count"], len(slots)),
        _or_zeros(arrays["epoch"], len(slots)),
    )
    evaluator.arena = _arena(arrays, evaluator.arena)
    evaluator.progress[evaluate.RUNGS] = 0
    if evaluator.arena.values.shape[1] > 1:
        reader.columns.texts.use(arrays["text"], arrays["text_end"])
    for i, machine in enumerate(reader.classifier.machines):
        machine.states = arrays[f"machine_{i}"].copy()
    for i, texts in enumerate(reader.keys.texts):
        texts.use(arrays[f"text_{i}"], arrays[f"text_end_{i}"])
    reader.keys.use(arrays["keys"])
    reader.classifier.look_back.tail_keys = arrays["tail_keys"]
    reader.classifier.look_back.tail = pa.ipc.open_stream(arrays["tail"]).read_all() if len(arrays["tail"]) else None


def _or_zeros(column: Any, length: int) -> Any:
    return column.copy() if len(column) else np.zeros(length, dtype=np.int64)


def _arena(arrays: dict[str, Any], now: Arena) -> Arena:
    used = len(arrays["node"])
    if 2 * used > len(now.node):
        now = new_arena(2 * used, second=len(now.second) > 1, registers=now.values.shape[1] - 1)
    for name in ("node", "second", *(["values"] if now.values.shape[1] > 1 else [])):
        stored = arrays[name]
        getattr(now, name)[: len(stored)] = stored
    now.used[USED] = used
    return now


def _bytes_of(table: pa.Table | None) -> Any:
    if table is None:
        return np.zeros(0, dtype=np.uint8)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)
