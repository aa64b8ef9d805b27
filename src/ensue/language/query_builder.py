"""Builds queries in Python, for programs that make queries: the result is the same AST as from the text.

>>> from ensue.language.expression_builder import variables
>>> from ensue.language.pattern_builder import types
>>> T, H = types("T", "H")
>>> x, y = variables("x", "y")
>>> fire = (T.named(x) >> H.named(y)).where((x.temp > 40) & (y.hum < 25)).within("5 s")
>>> print(print_query(select(x, y.hum).from_("sensors").matching(fire).partition_by("id").build()))
SELECT x, y.hum
FROM sensors
WHERE T AS x ; H AS y
FILTER x.temp > 40 AND y.hum < 25
WITHIN 5 s
PARTITION BY id
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ensue.language import ast
from ensue.language.expression_builder import Expr, Variable, node_of
from ensue.language.parser import parse_query
from ensue.language.pattern_builder import Pat, Windows, count_of, interval_of
from ensue.language.printer import print_query
from ensue.language.query_rules import partition_key


@dataclass(frozen=True)
class Select:
    """A query under construction; `build` completes it."""

    items: tuple[ast.Item, ...] | None
    streams: tuple[str, ...] = ()
    pattern: Pat | Windows | None = None
    selector: ast.Selector = ast.Selector.ALL
    keys: tuple[str | Expr | ast.Item, ...] = ()
    policy: ast.Consume = ast.Consume.NONE
    most: int | None = None
    per: ast.Per = ast.Per.RESULT
    order: tuple[ast.SortKey, ...] = ()
    expected: Pat | None = None
    aggregation: ast.Aggregation | None = None

    def from_(self, *streams: str) -> Select:
        """`FROM s, t`"""
        return dataclasses.replace(self, streams=streams)

    def matching(self, pattern: Pat | Windows) -> Select:
        """`WHERE p`, and `WINDOW w AS ...`"""
        return dataclasses.replace(self, pattern=pattern)

    def selecting(self, selector: str) -> Select:
        """The selector after SELECT, such as `NEXT`."""
        return dataclasses.replace(self, selector=ast.Selector(selector.upper()))

    def partition_by(self, *keys: str | Expr | ast.Item) -> Select:
        """`PARTITION BY k, date(time) AS day`: attributes, or expressions over them, which may be `named`."""
        return dataclasses.replace(self, keys=keys)

    def consume_by(self, policy: str) -> Select:
        """`CONSUME BY`: `ANY`, `PARTITION` or `NONE`."""
        return dataclasses.replace(self, policy=ast.Consume(policy.upper()))

    def group_by(self, *keys: str, every: str | None = None, end: bool = False) -> Select:
        """`GROUP BY k, EVERY 1 h` of an `aggregate`, as `group_by("k", every="1 h")`; `end=True` is `GROUP BY END`."""
        if self.aggregation is None:
            raise ValueError("group_by goes with aggregate(...): select gives one row a match")
        length = None if every is None else _upper(interval_of(every))
        grouped = ast.Aggregation(self.aggregation.items, tuple(map(ast.GroupKey, keys)), length, end)
        return dataclasses.replace(self, aggregation=grouped)

    def order_by(self, *keys: Expr | ast.SortKey) -> Select:
        """`ORDER BY e, f DESC`, as `order_by(x.v, y.v.descending())`; `attribute("n")` names a column of the result."""
        made = (k if isinstance(k, ast.SortKey) else ast.SortKey(k.node) for k in keys)
        return dataclasses.replace(self, order=tuple(made))

    def limit(self, most: int | Expr, *, per: str = "result") -> Select:
        """`LIMIT n`, and with `per="end"` or `per="partition"` the other forms"""
        return dataclasses.replace(self, most=count_of(most), per=ast.Per(per.upper()))

    def expecting(self, pattern: Pat) -> Select:
        """`EXPECT (p)`: every beginning of the stream is one of a stream that `p` spans"""
        return dataclasses.replace(self, expected=pattern)

    def build(self, params: Mapping[str, Any] | None = None) -> ast.Query:
        """Returns the AST, printed and parsed once, so that every node has a span in a readable text.

        `params` are the values of the parameters.
        """
        if self.pattern is None or not self.streams:
            raise ValueError("a query needs from_(...) and matching(...)")
        query = ast.Query(
            items=self.items,
            streams=self.streams,
            pattern=self.pattern.node,
            selector=self.selector,
            partition=tuple(map(_key, self.keys)),
            consume=self.policy,
            limit=self.most,
            per=self.per,
            order=self.order,
            expect=None if self.expected is None else self.expected.node,
            aggregation=self.aggregation,
        )
        return parse_query(print_query(query), params)


def select(*items: Expr | Variable | ast.Item) -> Select:
    """Starts a query; without items, it is `SELECT *`."""
    made = tuple(i if isinstance(i, ast.Item) else ast.Item(node_of(i)) for i in items)
    return Select(made or None)


def aggregate(*items: ast.Item) -> Select:
    """Starts an `AGGREGATE` query; each item is named, as in `aggregate(count_matches().named("n"))`."""
    if not items:
        raise ValueError("aggregate needs an item: aggregate(count_matches().named('n'))")
    made = tuple(i if isinstance(i, ast.Item) else ast.Item(node_of(i)) for i in items)
    return Select(None, aggregation=ast.Aggregation(made))


def _key(key: str | Expr | ast.Item) -> ast.PartitionKey:
    if isinstance(key, str):
        return ast.PartitionKey(key)
    e, alias = (key.expression, key.alias) if isinstance(key, ast.Item) else (key.node, None)
    return partition_key(e, alias, ast.NOWHERE)


def _upper(interval: ast.Interval) -> ast.Duration:
    """The length of a bucket of time, read as the upper bound of an interval."""
    if interval.high is None or interval.low is not None:
        raise ValueError("every takes a time, such as '1 h'")
    return interval.high.duration
