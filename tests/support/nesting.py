"""Random queries over nested columns, each with the same query over plain ones, which has the same matches.

The attributes `v` and `k` of the random streams become a struct in a struct, a list and a map. What is NULL is missing
there in one way or another: a field that is NULL, a list that is too short, a key that is not there, no struct at all.
"""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import pyarrow as pa
from strategies import Event, events_table

from ensue.language import ast
from ensue.language.query_rules import partition_key

_INNER = pa.struct([("v", pa.int64()), ("k", pa.int64())])
_COLUMNS = {
    "u": pa.struct([("v", pa.int64()), ("k", pa.int64()), ("deep", _INNER)]),
    "l": pa.list_(pa.int64()),
    "m": pa.map_(pa.string(), pa.int64()),
    "s": pa.list_(_INNER),
}
_PLACES = {"v": 1, "k": 2}


def nested_table(events: list[Event]) -> pa.Table:
    """The events with their attributes both plain and nested."""
    table = events_table(events)
    for name, type_ in _COLUMNS.items():
        values = [_nested(name, e["v"], e["k"]) for e in events]
        table = table.append_column(name, pa.array(values, type_))
    return table


def _nested(column: str, v: int | None, k: int | None) -> Any:
    if v is None and k is None:
        return None
    known = {"v": v, "k": k}
    match column:
        case "u":
            return {**known, "deep": known}
        case "l":
            return [v] if k is None else [v, k]
        case "m":
            return [(name, value) for name, value in known.items() if value is not None]
    return [known]


def with_nested_terms(rng: Random, query: ast.Query) -> ast.Query:
    """The query with its attributes read out of nested columns here and there."""
    items = query.items and tuple(
        dataclasses.replace(i, expression=_in(rng, i.expression), alias=i.alias or f"item_{n}")
        for n, i in enumerate(query.items)
    )
    keys = tuple(partition_key(_read(rng, k.attribute, ast.Name), k.attribute, k.span) for k in query.partition)
    return dataclasses.replace(query, items=items, pattern=_pattern(rng, query.pattern), partition=keys)


def _pattern(rng: Random, p: ast.Pattern) -> Any:
    parts: dict[str, Any] = {
        f.name: _pattern(rng, part)
        for f in dataclasses.fields(p)
        if isinstance(part := getattr(p, f.name), ast.Pattern)
    }
    if isinstance(p, ast.Filter):
        parts["condition"] = _in(rng, p.condition)
    return dataclasses.replace(p, **parts)


def _in(rng: Random, e: ast.Expression) -> ast.Expression:
    def nested(part: ast.Expression) -> ast.Expression | None:
        match part:
            case ast.Attribute() | ast.LastOf():
                return _read(rng, part.name, lambda column: dataclasses.replace(part, name=column))
            case ast.Each():
                bare = ast.replaced(
                    part.condition, lambda n: _read(rng, n.name, ast.Name) if isinstance(n, ast.Name) else None
                )
                return dataclasses.replace(part, condition=bare)
        return None

    return ast.replaced(e, nested)


def _read(rng: Random, attribute: str, of: Any) -> ast.Expression:
    place = ast.Literal(_PLACES[attribute], ast.LiteralType.INTEGER)
    match rng.randrange(6):
        case 0:
            return ast.Field(of("u"), attribute)
        case 1:
            return ast.Field(ast.Field(of("u"), "deep"), attribute)
        case 2:
            return ast.Element(of("l"), place)
        case 3:
            return ast.Element(of("m"), ast.Literal(attribute, ast.LiteralType.STRING))
        case 4:
            first = ast.Literal(1, ast.LiteralType.INTEGER)
            last = ast.Unary("-", first)
            return ast.Field(ast.Element(of("s"), rng.choice((first, last))), attribute)
    plain: ast.Expression = of(attribute)
    return plain
