"""UNTIL: what closes the windows of a query, and which clauses can be asked of windows that become known only then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from ensue.errors import Problem
from ensue.language import ast
from ensue.logic.check_filters import problem
from ensue.logic.scope import free, is_atom


def closings_of(pattern: ast.Pattern) -> list[ast.Until | None]:
    """What closes the windows of each pair of the clause WINDOW, None where nothing does; without UNTIL, no list."""
    if not any(ast.find(pattern, ast.Until)):
        return []
    core = pattern
    while isinstance(core, ast.Filter | ast.Within):
        core = core.body
    assert isinstance(core, ast.SpanOf), "only a pair of the clause WINDOW has UNTIL"
    return [pair if isinstance(pair, ast.Until) else None for pair in _pairs(core.body)]


def _pairs(p: ast.Pattern) -> list[ast.Pattern]:
    return [*_pairs(p.left), *_pairs(p.right)] if isinstance(p, ast.Or) else [p]


def by_closing(pattern: ast.Pattern) -> list[ast.Pattern]:
    """The pattern of a query once for each UNTIL that its pairs have, with these pairs only."""
    if isinstance(pattern, ast.Filter | ast.Within):
        return [replace(pattern, body=body) for body in by_closing(pattern.body)]
    assert isinstance(pattern, ast.SpanOf), "only a pair of the clause WINDOW has UNTIL"
    groups: dict[object, list[ast.Pattern]] = {}
    for pair in _pairs(pattern.body):
        groups.setdefault((pair.closing, pair.or_end) if isinstance(pair, ast.Until) else None, []).append(pair)
    return [replace(pattern, body=reduce(ast.Or, pairs)) for pairs in groups.values()]


def are_alike(closings: list[ast.Until | None]) -> bool:
    """Whether the same closes the windows of all pairs: then all windows of one end become known together."""
    return len({None if c is None else (c.closing, c.or_end) for c in closings}) < 2


def is_one_event(closing: ast.Until) -> bool:
    """Whether the next event decides if a window is closed: then windows become known in the order of their ends."""
    return closing.closing is None or is_atom(closing.closing)


def closing_problems(query: ast.Query) -> Iterator[Problem]:
    """The problems of UNTIL, by itself and with the other clauses."""
    closings = closings_of(query.pattern)
    for c in filter(None, closings):
        yield from _own_problems(c)
    known = [c for c in closings if c is not None]
    if not known:
        return
    alike, in_order = are_alike(closings), all(map(is_one_event, known))
    places = query.places
    if not alike:
        why = "windows of one end can become known one after the other, where pairs have different UNTIL"
        hint = "give all pairs the same UNTIL, as in UNTIL (p OR q)"
        if query.selector not in (ast.Selector.ALL, ast.Selector.STRICT):
            yield problem(places.get("items", query.span), f"{query.selector} cannot choose: {why}", hint)
        if query.limit is not None and query.per is ast.Per.END:
            yield problem(places.get("LIMIT", query.span), f"LIMIT PER END cannot count: {why}", hint)
    if not (alike and in_order):
        why = "windows do not become known in the order of their ends, where"
        why += " UNTIL has several events" if not in_order else " pairs have different UNTIL"
        hint = "let the same single event close the windows of all pairs, as in UNTIL (p OR q)"
        if query.consume is not ast.Consume.NONE:
            yield problem(places.get("CONSUME BY", query.span), f"CONSUME BY cannot decide: {why}", hint)
        if query.limit is not None and query.per is ast.Per.PARTITION:
            yield problem(places.get("LIMIT", query.span), f"LIMIT PER PARTITION cannot count: {why}", hint)
    if query.consume is ast.Consume.ANY and query.partition:
        message = "CONSUME BY ANY cannot decide: with UNTIL, windows of several partitions do not become known in order"
        yield problem(places.get("CONSUME BY", query.span), message, "write CONSUME BY PARTITION")


def _own_problems(c: ast.Until) -> Iterator[Problem]:
    for of in filter(None, (c.closing, c.body)):
        for x in sorted(free(of)):
            shown = x.removeprefix("\0")
            message = f"UNTIL takes closed patterns, but a filter inside it uses '{shown}' from outside"
            hint = "what closes a window cannot use its events; PREV reaches back to its last one"
            yield problem(of, message, hint if of is c.closing else None)
    for late in ast.find(c.body, ast.NotAfter):
        hint = "leave one of them out: a deadline closes windows when time has passed"
        yield problem(late, "a window is closed by UNTIL, or by a deadline, and not by both", hint)
