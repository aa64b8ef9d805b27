"""Random automata of one's own, with queries that use them, and events that take their arcs."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

import ensue
from ensue.language import ast

_SCHEMA = pa.schema(
    [("time", pa.int64()), ("type", pa.string()), ("k", pa.string()), ("v", pa.int64()), ("w", pa.float64())]
)
_ON_EVENT = ("v > 1", "v <= 2", "w < 0.5", "type = 'A'", "type <> 'B'", "v IS NULL", "v > PREV(v)", "TRUE")
_ON_STEP = ("sum(v) > 2", "count(*) > 1", "any(type = 'A')", "every(v < 3)", "max(w) < 0.5", "min(v) IS NOT NULL")
_ON_REGISTER = ("z < 3", "z >= 1", "f < 1.0", "f IS NULL", "b", "z = 1 OR f > 0.2")
_MIXED = ("v > z", "z <> v", "w < f", "v - z = 1", "type = 'A' OR z > 1")
_MIXED_STEP = ("sum(v) > z", "count(*) <> z", "max(w) < f", "any(v > 2) OR z > 1")
_THEN: dict[str, tuple[str, ...]] = {
    "z": ("z + 1", "z - 1", "2", "z * 2 - 1", "z % 2"),
    "f": ("f / 2", "f + z", "NULL", "z", "-f"),
    "b": ("NOT b", "z > 1", "f IS NULL"),
}
_FROM_EVENT = {"z": ("v", "v + z"), "f": ("w", "v", "w * f"), "b": ("v > 1", "type = 'A'")}
_FROM_STEP = {"z": ("sum(v)", "count(*)"), "f": ("max(w)", "avg(v)"), "b": ("any(v > 1)", "every(w < 0.5)")}


def random_automaton(rng: Random, *, plain: bool = False, by: str | None = None, w: str = "w") -> ensue.Automaton:
    """An automaton; a `plain` one stores only what events have, so that the engine's own automata say the same.

    `w` stands for the attribute of that name.
    """
    by = by or rng.choice(["event", "event", "time"])
    at_once, both, given = (_ON_EVENT, _MIXED, _FROM_EVENT) if by == "event" else (_ON_STEP, _MIXED_STEP, _FROM_STEP)
    first = {"z": rng.choice([0, 1, int]), "f": rng.choice([0.5, float]), "b": rng.choice([True, bool])}
    made = ensue.Automaton(register=first, clocks=("c", "d"), by=by)  # type: ignore[arg-type]
    states = rng.randint(2, 4)
    made.start(*rng.sample(range(states), rng.choice([1, 1, 2])))
    pairs = [(q, (q + 1) % states) for q in range(states)]
    pairs += [(rng.randrange(states), rng.randrange(states)) for _ in range(rng.randint(0, 3))]
    for n, (source, target) in enumerate(pairs):
        conditions = [rng.choice(at_once)] if rng.random() < 0.7 else []
        conditions += [rng.choice((*_ON_REGISTER, *both))] if rng.random() < 0.4 else []
        sources = [given] if plain else [given, _THEN]
        fields = rng.sample(["z", "f", "b"], rng.randint(0, 2))
        then = {
            name: rng.choice(rng.choice(sources)[name][:1] if plain else rng.choice(sources)[name]) for name in fields
        }
        options: dict[str, Any] = {}
        if rng.random() < 0.3:
            options["reset"] = rng.choice("cd")
        if rng.random() < 0.2:
            options["since"] = {rng.choice("cd"): rng.choice(["<= 2 s", "> 1 s", "[1 s .. 3 s]"])}
        when = " AND ".join(f"({c})" for c in conditions).replace("w", w) or None
        then = {name: value.replace("w", w) for name, value in then.items()}
        made.arc(
            source,
            target,
            when,
            then=then,
            mark=["x", "y"] if n == 0 else rng.sample(["x", "y"], rng.choice([0, 1])),
            **options,
        )
    if rng.random() < 0.3:
        made.skip(rng.randrange(states), rng.choice(at_once).replace("w", w))
    return made.accept(*rng.sample(sorted({t for _, t in pairs}), rng.choice([1, 1, 2])))


def random_live_query(rng: Random) -> ast.Query:
    """A query over an automaton that reads `v` and `type` only."""
    automaton = random_automaton(rng, w="(v / 2)")
    text = random_query(rng).replace("PARTITION BY k", rng.choice(["PARTITION BY k", ""]))
    return ensue.query(text, m=automaton).ast


def random_query(rng: Random, items: str | None = None) -> str:
    """The text of a query that names the automaton `m`."""
    items = items or rng.choice(["*", "z", "f, b", "x", "x, z", "x, y, z, f", "count(y) AS c"])
    text = f"SELECT {items} FROM S WHERE MATCHES m"
    text += rng.choice(["", "", " WITHIN 3 s", " WITHIN 4 EVENTS"])
    text += rng.choice(["", " PARTITION BY k"])
    return text + rng.choice(["", "", "", " CONSUME BY PARTITION"])


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    """The events with the types of their columns."""
    return pa.Table.from_pylist(events, _SCHEMA)


def random_events(rng: Random, count: int) -> list[dict[str, Any]]:
    """Some of them at the same time."""
    time, events = 0, []
    for _ in range(count):
        time += rng.choice([0, 0, 1, 1, 2])
        v, w = rng.choice([0, 1, 2, 3, None]), rng.choice([0.0, 0.25, 0.75, 2.0, None])
        events.append({"time": time, "type": rng.choice("ABC"), "k": rng.choice("pq"), "v": v, "w": w})
    return events
