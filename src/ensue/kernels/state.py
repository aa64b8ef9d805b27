"""The state of a running query as bytes: versioned, tied to its query, and free of code that runs when it is read."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ensue.errors import EngineError
from ensue.kernels import evaluate
from ensue.kernels.arena import NOTHING, USED, Arena, new_arena
from ensue.kernels.evaluate import Partitions
from ensue.kernels.programs import EMPTY

if TYPE_CHECKING:
    from ensue.kernels.runner import Runner

#: Raised when what is stored changes its meaning; states of older versions that can be read are read.
VERSION = 1


def save(runner: Runner) -> bytes:
    """The state between two batches, without what its windows have left behind."""
    evaluator, reader = runner.evaluator, runner.reader
    evaluator.collect(runner.position)
    drop_idle_keys(runner)
    evaluator.partitions.configuration[:] = evaluator.programs.forget(evaluator.partitions.configuration)
    header = {
        "version": VERSION,
        "query": runner.fingerprint,
        "position": runner.position,
        "latest": evaluator.latest,
        "epoch": int(evaluator.registers[evaluate.EPOCH]),
        "configurations": [[sorted(subset) for subset in c] for c in evaluator.programs.configurations],
    }
    used = evaluator.arena.used[USED]
    partitions = evaluator.partitions
    arrays: dict[str, Any] = {
        "header": _text(json.dumps(header)),
        "node": evaluator.arena.node[:used],
        "second": evaluator.arena.second[:used],
        "configuration": partitions.configuration,
        "slots": partitions.slots,
        "count": partitions.count,
        "partition_epoch": partitions.epoch,
        "tail_keys": reader.classifier.look_back.tail_keys,
    }
    for i, numbers in enumerate([*reader.keys.columns, *reader.keys.pairs]):
        if numbers.values is not None:
            arrays[f"key_{i}"] = _table(pa.table({"value": numbers.values}))
    if reader.classifier.look_back.tail is not None:
        arrays["tail"] = _table(reader.classifier.look_back.tail)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def drop_idle_keys(runner: Runner) -> None:
    """Forgets the keys that no partial match is open for, where they are more than half of all.

    Such a key is as good as one that never came, unless events are looked back to: those of every key are kept.
    """
    evaluator, keys = runner.evaluator, runner.reader.keys
    if not evaluator.rules.keyed or runner.reader.classifier.look_back.wanted:
        return
    known = len(keys)
    busy = np.flatnonzero((evaluator.partitions.slots[:known] != NOTHING).any(axis=1))
    if 2 * len(busy) >= known:
        return
    keys.keep(busy)
    evaluator.partitions = Partitions(*(part[busy] for part in evaluator.partitions))


def load(runner: Runner, state: bytes) -> None:
    """Puts a saved state into a new runner of the same query; a damaged one leaves the runner as it was."""
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays["header"].tobytes())
        _check(header, runner.fingerprint)
        _put(runner, header, arrays)
    except EngineError:
        raise
    except Exception as e:  # whatever damage does to an archive, an array or a table
        raise EngineError(f"the saved state cannot be read: it is not one, or it is damaged ({e})") from None


def _put(runner: Runner, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    evaluator, reader = runner.evaluator, runner.reader
    configurations = [tuple(frozenset(subset) for subset in c) for c in header["configurations"]]
    if configurations[0] != EMPTY:
        raise ValueError("its first configuration is not the empty one")
    partitions = Partitions(arrays["configuration"], arrays["slots"], arrays["count"], arrays["partition_epoch"])
    arena = _arena(arrays["node"], arrays["second"], evaluator.arena)
    keys = [*reader.keys.columns, *reader.keys.pairs]
    stored = {i: _read_table(arrays[f"key_{i}"]) for i in range(len(keys)) if f"key_{i}" in arrays}
    tail = _read_table(arrays["tail"]) if "tail" in arrays else None
    # All of it could be read: from here on nothing fails.
    runner.position = header["position"]
    evaluator.latest = header["latest"]
    evaluator.registers[evaluate.EPOCH] = header["epoch"]
    evaluator.programs.reset(configurations)
    evaluator.partitions = partitions
    evaluator.use(arena)
    for i, table in stored.items():
        keys[i].values = table.column("value").combine_chunks()
    reader.classifier.look_back.tail_keys = arrays["tail_keys"]
    reader.classifier.look_back.tail = tail


def _check(header: dict[str, Any], fingerprint: str) -> None:
    if header["version"] != VERSION:
        raise EngineError(f"the saved state is of version {header['version']}, and this library reads {VERSION}")
    if header["query"] != fingerprint:
        raise EngineError(
            "the saved state belongs to another query or another unit of time: what has changed starts with no state"
        )


def _arena(node: Any, second: Any, fresh: Arena) -> Arena:
    used = len(node)
    arena = new_arena(max(2 * used, len(fresh.node)), second=len(fresh.second) > 1)
    arena.node[:used] = node
    if len(fresh.second) > 1:
        arena.second[:used] = second
    arena.used[USED] = used
    return arena


def _text(text: str) -> Any:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _table(table: pa.Table) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _read_table(data: Any) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(data.tobytes())).read_all()
