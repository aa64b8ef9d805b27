"""Random AGGREGATE queries, the events they run over, and rows that are compared up to the rounding of floats."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
from strategies import chance, random_query, random_stream

from ensue.language import ast
from ensue.language.parser import parse_expression
from ensue.logic.scope import bindings

SCHEMA = pa.schema(
    [
        ("time", pa.int64()),
        ("type", pa.string()),
        ("v", pa.int64()),
        ("k", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
    ]
)
_HUGE = (2**62, -(2**62), 2**63 - 1, 2**61 + 1)
_EVERY = ("1 s", "2 s", "3 s")


def random_aggregation(rng: Random, made: ast.Query | None = None) -> ast.Query:
    """A random query with everything that a query may have, of which something is aggregated."""
    query = made or random_query(rng)
    known = bindings(query.pattern)
    items = [ast.Item(_item(rng, dict(known)), f"i{n}") for n in range(rng.choice((1, 2, 3)))]
    keys = tuple(ast.GroupKey(k.attribute) for k in query.partition if not chance(rng, 3))
    every = parse_expression(rng.choice(_EVERY)) if chance(rng, 3) else None
    length = every.duration if isinstance(every, ast.DurationLiteral) else None
    per_end = chance(rng, 4)
    groups = {"per_end": True} if per_end else {"keys": keys, "every": length}
    aggregation = ast.Aggregation((ast.Item(parse_expression("count(*)"), "n"), *items), **groups)
    return replace(query, items=None, limit=None, per=ast.Per.RESULT, order=(), aggregation=aggregation)


def _item(rng: Random, known: dict[str, bool]) -> ast.Expression:
    simple = ["log2(count(*))", "avg(end_time - start_time)", "sum(end_time - start_time)", "min(start_time)"]
    simple += ["max(end_time - start_time)", "max(end_time)", "count(end_time)"]
    if not known or chance(rng, 4):
        return parse_expression(rng.choice(simple))
    x = rng.choice(list(known))
    a = rng.choice(("v", "v", "f"))
    f = rng.choice(("sum", "avg", "min", "max", "count"))
    flat = [f"{f}({x}.{a})", f"count({x})", f"{f}({x}.{a} * 2 + {x}.v)", f"min({x}.s)", f"sum({x}.v) + count(*)"]
    if not known[x]:
        g = rng.choice(("sum", "sum", "min", "max", "first", "last", "avg", "median", "count"))
        flat += [f"{f}({g}({x}.{a}))", f"max(sum({x}.{a}))", f"min(sum({x}.v))", f"{f}(count({x}))", f"avg(count({x}))"]
        flat += [f"max(first({x}.s))", f"{f}({g}({x}.v) + 1)"]
    single = [y for y, one in known.items() if one]
    if single:
        y = rng.choice(single)
        flat.append(f"{f}({x}.v - {y}.v)")
    return parse_expression(rng.choice(flat))


def random_events(rng: Random, most: int = 8) -> pa.Table:
    """Events with NULLs, NaN and infinities, and at times with numbers whose sums have no 64 bits."""
    events = random_stream(rng, most)
    huge = chance(rng, 4)
    for e in events:
        e["f"] = rng.choice((0.5, 1.25, -2.0, 1e300, None, math.nan if huge else 0.1, math.inf if huge else 3.0))
        e["s"] = rng.choice(("a", "b", "", None))
        if huge and e["v"] is not None and chance(rng, 2):
            e["v"] = rng.choice(_HUGE)
    return pa.Table.from_pylist(events, SCHEMA)


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def alike(a: list[tuple[Any, ...]], b: list[tuple[Any, ...]], size: float = 0.0) -> bool:
    """Whether the rows are equal, floats up to their promise: relative to them and to the numbers they are made of."""
    return len(a) == len(b) and all(
        len(x) == len(y) and all(_alike(v, w, size) for v, w in zip(x, y, strict=True))
        for x, y in zip(a, b, strict=True)
    )


def _alike(v: Any, w: Any, size: float) -> bool:
    if isinstance(v, float) and isinstance(w, float):
        return (v != v and w != w) or v == w or abs(v - w) <= 1e-9 * max(abs(v), abs(w), size)
    return bool(v == w)
