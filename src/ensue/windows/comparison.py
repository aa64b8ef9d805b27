"""Compares the windows of two queries: by their automata, and where they differ, by a run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa

from ensue.api import Query, query
from ensue.automata.overlap.concrete import events_of
from ensue.automata.overlap.difference import Difference, difference
from ensue.automata.overlap.stream import TooMany
from ensue.data.events import EventStream
from ensue.data.schema import Schema
from ensue.engines.left_open import stream_of
from ensue.engines.whole_tables import evaluate_table
from ensue.errors import EngineError, QueryError
from ensue.language import ast
from ensue.language.query_builder import Select
from ensue.logic.check import check
from ensue.logic.until import closings_of, is_one_event
from ensue.logic.window import Window
from ensue.plan.choice import Choice, choose
from ensue.plan.plan import Plan
from ensue.windows.events_shown import shown_events, text_of_events

Text = str | Query | Select


@dataclass(frozen=True)
class Comparison:
    """Whether it holds; if not, events on which the queries differ, and the window that only one of them has.

    The `window` is the places of its first event and of its last one among the `events`, whose times are nanoseconds.
    """

    holds: bool
    events: pa.Table | None = None
    window: tuple[int, int] | None = None
    only_in: int | None = None  # 1 for the first query, 2 for the second

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.events is None or self.window is None:
            return "it holds for every stream"
        which = "the first" if self.only_in == 1 else "the second"
        start, end = self.window
        lines = [f"only {which} has the window from event {start} to event {end}"]
        return "\n".join([*lines, *text_of_events(self.events)])


def same(first: Text, second: Text, *, schema: pa.Schema | None = None) -> Comparison:
    """Whether two queries have the same windows over every stream, where `schema` may say what its columns are.

    What the queries show of a window does not matter. Raises an EngineError where it is not known, or where something
    besides the windows' definitions decides, such as a FILTER on their aggregates.

    >>> pairs = "SELECT count(w) AS n FROM S WINDOW w AS (AFTER (ANY:{2}):* IS ANY:{2})"
    >>> alternating = "SELECT count(w) AS n FROM S WINDOW w AS (AFTER (ANY : ANY):* IS ANY : ANY)"
    >>> bool(same(pairs, alternating)), bool(same(pairs, pairs.replace("AFTER (ANY:{2}):* ", "")))
    (True, False)
    """
    return _compared(first, second, schema, both_ways=True)


def contains(first: Text, second: Text, *, schema: pa.Schema | None = None) -> Comparison:
    """Whether the first query has every window that the second has, over every stream; otherwise as `same`.

    >>> any_two = "SELECT count(w) AS n FROM S WINDOW w AS (IS ANY : ANY)"
    >>> a_and_b = any_two.replace("ANY : ANY", "a : b")
    >>> bool(contains(any_two, a_and_b)), contains(a_and_b, any_two).window
    (True, (0, 1))
    """
    return _compared(first, second, schema, both_ways=False)


def _compared(first: Text, second: Text, schema: pa.Schema | None, *, both_ways: bool) -> Comparison:
    known = None if schema is None else Schema.of(schema)
    one_query, other_query = _query(first), _query(second)
    one, other = _choice(one_query, known, "first"), _choice(other_query, known, "second")
    if one.keys != other.keys:
        raise EngineError("the queries have other keys: windows are compared within the streams of equal keys")
    if _is_closed(one_query) != _is_closed(other_query):
        raise EngineError(
            "UNTIL closes the windows of one query only, so what ends with a table is not reported alike: give both "
            "queries an UNTIL, or neither"
        )
    if one.checked.query.expect != other.checked.query.expect:
        raise EngineError("the queries expect other streams: give both the same EXPECT, or neither")
    try:
        expectation = one.expectation if one.own_keys else None
        automata = (_plan(one).automaton, _plan(other).automaton)
        found = difference(*automata, expectation, both_ways=both_ways, schema=known)
    except TooMany:
        raise EngineError("it is not known whether the windows are the same: there is too much to go through") from None
    if found is None:
        return Comparison(True)
    differ = _run(found, one, other)
    if differ.window is None or not _is_closed(one_query):
        return differ
    return replace(differ, window=(differ.window[0], differ.window[1] - 1))  # the event behind it closes it


def _is_closed(made: Query) -> bool:
    return any(ast.find(made.ast.pattern, ast.Until))


def _query(text: Text) -> Query:
    return text if isinstance(text, Query) else query(text)


def _choice(made: Query, schema: Schema | None, which: str) -> Choice:
    """The query with its automaton, which is all that defines its windows."""
    tree = made.ast
    core = tree.pattern
    if not isinstance(core, ast.SpanOf):
        what = "defines no windows, or filters or bounds them" if _around(core) else "defines no windows"
        raise EngineError(f"the {which} query {what}: WINDOW w AS (...) alone is compared")
    if tree.consume is not ast.Consume.NONE or tree.selector is not ast.Selector.ALL:
        raise EngineError(f"the {which} query chooses among its windows: leave out CONSUME BY, NEXT, LAST and MAX")
    closed = _with_closing_events(core, which)
    choice = choose(check(replace(tree, pattern=closed, limit=None, order=()), made.text, schema))
    plan = choice.plan
    if plan is None or plan.automaton.registers or plan.related or plan.window != Window():
        why = choice.without_plan or "its windows depend on comparisons of their events"
        raise EngineError(f"the windows of the {which} query cannot be compared: {why}")
    return choice


def _with_closing_events(core: ast.SpanOf, which: str) -> ast.SpanOf:
    """The windows of a query, each with the event that closes it where all have one.

    It directly follows the window, so of two queries, these windows are the same if and only if their own are.
    """
    closings = closings_of(core)
    if not closings:
        return core
    known = [c for c in closings if c is not None]
    why = (
        "are closed by END as well: a stream has no end, so leave END out"
        if any(c.or_end for c in known)
        else "are not all closed by what follows them: give all pairs an UNTIL, or none"
        if len(known) < len(closings)
        else "are closed by more than one event: an UNTIL of a single event is compared"
        if not all(map(is_one_event, known))
        else None
    )
    if why is not None:
        raise EngineError(f"the windows of the {which} query {why}")
    return replace(core, body=reduce(ast.Or, map(_closed, known)))


def _closed(pair: ast.Until) -> ast.Pattern:
    """A pair, with the event that closes its windows as their last one."""
    assert pair.closing is not None
    if isinstance(pair.body, ast.After):
        return replace(pair.body, body=ast.Sequence(pair.body.body, pair.closing, ast.Link.DIRECTLY))
    return ast.Sequence(pair.body, pair.closing, ast.Link.DIRECTLY)


def _around(p: ast.Pattern) -> bool:
    while isinstance(p, ast.Filter | ast.Within):
        p = p.body
    return isinstance(p, ast.SpanOf)


def _plan(choice: Choice) -> Plan:
    assert choice.plan is not None
    return choice.plan


def _run(found: Difference, one: Choice, other: Choice) -> Comparison:
    """The difference, once both queries were run over its events."""
    word = [*found.before, *found.window]
    events = events_of(found.streams, word)
    window = (len(found.before), len(word) - 1)
    with suppress(QueryError, pa.ArrowException):  # values of these types may not be what the conditions take
        stream = None if events is None else stream_of(events, one.checked, other.checked)
        had = [stream is not None and window in _windows(choice, stream) for choice in (one, other)]
        if stream is not None and had == [found.of_first, not found.of_first]:
            return Comparison(False, shown_events(stream), window, 1 if found.of_first else 2)
    what = " and of ".join(found.streams.undecided)
    why = f"nothing is decided of {what}" if what else "no events were found on which they differ"
    raise EngineError(f"it is not known whether the windows are the same: {why}")


def _windows(choice: Choice, stream: EventStream) -> set[tuple[int, int]]:
    """The windows over a stream whose events have all the same keys."""
    query = replace(choice.checked.query, partition=())
    found = evaluate_table(choose(check(query, choice.checked.text, stream.schema)), stream, threads=1)
    return set(zip(found.start.tolist(), found.end.tolist(), strict=True))
