"""Random queries with all that the language has learnt, together.

`->`, absences before and after, RUNNING, CASE, conditions one by one, functions of one's own over Arrow arrays and
compiled, computed partitions, items that compute, and, if asked for, LIMIT in its three forms and ORDER BY.
"""

from __future__ import annotations

import dataclasses
from random import Random

import pyarrow.compute as pc
from row_runs import with_cut
from strategies import random_following_query, random_query

import ensue
from ensue.language import ast
from ensue.language.parser import parse_expression
from ensue.logic.scope import bindings
from ensue.rewrite.bottom_up import bottom_up

OWN = {
    "twice": ensue.function("twice", lambda v: pc.multiply(v, 2), takes="integer", returns="integer", registered=False),
    "nearby": ensue.function(
        "nearby", lambda v: v - 1 if v > 1 else v, takes="integer", returns="integer", compiled=True, registered=False
    ),
}
#: What an attribute `v` is computed into, with no change of its type.
_COMPUTED = (
    "twice({})",
    "nearby({})",
    "nearby(twice({}) - {})",
    "CASE WHEN {} > 2 THEN 2 ELSE {} END",
    "CAST(round({} * 1.5, 1) AS integer)",
    "coalesce({}::string::integer, 0)",
    "abs({} - 3)",
)
_KEYS = ("k % 2", "coalesce(k, 0) + 1", "CASE WHEN k = 0 THEN 'none' ELSE 'some' END")


def _computing(rng: Random, e: ast.Expression) -> ast.Expression:
    """The expression with some attributes `v` of events computed into others."""

    def computed(part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, ast.Call | ast.Each):
            return part  # PREV and aggregates take attributes
        if isinstance(part, ast.Attribute) and part.name == "v" and rng.random() < 0.3:
            return parse_expression(rng.choice(_COMPUTED).replace("{}", f"{part.variable}.v"))
        return None

    return ast.replaced(e, computed)


def worded_query(rng: Random) -> ast.Query:
    """A random query that may have all of it."""
    made = rng.choice((random_query, random_following_query))
    query = made(rng, rng.choice((1, 2, 3))) if made is random_query else random_following_query(rng)

    def computing(p: ast.Pattern) -> ast.Pattern:
        return ast.Filter(p.body, _computing(rng, p.condition)) if isinstance(p, ast.Filter) else p

    query = dataclasses.replace(query, pattern=bottom_up(query.pattern, computing))
    if query.items is None and rng.random() < 0.3:
        single = [x for x, one in bindings(query.pattern).items() if one]
        items = tuple(ast.Item(_computing(rng, ast.Attribute(x, "v")), f"item_{n}") for n, x in enumerate(single[:3]))
        query = dataclasses.replace(query, items=items or None)
    if not query.partition and rng.random() < 0.3:
        text = rng.choice(_KEYS)
        key = ast.PartitionKey(f"\0{text}", parse_expression(text), "key")
        query = dataclasses.replace(query, partition=(key,))
    return with_cut(query, rng) if rng.random() < 0.3 else query
