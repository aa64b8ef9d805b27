"""The stages of a query in order: read this file first.

    text  --parse-->  AST  --check-->  Checked  --engine(EventStream)-->  ComplexEvents  -->  Matches, or Detections

and inside the automaton engine

    Checked  --rewrite-->  formula  --build-->  Automaton  --compile-->  Plan  --kernels(columns)-->  ComplexEvents

A query is a function from an ordered event stream to a set of complex events; every stage keeps that function.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from ensue.data.complex_events import ComplexEvents, united
from ensue.data.events import EventStream, log, read_events
from ensue.engines import reference
from ensue.engines import whole_tables as automaton
from ensue.engines.item_lookback import ItemLookBack
from ensue.errors import DataError, EngineError, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.logic.check import Checked, check
from ensue.logic.classify import classify
from ensue.logic.outputs import attributes_used
from ensue.plan import Plan
from ensue.results.detections import Detections
from ensue.results.matches import Matches
from ensue.rewrite.tie_equalities import tied

Progress = Callable[[int, int], None]

#: From so many events on, a user is told when a query gets the slow engine.
LONG = 10_000


def evaluate_auto(
    checked: Checked, stream: EventStream, progress: Progress | None = None, *, union: bool = False
) -> ComplexEvents:
    """By the automaton engine where it evaluates the query, else by the reference."""
    plan = plan_or_reason(checked)
    if isinstance(plan, Plan):
        return automaton.run_plan(plan, stream, progress=progress, union=union)
    level = logging.WARNING if len(stream) >= LONG else logging.INFO
    log.log(level, "%s: the reference evaluates it, which is exact and slow on long streams", plan)
    return evaluate_by_reference(tied(checked), stream, progress, union=union)


def evaluate_by_reference(
    checked: Checked, stream: EventStream, progress: Progress | None = None, *, union: bool = False
) -> ComplexEvents:
    """By the meaning itself."""
    found = reference.evaluate(checked, stream, progress)
    return united(found) if union else found


def plan_or_reason(checked: Checked, *, tying: bool = True) -> Plan | str:
    """The automaton engine's plan of a query, or why it has none."""
    try:
        return automaton.plan_of(checked, tying=tying)
    except QueryError as e:
        if any(p.kind is not ProblemKind.UNSUPPORTED for p in e.problems):
            raise
        return e.problems[0].message


#: Every engine by name. Each takes a checked query and a stream, and gives the same complex events; with `union`, those
#: of an end as one.
ENGINES = {"auto": evaluate_auto, "automaton": automaton.evaluate, "reference": evaluate_by_reference}


class Reading(TypedDict):
    """How events are read as a stream: see `Query.run`."""

    time: str | None
    type: str | None
    unit: str | None
    tiebreak: str | None


def run(
    query: ast.Query,
    text: str,
    events: Any,
    *,
    engine: str,
    progress: Progress | None = None,
    **reading: Unpack[Reading],
) -> Matches:
    """All stages after parsing: check against the events' schema, evaluate, wrap the result."""
    evaluate = _engine(engine)
    check(query, text)  # what is wrong with the query alone is told before any data is read
    checked, stream = read(query, text, events, attributes_used(query), reading)
    found = evaluate(checked, stream, progress)
    if not len(found):
        _tell_of_unknown_types(query, stream)
    look_back = ItemLookBack(checked)
    return Matches(look_back.checked, look_back.extended(stream), found)


def detect(
    query: ast.Query,
    text: str,
    events: Any,
    *,
    engine: str,
    progress: Progress | None = None,
    **reading: Unpack[Reading],
) -> Detections:
    """The same where it is only asked at which events a match ends, and which events took part."""
    evaluate = _engine(engine)
    check(query, text)
    # No whole event is shown, so that its other attributes need not be read.
    items = tuple(i for i in query.items or () if not isinstance(i.expression, ast.Name))
    checked, stream = read(query, text, events, attributes_used(replace(query, items=items)), reading)
    found = evaluate(checked, stream, progress, union=True)
    if not len(found):
        _tell_of_unknown_types(query, stream)
    return Detections(checked, stream, found)


def read(
    query: ast.Query, text: str, events: Any, used: frozenset[str] | None, reading: Reading
) -> tuple[Checked, EventStream]:
    """The query checked against the events' schema, and the events as a stream."""
    stream = read_events(events, query.streams, used=used, **reading)
    checked = check(query, text, stream.schema)
    if stream.tick is None and classify(query).uses_time:
        raise DataError(no_unit(reading["time"]))
    return checked, stream


def _tell_of_unknown_types(query: ast.Query, stream: EventStream) -> None:
    """Where nothing matched, a type that no event has is the likely reason."""
    there = [t for t in stream.types.unique().to_pylist() if t is not None]
    for name in dict.fromkeys(t.name for t in ast.find(query.pattern, ast.Type)):
        if len(stream) and name not in there:
            hint = did_you_mean(name, there) or f"the types are {listed(there)}"
            log.warning("no event has the type '%s': %s", name, hint)


def _engine(name: str) -> Callable[..., ComplexEvents]:
    if name not in ENGINES:
        raise EngineError(f"unknown engine '{name}': {did_you_mean(name, ENGINES) or 'one of ' + listed(ENGINES)}")
    return ENGINES[name]


def no_unit(time: str | None) -> str:
    """What is wrong with a query that compares times of an unknown unit."""
    if time is None:
        return "the query compares times, but time=None gives the events none: name the time column"
    return f"the query compares times, and the time column '{time}' is an integer: say its unit, such as unit='ms'"
