"""The state of a running plan as named arrays, without what its windows have left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ensue.automata.determinize import Configuration
from ensue.data.envelope import Parts
from ensue.kernels import stepping
from ensue.kernels.arena import EVENT, TREE, USED, Arena, new_arena
from ensue.kernels.stack_evaluator import StackEvaluator
from ensue.kernels.stepping import Partitions
from ensue.kernels.walk_evaluator import WalkEvaluator

if TYPE_CHECKING:
    from ensue.kernels.runner import Runner


_SEGMENT, _STACK, _WALK = "segment_", "stack_", "walk_"


def save(runner: Runner) -> Parts:
    """The state between two batches, on memory of its own."""
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
        "epoch": partitions.epoch[: count if rules.consume == stepping.CONSUME_ANY else 0],
        "second": evaluator.arena.second[: used if len(evaluator.arena.second) > 1 else 0],
        "keys": reader.keys.rows,
        "tail_keys": look_back.tail_keys,
    }
    if evaluator.arena.values.shape[1] > 1:  # a query with registers
        texts = reader.columns.texts
        stored = np.where(evaluator.arena.node[:used, EVENT, None] <= TREE, evaluator.arena.values[:used], 0)
        arrays |= {"values": stored, "text": texts.data, "text_end": texts.end}
        if evaluator.reach is not None and len(evaluator.reach):
            arrays["reach"] = evaluator.reach
    if evaluator.weights is not None:
        arrays["weights"] = evaluator.weights.save(evaluator.arena)
    for i, texts in enumerate(reader.keys.texts):
        arrays |= {f"text_{i}": texts.data, f"text_end_{i}": texts.end}
    for i, machine in enumerate(reader.classifier.machines):
        arrays[f"machine_{i}"] = machine.states
    parts: Parts = {
        "position": runner.position,
        "latest": evaluator.latest,
        "epochs": int(evaluator.progress[stepping.EPOCH]),
        "configurations": [[sorted(s) for s in evaluator.programs.configurations[c].subsets] for c in in_use],
        **{name: array.copy() for name, array in arrays.items()},
    }
    ranks = [evaluator.programs.configurations[c].ranks for c in in_use]
    if any(ranks):
        parts["ranks"] = [[[sorted(states) for states in ranked] for ranked in of_one] for of_one in ranks]
    if isinstance(evaluator, StackEvaluator):
        parts |= {f"{_STACK}{name}": part for name, part in evaluator.save(count).items()}
        parts["slots"] = partitions.slots[:0].copy()
    if isinstance(evaluator, WalkEvaluator):
        parts |= {f"{_WALK}{name}": part for name, part in evaluator.save().items()}
    if look_back.tail is not None:
        parts["tail"] = look_back.tail
    if evaluator.windows is not None:
        evaluator.windows.keep_begun(evaluator.begun())
        parts |= {f"{_SEGMENT}{name}": part for name, part in evaluator.windows.save().items()}
    return parts


def load(runner: Runner, parts: Parts) -> None:
    """Puts a saved state into a runner of the same plan."""
    evaluator, reader = runner.evaluator, runner.reader
    runner.position = parts["position"]
    evaluator.latest = parts["latest"]
    evaluator.progress[stepping.EPOCH] = parts["epochs"]
    # The programs that were learned stay: other states of the query are in the same configurations, by and large.
    subsets = parts["configurations"]
    known = [
        evaluator.programs.number(
            Configuration(tuple(map(frozenset, own)), tuple(tuple(map(frozenset, ranked)) for ranked in ranks))
        )
        for own, ranks in zip(subsets, parts.get("ranks", [()] * len(subsets)), strict=True)
    ]
    folding = isinstance(evaluator, StackEvaluator)
    slots = np.zeros((len(parts["configuration"]), 1), dtype=np.int64) if folding else parts["slots"].copy()
    evaluator.partitions = Partitions(
        np.array(known, dtype=np.int32)[parts["configuration"]],
        slots,
        _or_zeros(parts["count"], len(slots)),
        _or_zeros(parts["epoch"], len(slots)),
    )
    if "reach" in parts:
        reader.columns.reach = parts["reach"].copy()
        evaluator.arena.used[USED] = 0
        evaluator.make_places(parts["reach"].copy())
    if isinstance(evaluator, StackEvaluator):
        evaluator.load({n.removeprefix(_STACK): part for n, part in parts.items() if n.startswith(_STACK)})
    evaluator.arena = _arena(parts, evaluator.arena)
    if isinstance(evaluator, WalkEvaluator):
        evaluator.load({n.removeprefix(_WALK): part for n, part in parts.items() if n.startswith(_WALK)})
    if evaluator.weights is not None:
        evaluator.weights.load(evaluator.arena, parts.get("weights"))
    evaluator.progress[stepping.RUNGS] = 0
    if evaluator.windows is not None:
        evaluator.windows.load({n.removeprefix(_SEGMENT): part for n, part in parts.items() if n.startswith(_SEGMENT)})
    if evaluator.arena.values.shape[1] > 1:
        reader.columns.texts.use(parts["text"], parts["text_end"])
    for i, machine in enumerate(reader.classifier.machines):
        machine.states = parts[f"machine_{i}"].copy()
    for i, texts in enumerate(reader.keys.texts):
        texts.use(parts[f"text_{i}"], parts[f"text_end_{i}"])
    reader.keys.use(parts["keys"])
    reader.classifier.look_back.tail_keys = parts["tail_keys"]
    reader.classifier.look_back.tail = parts.get("tail")


def _or_zeros(column: Any, length: int) -> Any:
    return column.copy() if len(column) else np.zeros(length, dtype=np.int64)


def _arena(parts: Parts, now: Arena) -> Arena:
    used = len(parts["node"])
    if 2 * used > len(now.node):
        now = new_arena(2 * used, second=len(now.second) > 1, registers=now.values.shape[1] - 1)
    for name in ("node", "second", *(["values"] if now.values.shape[1] > 1 else [])):
        stored = parts[name]
        getattr(now, name)[: len(stored)] = stored
    now.used[USED] = used
    return now
