"""The tree of a whole query: items, clauses, and the suffixes of the pattern among the clauses."""

from __future__ import annotations

from typing import Any as Anything

from lark import Token, Transformer_NonRecursive, v_args
from lark.tree import Meta

from ensue.errors import Span, did_you_mean, listed
from ensue.language import ast
from ensue.language.expression_rules import over_attributes
from ensue.language.printer import print_expression
from ensue.language.rule_support import Refused, span_of, token_span, unquoted, whole_number


def partition_key(e: ast.Expression, alias: str | None, span: Span) -> ast.PartitionKey:
    """The key with this expression over bare attributes."""
    if isinstance(e, ast.Name):
        return ast.PartitionKey(e.name, alias=alias, span=span)
    return ast.PartitionKey(f"\0{print_expression(e)}", e, alias, span=span)


def _aggregation(items: tuple[ast.Item, ...] | None, groups: tuple[ast.Node, ...], where: Span) -> ast.Aggregation:
    """What AGGREGATE asks for, in these groups: keys, a bucket of time, and END, which is still a name."""
    if items is None:
        raise Refused("AGGREGATE takes aggregates", where, "AGGREGATE count(*) AS n is the number of matches")
    for g in groups:
        if not isinstance(g, ast.Duration | ast.Name | ast.GroupKey):
            hint = "name a computed key where it is made: PARTITION BY date(time) AS day ... GROUP BY day"
            raise Refused("GROUP BY takes names of keys, EVERY with a time, or END", g.span, hint)
    lengths = [g for g in groups if isinstance(g, ast.Duration)]
    ends = [g for g in groups if isinstance(g, ast.Name)]
    if len(lengths) > 1:
        raise Refused("a second EVERY", lengths[1].span, "a match is in one bucket of time")
    if ends and len(groups) > 1:
        hint = "GROUP BY END alone gives one row for each event that ends a match, with its keys and its time"
        raise Refused("END groups by each end, and nothing else can be beside it", ends[0].span, hint)
    keys = tuple(g for g in groups if isinstance(g, ast.GroupKey))
    return ast.Aggregation(items, keys, lengths[0] if lengths else None, bool(ends), span=where)


@v_args(inline=True, meta=True)
class QueryRules(Transformer_NonRecursive):  # type: ignore[type-arg]
    """One method for each rule of section 6 of the language page."""

    def query(self, meta: Meta, *parts: Anything) -> ast.Query:
        selector = ast.Selector.ALL
        _, *rest = parts
        if isinstance(rest[0], ast.Selector):
            selector, *rest = rest
        items, _from, streams, *rest = rest
        pattern, *clauses = rest[1:] if isinstance(rest[0], Token) else rest  # WHERE comes before a pattern
        places = {"items": Span(parts[0].start_pos, _from.start_pos)}
        places |= {f"stream {i}": span for i, (_, span) in enumerate(streams)}
        places |= {name: span for name, span, _, _ in clauses}
        found: dict[str, Anything] = {}
        for name, span, value, suffixes in clauses:
            if name in found:
                raise Refused(f"a second {name} clause", span, "a query has each clause once")
            found[name] = value
            for kind, suffix in suffixes:
                pattern = kind(pattern, suffix, span=pattern.span.join(suffix.span))
        limit, per = found.get("LIMIT", (None, ast.Per.RESULT))
        aggregation = None
        if parts[0].type == "AGGREGATE":
            aggregation = _aggregation(items, found.get("GROUP BY", ()), places["items"])
            items = None
        elif "GROUP BY" in found:
            hint = "write AGGREGATE count(*) AS n, ... FROM ... GROUP BY ...: SELECT gives one row a match"
            raise Refused("GROUP BY goes with AGGREGATE", places["GROUP BY"], hint)
        return ast.Query(
            items=items,
            streams=tuple(name for name, _ in streams),
            pattern=pattern,
            selector=selector,
            partition=found.get("PARTITION BY", ()),
            consume=found.get("CONSUME BY", ast.Consume.NONE),
            limit=limit,
            per=per,
            order=found.get("ORDER BY", ()),
            expect=found.get("EXPECT"),
            aggregation=aggregation,
            places=places,
            span=span_of(meta),
        )

    def selector(self, _meta: Meta, keyword: Token) -> ast.Selector:
        return ast.Selector(keyword.upper())

    def star(self, _meta: Meta, _star: Token) -> None:
        return None

    def items(self, _meta: Meta, *items: ast.Item) -> tuple[ast.Item, ...]:
        return items

    def item(self, meta: Meta, expression: ast.Expression, *alias: Anything) -> ast.Item:
        return ast.Item(expression, alias[1][0] if alias else None, span=span_of(meta))

    def names(self, _meta: Meta, *names: tuple[str, Span]) -> tuple[tuple[str, Span], ...]:
        return names

    def partition(self, meta: Meta, _p: Token, _by: Token, *keys: ast.PartitionKey) -> Anything:
        return "PARTITION BY", span_of(meta), keys, ()

    def partition_key(self, meta: Meta, expression: ast.Expression, *alias: Anything) -> ast.PartitionKey:
        return partition_key(over_attributes(expression), alias[1][0] if alias else None, span_of(meta))

    def consume(self, meta: Meta, _c: Token, _by: Token, policy: Token) -> Anything:
        policies = [p.value for p in ast.Consume]
        if policy.upper() not in policies:
            hint = did_you_mean(policy, policies) or f"one of {listed(policies)}"
            raise Refused(f"unknown consumption policy '{policy}'", token_span(policy), hint)
        return "CONSUME BY", span_of(meta), ast.Consume(policy.upper()), ()

    def limit(self, meta: Meta, _l: Token, count: Token, *per: Token) -> Anything:
        of = ast.Per(per[1].upper()) if per else ast.Per.RESULT
        return "LIMIT", span_of(meta), (whole_number(count), of), ()

    def order(self, meta: Meta, _o: Token, _by: Token, *keys: ast.SortKey) -> Anything:
        return "ORDER BY", span_of(meta), keys, ()

    def sort_key(self, meta: Meta, expression: ast.Expression, *words: Token) -> ast.SortKey:
        descending = any(w.type == "DESC" for w in words)
        nulls_first = descending  # NULL is the greatest value
        if len(words) > 1 and words[-2].type == "NULLS":
            if words[-1].upper() not in ("FIRST", "LAST"):
                raise Refused(f"NULLS come FIRST or LAST, not '{words[-1]}'", token_span(words[-1]))
            nulls_first = words[-1].upper() == "FIRST"
        return ast.SortKey(expression, descending, nulls_first, span=span_of(meta))

    def group_by(self, meta: Meta, _g: Token, _by: Token, *keys: Anything) -> Anything:
        return "GROUP BY", span_of(meta), keys, ()

    def every(self, meta: Meta, _e: Token, length: ast.Duration) -> ast.Duration:
        if not length.nanoseconds():
            raise Refused("EVERY takes a time longer than 0", length.span)
        return length

    def group_key(self, _meta: Meta, key: ast.Expression) -> ast.Node:
        if not isinstance(key, ast.Name):
            return key
        quoted = key.span.end - key.span.start > len(key.name)
        return key if key.name.upper() == "END" and not quoted else ast.GroupKey(key.name, span=key.span)

    def expect(self, meta: Meta, _e: Token, pattern: ast.Pattern) -> Anything:
        return "EXPECT", span_of(meta), pattern, ()

    def late_filter(self, _meta: Meta, clause: Anything, _f: Token, condition: ast.Expression) -> Anything:
        name, span, value, suffixes = clause
        return name, span, value, (*suffixes, (ast.Filter, condition))

    def late_within(self, _meta: Meta, clause: Anything, _w: Token, window: Anything) -> Anything:
        name, span, value, suffixes = clause
        return name, span, value, (*suffixes, (ast.Within, window))

    def name(self, _meta: Meta, token: Token) -> tuple[str, Span]:
        return unquoted(token), token_span(token)
