"""Queries run in several ways, with their rows compared: both engines, the reference alone, and a stream cut and saved.

Which of the rows of one end LIMIT takes is not laid down, so these are compared as numbers; with ORDER BY, rows that
are equal in all keys.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pyarrow as pa
from membership import Event
from strategies import events_table

import ensue
from ensue.columns.key_columns import with_keys
from ensue.data.events import EventStream, read_events
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.reference import evaluate
from ensue.language import ast
from ensue.logic.check import Checked, check
from ensue.logic.classify import deadline_of
from ensue.logic.outputs import outputs
from ensue.logic.types import Typing
from ensue.plan.choice import choose
from ensue.results.matches import Matches
from ensue.results.running_query import RunningQuery

Rows = Counter[tuple[str, ...]]


def with_cut(query: ast.Query, rng: Random) -> ast.Query:
    """The query with LIMIT n, LIMIT n PER PARTITION, or ORDER BY."""
    kind = rng.choice(("whole", "partition", "ordered"))
    limit = rng.choice((1, 2, 3, 5, 50))
    if kind == "partition":
        return replace(query, limit=limit, per=ast.Per.PARTITION)
    order = _sort_keys(query, rng) if kind == "ordered" else ()
    most = limit if kind == "whole" or rng.random() < 0.5 else None
    return replace(query, limit=most, per=ast.Per.RESULT, order=order)


def _sort_keys(query: ast.Query, rng: Random) -> tuple[ast.SortKey, ...]:
    """ORDER BY of some columns of the result, and of what its single variables have."""
    ordered = (o for o in outputs(query, Typing(None)) if o.whole is None and not _is_list(o.expression))
    columns: list[ast.Expression] = [ast.Name(o.name) for o in ordered]
    columns += [ast.Name(name) for name in ("start_time", "end_time")]
    columns += [ast.Name(k.alias or k.attribute) for k in query.partition if k.alias or k.expression is None]
    plain = [i.expression for i in query.items or () if isinstance(i.expression, ast.Attribute)]
    columns += [ast.Binary("+", ast.Attribute(e.variable, "v"), ast.Literal(1, ast.LiteralType.INTEGER)) for e in plain]
    chosen = rng.sample(columns, min(len(columns), rng.choice((1, 2, 3))))
    return tuple(ast.SortKey(e, rng.random() < 0.5, rng.random() < 0.5) for e in chosen)


def _is_list(e: ast.Expression) -> bool:
    return isinstance(e, ast.Call) and e.function == "collect"


def compare_rows(made: ensue.Query, events: list[Event], rng: Random, told: str) -> str:
    """Runs the query in all ways; says what became of it."""
    query, table = made.ast, events_table(events)
    stream = with_keys(read_events(table, query.streams, unit="s"), query)
    checked = check(query, made.text, stream.schema)
    free = replace(query, limit=None, per=ast.Per.RESULT, order=())
    every = _by_definition(check(free, made.text, stream.schema), stream)
    found = {e: made.run(table, unit="s", engine=e) for e in ("auto", "reference")}
    found["by definition"] = _by_definition(checked, stream)
    for engine, some in found.items():
        assert not rows_of(some) - rows_of(every), (engine, told)
        if query.order and len(every):
            assert _sorted_by(some) == _sorted_by(found["by definition"]), (engine, told)
            assert len(some) == min(len(every), query.limit or len(every)), (engine, told)
    if query.order:
        return "ordered" if len(every) > 1 else "few"
    wanted = _count_by_end(query, every, stream)
    for engine, some in found.items():
        assert Counter(some.end.tolist()) == wanted, (engine, told)
    in_pieces = _tables_of_pieces(checked, stream, rng)
    if query.limit is None:
        assert sum((_rows(t) for t in in_pieces), Counter()) == rows_of(every), told
    assert sum((_ends(t) for t in in_pieces), Counter()) == _ends(found["auto"].to_arrow()), told
    if query.limit is None:
        return "compared" if len(every) else "without a match"
    return ("cut" if len(every) > sum(wanted.values()) else "whole") if deadline_of(query.pattern) is None else "late"


def _by_definition(checked: Checked, stream: EventStream) -> Matches:
    """What the reference gives by itself, without the layers around the engines."""
    look_back = ItemLookBack(checked)
    return Matches(look_back.checked, look_back.extended(stream), evaluate(checked, stream))


def rows_of(matches: Matches) -> Rows:
    """The rows as texts, with their counts."""
    return _rows(matches.to_arrow())


def _rows(table: pa.Table) -> Rows:
    return Counter(tuple(map(repr, row.values())) for row in table.to_pylist())


def _ends(table: pa.Table) -> Rows:
    """The rows by all that stands before their items but the start."""
    names = table.column_names[: table.column_names.index("end_time") + 1]
    names.remove("start_time")
    return _rows(table.select(names))


def _sorted_by(matches: Matches) -> list[tuple[str, ...]]:
    """Of each row, what ORDER BY sorts by."""
    columns = [matches.values_of(by.name).to_pylist() for by in matches._checked.order]
    return [tuple(map(repr, values)) for values in zip(*columns, strict=True)]


def _count_by_end(query: ast.Query, every: Matches, stream: EventStream) -> Counter[int]:
    """How many rows of each end are reported: all, some of each end, or the first of all or of each partition."""
    if query.limit is None:
        return Counter(every.end.tolist())
    keys = stream.table.select([k.attribute for k in query.partition]).to_pylist() if query.partition else []
    taken: Rows = Counter()
    found: Counter[int] = Counter()
    for end in every.end.tolist():  # they are in order
        group = tuple(map(repr, keys[end].values())) if query.per is ast.Per.PARTITION and keys else ()
        group = (str(end),) if query.per is ast.Per.END else group
        if taken[group] < query.limit:
            found[end] += 1
        taken[group] += 1
    return found


def _tables_of_pieces(checked: Checked, stream: EventStream, rng: Random) -> list[pa.Table]:
    """The rows of the query where its stream comes in pieces, and its state is saved between them."""
    choice = choose(checked)
    running = RunningQuery(choice, stream.tick)
    found: list[pa.Table] = []
    place = 0
    while place < len(stream):
        size = rng.choice((1, 2, 4))
        found.append(running.push(stream.slice(place, size)))
        place += size
        state, running = running.save(), RunningQuery(choice, stream.tick)
        running.load(state)
    return found
