"""Whether two states of an automaton with a register go on alike: the early stop of corrected streams asks it.

The two have seen other events, so the positions in them are other numbers: events are compared by what is kept of them.
Keys may have first appeared in another order, so their numbers are compared by the keys.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ensue.data.envelope import Parts, unprefixed
from ensue.engines.kept_events import in_places
from ensue.kernels.keys import comparable_keys
from ensue.plan.runs_plan import RunsPlan


def go_on_alike(plan: RunsPlan, one: Parts, other: Parts) -> bool:
    """Of the parts of two running queries of this plan, with the events kept that their states refer to, and no others.

    False is always safe: events with a NaN, for one, are equal to none.
    """
    if len(one["engine/runs/start"]) != len(other["engine/runs/start"]):
        return False
    named = ["engine/keys", *(f"engine/{text}_{i}" for i in range(len(plan.keys)) for text in ("text", "text_end"))]
    numbered = all(_equal(one[name], other[name]) for name in named)
    return all(_equal(a, b) for a, b in zip_longest(_seen(plan, one, numbered), _seen(plan, other, numbered)))


def _seen(plan: RunsPlan, parts: Parts, numbered: bool) -> list[Any]:
    """What decides how a state goes on, without positions, and without numbers of keys unless they are the same."""
    engine, runs = unprefixed("engine", parts), unprefixed("engine/runs", parts)
    places, kept = in_places(unprefixed("kept", parts))
    keys: list[Any] = []
    of_run: npt.NDArray[np.int64] = runs["partition"]
    of_tail: npt.NDArray[np.int64] = engine["tail_keys"]
    if not numbered:
        texts = [(engine[f"text_{i}"], engine[f"text_end_{i}"]) for i in range(len(plan.keys))]
        keys, order = comparable_keys(engine["keys"], texts)
        number: npt.NDArray[np.int64] = np.argsort(order)  # of each key among those in order
        of_run, of_tail = number[of_run], number[of_tail]
    by_key = np.argsort(of_run, kind="stable")
    offset: npt.NDArray[np.int64] = runs["offset"]
    lengths = np.diff(offset)[by_key]
    first = np.cumsum(lengths) - lengths
    marked = np.repeat(offset[:-1][by_key] - first, lengths) + np.arange(len(runs["position"]))
    passed = [(runs["count"][runs["partition"]] - runs["rank"])[by_key]] if plan.window.events is not None else []
    started, placed = (np.searchsorted(places, np.asarray(runs[name])) for name in ("start", "position"))
    return [
        *(keys, kept, of_run[by_key], started[by_key], *passed),
        *(lengths, placed[marked], runs["mark"][marked]),
        *(runs[name][by_key] for name in ("time", "state", "register")),
        engine.get("tail"),
        of_tail,
        *(parts[name] for name in sorted(parts) if name.partition("/")[0] not in ("engine", "kept")),
    ]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, pa.Table | pa.Array):
        return type(a) is type(b) and bool(a.equals(b))
    return type(a) is type(b) and bool(a == b)
