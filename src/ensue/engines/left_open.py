"""Runs the events that seem to show that windows have no bound: how many does an engine find that were open at once?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ensue.automata.overlap.concrete import TYPE, Event, events_of
from ensue.automata.overlap.finite_ambiguity import Rounds
from ensue.automata.overlap.stream import Streams
from ensue.automata.overlap.values import TIME
from ensue.data.events import EventStream
from ensue.data.schema import Kind, Schema
from ensue.engines.whole_tables import evaluate_table
from ensue.errors import EngineError, QueryError
from ensue.language import ast
from ensue.logic.check import Checked, check
from ensue.logic.outputs import attributes_used
from ensue.plan.choice import choose
from ensue.rewrite.take_out_closing import without_closing

#: How often the round is run.
ROUNDS = 10
_WINDOW = "w"
#: No type of a query has this name.
OTHER_TYPE = "\0other"


def left_open(checked: Checked, streams: Streams, rounds: Rounds) -> int:
    """How many windows one event ends after so many rounds: they were all open before it. 0 if none can be run."""
    events = events_of(streams, [*rounds.lead, *rounds.round * ROUNDS, *rounds.close])
    if events is None:
        return 0
    query = replace(
        checked.query,
        items=(ast.Item(ast.Name(_WINDOW)),),
        pattern=ast.SpanOf(_windows(checked.query.pattern), _WINDOW),
        selector=ast.Selector.ALL,
        partition=(),
        consume=ast.Consume.NONE,
        limit=None,
        order=(),
        expect=None,
    )
    try:
        stream = stream_of(events, checked)
        found = evaluate_table(choose(check(query, checked.text, stream.schema)), stream, threads=1)
    except (QueryError, EngineError, pa.ArrowException):
        return 0  # values of these types are not what the conditions take
    return len(np.unique(found.start[found.end == len(events) - 1]))


def _windows(p: ast.Pattern) -> ast.Pattern:
    """The pattern without what is asked of whole windows, once they are over."""
    core = p
    while isinstance(core, ast.Filter | ast.Within | ast.NotAfter):
        core = core.body
    if isinstance(core, ast.SpanOf):
        return without_closing(core.body)
    return p.body if isinstance(p, ast.NotAfter) else p


def stream_of(events: list[Event], *queries: Checked) -> EventStream:
    """The events as a stream for these queries, which know of the same columns."""
    given = queries[0].schema
    used = (attributes_used(replace(q.query, items=())) or frozenset() for q in queries)
    names = frozenset().union(*used) | {TIME, *({} if given is None else given.attributes)}
    if given is None and any(any(ast.find(q.query.pattern, ast.DurationLiteral)) for q in queries):
        given = Schema.of(pa.schema([(TIME, pa.timestamp("ns"))]))  # what is compared with durations are times
    table = pa.table({n: _column([e.get(n) for e in events], n, given) for n in sorted(names)})
    times = np.array([e[TIME] for e in events], dtype=np.int64)
    types = pa.chunked_array([pa.array([e[TYPE] or OTHER_TYPE for e in events], pa.string())])
    if "type" in names:  # a condition on the column of types speaks of the types
        table = table.set_column(table.column_names.index("type"), "type", types)
    return EventStream(table, types, times, 1, table.column(TIME))


def _column(values: list[object], name: str, schema: Schema | None) -> pa.Array:
    if schema is None or name not in schema.attributes:
        return pa.array(values)
    wanted = schema.attributes[name]
    if wanted.kind is Kind.TIMESTAMP and pa.types.is_timestamp(wanted.arrow):
        return pa.array(values, pa.timestamp("ns", wanted.arrow.tz))
    return pa.array(values).cast(wanted.arrow)
