"""The stages of a query in order: read this file first.

    text --parse--> AST --check--> Checked --choose--> Choice --engine(events)--> ComplexEvents --> Matches, Detections

and inside the automaton engine

    Checked --rewrite--> QueryParts --build--> AutomatonSpec --plan--> Plan --kernels(columns)--> ComplexEvents

A query is a function from an ordered event stream to a set of complex events; every stage keeps that function. Tables
and Spark, batches and streams all take this path. `docs/how-it-works.md` describes the packages in this order.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.key_columns import with_keys
from ensue.data.budget import Budget, Large
from ensue.data.complex_events import ComplexEvents, merged_by_end
from ensue.data.events import EventStream, log, read_events
from ensue.data.reading import Reading, no_unit
from ensue.data.schema import Schema
from ensue.engines.item_lookback import ItemLookBack
from ensue.engines.opening import Progress
from ensue.engines.sampling import sampled
from ensue.engines.unexpected import count_unexpected
from ensue.engines.whole_tables import BATCH, Work, evaluate_table
from ensue.errors import did_you_mean, listed
from ensue.language import ast
from ensue.logic.check import check
from ensue.logic.classify import classify
from ensue.logic.memory_advice import advice_for
from ensue.logic.never import warnings_of
from ensue.logic.outputs import attributes_used
from ensue.plan.choice import Choice, check_engine, choose
from ensue.plan.mode import Mode
from ensue.plan.shared import is_shareable, kind_of_stream, matches_of, shared_plan
from ensue.results.detections import Detections
from ensue.results.inside_windows import written_out
from ensue.results.matches import Matches
from ensue.results.row_order import in_order
from ensue.results.totals import Grouping, Totals

#: From this many events on, the log warns the user that a query is evaluated by the slow engine.
LONG = 10_000


@dataclass(frozen=True)
class RunOptions:
    """How a query is to run: nothing of this changes its matches, but `closed`, which says that nothing follows."""

    engine: str = "auto"
    memory: str | int | None = None  # how much memory; None means a part of the machine's
    progress: Progress | None = None
    closed: bool = False  # whether nothing follows the events: what waits for a time or an end is told then


@dataclass(frozen=True)
class Draw:
    """How many matches are drawn; the same seed gives the same ones."""

    wanted: int
    seed: int | None


def run(query: ast.Query, text: str, events: Any, options: RunOptions, *, reading: Reading) -> Matches | Totals:
    """All stages after parsing: check against the events' schema, evaluate, wrap the result."""
    if query.aggregation is not None:
        return _totals(query, text, events, options, reading)
    budget = Budget.of(options.memory, advice_for(query, options.engine))
    with budget.explaining_memory_errors():
        choice, stream = _read(query, text, events, attributes_used(query), options.engine, reading)
        found = _listed(choice, stream, options, budget)
        if not len(found):
            warn_of_unknown_types(query, stream)
        return _matches(choice, stream, found, budget)


def run_together(
    asked: Mapping[str, tuple[ast.Query, str]], events: Any, options: RunOptions, *, reading: Reading
) -> dict[str, Matches]:
    """Several queries over one table, which is read once. What some of them begin with is evaluated once."""
    check_engine(options.engine)
    found: dict[str, Matches] = {}
    for streams in dict.fromkeys(query.streams for query, _ in asked.values()):
        own = {name: of for name, of in asked.items() if of[0].streams == streams}
        used = [attributes_used(query) for query, _ in own.values()]
        together = None if None in used else frozenset[str]().union(*(u for u in used if u is not None))
        for query, text in own.values():
            check(query, text)  # problems of the query alone are reported before any data is read
            warn(query, text)
        stream = read_events(events, streams, used=together, **reading)
        groups: dict[object, dict[str, Choice]] = defaultdict(dict)
        for name, (query, text) in own.items():
            choice = _chosen(query, text, stream, options.engine, reading)
            groups[kind_of_stream(choice) if is_shareable(choice) else name][name] = choice
        for group in groups.values():
            found |= _of_group(group, stream, options)
    return {name: found[name] for name in asked}


def _of_group(group: dict[str, Choice], stream: EventStream, options: RunOptions) -> dict[str, Matches]:
    """What queries find that can share; in two parts, if they are too many for one automaton."""
    (first, *others), names = group.values(), list(group)
    plan = shared_plan([first, *others]) if others else first.plan
    if plan is None and others:
        parts = (names[: len(names) // 2], names[len(names) // 2 :])
        halves = [_of_group({name: group[name] for name in part}, stream, options) for part in parts]
        return halves[0] | halves[1]
    query = first.checked.query
    budget, stream = Budget.of(options.memory, advice_for(query, options.engine)), with_keys(stream, query)
    with budget.explaining_memory_errors():
        if not others:
            found = _listed(first, stream, options, budget)
            return {names[0]: _matches(first, stream, found, budget)}
        work: Any = {"progress": options.progress, "budget": budget, "closed": options.closed}
        together = evaluate_table(replace(first, plan=plan), stream, **work)
        return {
            name: _matches(c, stream, in_order(c.checked, stream, matches_of(together, n, c)), budget)
            for n, (name, c) in enumerate(group.items())
        }


def sample(query: ast.Query, text: str, events: Any, draw: Draw, options: RunOptions, *, reading: Reading) -> Matches:
    """The same for `Query.sample`, which gives some of the matches, drawn at random."""
    budget = Budget.of(options.memory, advice_for(query, options.engine))
    with budget.explaining_memory_errors():
        choice, stream = _read(query, text, events, attributes_used(query), options.engine, reading)
        how: Any = {"progress": options.progress, "budget": budget, "closed": options.closed}
        work = Work(choice, stream, **how)
        found = ComplexEvents((), [])
        if draw.wanted:
            found = sampled(work, draw.wanted, Random(draw.seed), lambda: _listed(choice, stream, options, budget))
            if not len(found):
                warn_of_unknown_types(query, stream)
        return _matches(choice, stream, in_order(choice.checked, stream, found), budget)


def _listed(choice: Choice, stream: EventStream, options: RunOptions, budget: Budget) -> ComplexEvents:
    """All matches, as ORDER BY sorts them."""
    rows = choice.for_table
    found = evaluate_table(rows, stream, progress=options.progress, budget=budget, closed=options.closed)
    if rows.plan is not None and rows.plan.spans is not None and rows.plan.spans.shown:
        found = written_out(found, stream, rows.plan.keys, budget)
    return in_order(choice.checked, stream, found)


def _matches(choice: Choice, stream: EventStream, found: ComplexEvents, budget: Budget) -> Matches:
    unexpected = count_unexpected(choice, stream, budget, BATCH)
    look_back = ItemLookBack(choice.checked)
    own = _of_result(budget, found)
    return Matches(look_back.checked, look_back.extended(stream), found, own, unexpected=unexpected)


def _totals(query: ast.Query, text: str, events: Any, options: RunOptions, reading: Reading) -> Totals:
    """The same for `AGGREGATE`, which gives one row for each group of matches."""
    budget = Budget.of(options.memory, advice_for(query, options.engine))
    with budget.explaining_memory_errors():
        choice, stream = _read(query, text, events, attributes_used(query), options.engine, reading)
        look_back = ItemLookBack(choice.checked)
        grouping = Grouping(look_back.checked, stream.time_column.type, stream.tick)
        unexpected = count_unexpected(choice, stream, budget, BATCH)
        how: Any = {"progress": options.progress, "budget": budget, "closed": options.closed}
        if choice.plan is None:
            found = evaluate_table(choice, stream, **how)
            defined = Grouping(choice.checked, stream.time_column.type, stream.tick)
            table, values = defined.by_definition(stream, found)
            return Totals(table, defined.checked_item(values.__getitem__), budget, unexpected=unexpected)
        extended = look_back.extended(stream)
        choice = replace(choice, checked=look_back.checked).for_totals
        found = evaluate_table(choice, extended, mode=Mode.TOTALS, **how)
        if not len(found):
            warn_of_unknown_types(query, stream)
        parts = grouping.folded(grouping.rows(found, extended))
        grouping.warn_of_beyond(parts, "and Totals.exact gives it")
        own = _of_result(budget, found)
        again = _modulo(choice, extended, grouping, replace(options, progress=None))
        return Totals(
            grouping.finished(parts),
            lambda item: grouping.exact(grouping.exact_part(item), parts, again),
            own,
            unexpected=unexpected,
        )


def _modulo(
    choice: Choice, stream: EventStream, grouping: Grouping, options: RunOptions
) -> Callable[[int], pa.Table] | None:
    """What makes the parts anew, with all numbers modulo a prime; None where matches are written out for them."""
    plan = choice.plan
    if plan is None or plan.lanes is None:
        return None
    lanes = plan.lanes

    def made(prime: int) -> pa.Table:
        asked = replace(choice, plan=replace(plan, lanes=replace(lanes, modulus=prime)))
        budget = Budget.of(options.memory)
        found = evaluate_table(asked, stream, mode=Mode.TOTALS, budget=budget, closed=options.closed)
        return grouping.folded(grouping.rows(found, stream))

    return made


def detect(query: ast.Query, text: str, events: Any, options: RunOptions, *, reading: Reading) -> Detections:
    """The same for `Query.detect`, which reports only where matches end and which events took part in them."""
    budget = Budget.of(options.memory, advice_for(query, options.engine))
    # A whole variable among the items is not shown, so the attributes that only it would show need not be read.
    items = tuple(i for i in query.items or () if not isinstance(i.expression, ast.Name))
    with budget.explaining_memory_errors():
        choice, stream = _read(
            query, text, events, attributes_used(replace(query, items=items)), options.engine, reading
        )
        mode = Mode.UNION if query.limit is None or not query.order else Mode.ENUMERATE
        found = evaluate_table(
            choice, stream, mode=mode, progress=options.progress, budget=budget, closed=options.closed
        )
        if mode is Mode.ENUMERATE:  # which rows there are depends on their order
            found = in_order(choice.checked, stream, found)
            found = merged_by_end(found.in_order(np.argsort(found.end, kind="stable")))
        if not len(found):
            warn_of_unknown_types(query, stream)
        return Detections(choice.checked, stream, found, _of_result(budget, found))


def _of_result(budget: Budget, found: ComplexEvents) -> Budget:
    """A new budget for the tables of a result. At first it holds only the positions of the matches."""
    own = budget.unspent()
    own.holder().hold(Large.MATCHES, found.nbytes, len(found))
    return own


def _read(
    query: ast.Query, text: str, events: Any, used: frozenset[str] | None, engine: str, reading: Reading
) -> tuple[Choice, EventStream]:
    check_engine(engine)
    check(query, text)  # problems of the query alone are reported before any data is read
    warn(query, text)
    stream = read_events(events, query.streams, used=used, **reading)
    choice = _chosen(query, text, stream, engine, reading)
    return choice, with_keys(stream, query)


def _chosen(query: ast.Query, text: str, stream: EventStream, engine: str, reading: Reading) -> Choice:
    """The engine of a query for a table, which the log tells of where it is slow."""
    choice = prepare(query, text, stream.schema, stream.tick, reading, engine=engine)
    if choice.engine == "reference" and engine == "auto":
        level = logging.WARNING if len(stream) >= LONG else logging.INFO
        log.log(level, "%s: the reference evaluates it, which is exact and slow on long streams", choice.because)
    return choice


def prepare(
    query: ast.Query,
    text: str,
    schema: Schema,
    tick: int | None,
    reading: Reading,
    *,
    engine: str = "auto",
    tying: bool = True,
) -> Choice:
    """Checks the query against the events' schema and chooses its engine; for tables and for Spark."""
    checked = check(query, text, schema)
    if tick is None and (classify(query).uses_time or (query.aggregation and query.aggregation.every)):
        raise no_unit(reading.get("time", "time"))
    return choose(checked, engine, tying=tying)


def warn(query: ast.Query, text: str) -> None:
    """Logs each reason why the query, or a part of it, can never match."""
    for warning in warnings_of(query, text):
        log.warning("%s", warning.removeprefix("warning: "))


def warn_of_unknown_types(query: ast.Query, stream: EventStream) -> None:
    """Logs each type of the pattern that no event has: the likely reason why nothing matched."""
    for told in unknown_types(query, stream):
        log.warning("%s", told)


def unknown_types(query: ast.Query, stream: EventStream) -> list[str]:
    """For each type of the pattern that no event has, that it is so, and which type may be meant."""
    there = [t for t in stream.types.unique().to_pylist() if t is not None]
    missing = [n for n in dict.fromkeys(t.name for t in ast.find(query.pattern, ast.Type)) if n not in there]
    if not len(stream):
        return []
    known = f"the types are {listed(there)}"
    return [
        f"no event has the type '{name}': {did_you_mean(name, there) or _column_with(name, stream) or known}"
        for name in missing
    ]


def _column_with(value: str, stream: EventStream) -> str | None:
    """Which column of texts has this value: maybe the types are there."""
    for field, column in zip(stream.table.schema, stream.table.columns, strict=True):
        if pa.types.is_string(field.type) and pc.index(column, value).as_py() >= 0:
            return f"the column '{field.name}' has this value, is it the one of the types?"
    return None
