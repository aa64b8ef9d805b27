"""Whether two queries find the same complex events over every stream, or one all that the other finds.

The answer is not a guess from examples: the automata of both are compared. Where they differ, the answer has a stream
and a complex event that only one of them finds, and both queries were run over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pyarrow as pa

from ensue.api import Query, query
from ensue.automata.build import within_events
from ensue.automata.model import Automaton, TooLarge
from ensue.automata.overlap.concrete import events_of
from ensue.automata.overlap.difference import Difference, difference
from ensue.automata.overlap.stream import TooMany
from ensue.automata.predicates import Machine
from ensue.data.events import EventStream
from ensue.data.schema import Schema
from ensue.engines.left_open import stream_of
from ensue.engines.whole_tables import evaluate_table
from ensue.errors import EngineError, QueryError, counted
from ensue.language import ast
from ensue.language.query_builder import Select
from ensue.logic.check import check
from ensue.plan.choice import Choice, choose
from ensue.plan.plan import Plan
from ensue.windows.events_shown import shown_events, text_of_events

Text = str | Query | Select
_Marks = frozenset[tuple[str, int]]
#: A window of more events than this is not counted by states: then the two must have the same one.
MOST_EVENTS = 64


@dataclass(frozen=True)
class PatternComparison:
    """Whether it holds; if not, events on which the queries differ, and the complex event that only one of them finds.

    `start`, `end` and the `marks` of each variable are places among the `events`, whose times are nanoseconds.
    """

    holds: bool
    events: pa.Table | None = None
    start: int | None = None
    end: int | None = None
    marks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    only_in: int | None = None  # 1 for the first query, 2 for the second

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.events is None:
            return "it holds for every stream"
        which = "the first" if self.only_in == 1 else "the second"
        marks = ", ".join(f"{x} = {' '.join(map(str, places))}" for x, places in sorted(self.marks.items()))
        found = f"only {which} finds, from event {self.start} to event {self.end}, {marks or 'no marked event'}"
        return "\n".join([found, *text_of_events(self.events)])


def same(first: Text, second: Text, *, schema: pa.Schema | None = None) -> PatternComparison:
    """Whether two queries, or patterns, find the same complex events over every stream.

    Complex events are the same if they start and end at the same events and the variables that are shown mark the same
    ones. `schema` may say what the columns are. Raises an EngineError where it is not known, or where something besides
    conditions on single events, with PREV, decides: a comparison of events or of their times, LIMIT, CONSUME BY. What
    may be a float may be NaN, for which `NOT v > 1` and `v <= 1` differ: they do not where the schema says that `v` is
    a whole number.

    >>> bool(same("A ; (B OR C)", "(A ; B) OR (A ; C)"))
    True
    >>> print(same("A AS x FILTER x.v > 1", "A AS x FILTER x.v >= 1"))
    only the second finds, from event 0 to event 0, A = 0, x = 0
    time  type  v
    ----  ----  -
    0     A     1
    >>> print(same("A AS x FILTER x.v <= 1", "A AS x FILTER NOT x.v > 1"))
    only the second finds, from event 0 to event 0, A = 0, x = 0
    time  type  v
    ----  ----  ---
    0     A     nan
    """
    return _compared(first, second, schema, both_ways=True)


def contains(first: Text, second: Text, *, schema: pa.Schema | None = None) -> PatternComparison:
    """Whether the first query, or pattern, finds every complex event that the second finds; otherwise as `same`.

    >>> bool(contains("A ; B", "A : B")), bool(contains("A : B", "A ; B"))
    (True, False)
    """
    return _compared(first, second, schema, both_ways=False)


def _compared(first: Text, second: Text, schema: pa.Schema | None, *, both_ways: bool) -> PatternComparison:
    known = None if schema is None else Schema.of(schema)
    one, other = (_choice(_query(q), known, which) for q, which in ((first, "first"), (second, "second")))
    if one.keys != other.keys:
        raise EngineError("the two have other keys: they are compared within the streams of equal keys")
    if one.checked.query.expect != other.checked.query.expect:
        raise EngineError("the queries expect other streams: give both the same EXPECT, or neither")
    expectation = one.expectation if one.own_keys else None
    found: Difference | None = None
    try:
        for p, q in _automata(one, other):
            found = difference(p, q, expectation, both_ways=both_ways, marked=True, schema=known)
            if found is None:
                break
    except (TooMany, TooLarge):
        raise EngineError("it is not known whether they are the same: there is too much to go through") from None
    return PatternComparison(True) if found is None else _run(found, one, other)


def _query(text: Text) -> Query:
    if isinstance(text, str) and text.split(None, 1)[:1] and text.split(None, 1)[0].upper() != "SELECT":
        text = f"SELECT * FROM S WHERE {text}"
    return text if isinstance(text, Query) else query(text)


def _choice(made: Query, schema: Schema | None, which: str) -> Choice:
    """The query with its automaton, which is all that decides what it finds."""
    tree = made.ast
    if tree.consume is not ast.Consume.NONE or (tree.limit is not None and not tree.order):
        raise EngineError(f"the {which} query takes some of what it finds: leave out CONSUME BY and LIMIT")
    choice = choose(check(replace(tree, limit=None, order=()), made.text, schema))
    why = choice.without_plan if choice.plan is None else _undecided(choice.plan)
    if why:
        raise EngineError(f"what the {which} query finds cannot be compared: {why}")
    return choice


def _undecided(plan: Plan) -> str:
    """What decides besides conditions on single events, in words; empty for nothing."""
    if plan.automaton.registers or plan.related:
        return "it depends on comparisons of events, or of their times"
    if plan.absence is not None:
        return "an absence with a deadline decides when time has passed it"
    if plan.chooses is not None or plan.chooses_judged is not None:
        return f"{plan.chooses or plan.chooses_judged} chooses among the matches of an end"
    if plan.rankings or not all(isinstance(m, Machine) for m in plan.machines):
        return "it depends on how the runs of the whole stream compare, or on how long ago something was"
    return ""


def _automata(one: Choice, other: Choice) -> list[tuple[Automaton, Automaton]]:
    """Pairs of automata: where those of one pair are the same, so are the queries.

    The last pair has the windows in events, unless both have the same long one: it may hide a difference, and then the
    run does not show it.
    """
    plans = [_plan(one), _plan(other)]
    windows = [p.window if p.own_window is None else p.own_window for p in plans]
    plain = (plans[0].automaton, plans[1].automaton)
    if _longest(windows[0].time) != _longest(windows[1].time):
        raise EngineError("it is not known whether they are the same: their windows in time differ")
    counts = [w.events for w in windows]
    alike = counts[0] == counts[1]
    if alike and (counts[0] is None or counts[0] > MOST_EVENTS):
        return [plain]
    if any(p.counts_all for p in plans):
        raise EngineError("it is not known whether they are the same: a window counts the events of all keys")
    if any(n is not None and n > MOST_EVENTS for n in counts):
        long = f"a window has more than {counted(MOST_EVENTS, 'event')}"
        raise EngineError(f"it is not known whether they are the same: {long}")
    bounded = [p if n is None else within_events.construct(p, n) for p, n in zip(plain, counts, strict=True)]
    return [*([plain] if alike else []), (bounded[0], bounded[1])]


def _longest(bound: ast.Bound | None) -> tuple[Fraction, bool] | None:
    return None if bound is None else (bound.duration.nanoseconds(), bound.inclusive)


def _plan(choice: Choice) -> Plan:
    assert choice.plan is not None
    return choice.plan


def _run(found: Difference, one: Choice, other: Choice) -> PatternComparison:
    """The difference, once both queries were run over its events."""
    events = events_of(found.streams, [*found.before, *found.window])
    start = len(found.before)
    marks = frozenset((x, start + k) for k, step in enumerate(found.steps) for x in step.marks)
    wanted = (start, start + len(found.steps) - 1, marks)
    with suppress(QueryError, pa.ArrowException):  # values of these types may not be what the conditions take
        stream = None if events is None else stream_of(events, one.checked, other.checked)
        had = [stream is not None and wanted in _complex_events(choice, stream) for choice in (one, other)]
        if stream is not None and had == [found.of_first, not found.of_first]:
            places = {x: tuple(sorted(k for y, k in marks if y == x)) for x, _ in sorted(marks)}
            return PatternComparison(False, shown_events(stream), *wanted[:2], places, 1 if found.of_first else 2)
    what = " and of ".join(found.streams.undecided)
    why = f"nothing is decided of {what}" if what else "no events were found on which they differ"
    raise EngineError(f"it is not known whether they are the same: {why}")


def _complex_events(choice: Choice, stream: EventStream) -> set[tuple[int, int, _Marks]]:
    """What is found in a stream whose events have all the same keys."""
    query = replace(choice.checked.query, partition=())
    found = evaluate_table(choose(check(query, choice.checked.text, stream.schema)), stream, threads=1)
    return {
        (
            int(found.start[m]),
            int(found.end[m]),
            frozenset(
                (x, int(found.position[k]))
                for k in range(found.offset[m], found.offset[m + 1])
                for x in found.sets[found.mark[k]]
            ),
        )
        for m in range(len(found))
    }
