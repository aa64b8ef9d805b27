"""The stages of a query in order: read this file first.

    text  --parse-->  AST  --check-->  Checked  --engine(EventStream)-->  Found  -->  Matches

and inside the automaton engine

    Checked  --rewrite-->  formula  --build-->  Automaton  --compile-->  Plan  --kernels(columns)-->  Found

A query is a function from an ordered event stream to a set of complex events; every stage keeps that function.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ensue import engine as automaton
from ensue import reference
from ensue.errors import DataError, EngineError, ProblemKind, QueryError, did_you_mean, listed
from ensue.events import EventStream, log, read_events
from ensue.found import Found
from ensue.item_lookback import ItemLookBack
from ensue.language import ast
from ensue.logic.check import Checked, check
from ensue.logic.classify import classify
from ensue.logic.outputs import attributes_used
from ensue.logic.tied import tied
from ensue.matches import Matches
from ensue.plan import Plan

Progress = Callable[[int, int], None]

#: From so many events on, a user is told when a query gets the slow engine.
LONG = 10_000


def evaluate_auto(checked: Checked, stream: EventStream, progress: Progress | None = None) -> Found:
    """By the automaton engine where it evaluates the query, else by the reference."""
    plan = plan_or_reason(checked)
    if isinstance(plan, Plan):
        return automaton.run_plan(plan, stream, progress=progress)
    level = logging.WARNING if len(stream) >= LONG else logging.INFO
    log.log(level, "%s: the reference evaluates it, which is exact and slow on long streams", plan)
    return reference.evaluate(tied(checked), stream, progress)


def plan_or_reason(checked: Checked) -> Plan | str:
    """The automaton engine's plan of a query, or why it has none."""
    try:
        return automaton.plan_of(checked)
    except QueryError as e:
        if any(p.kind is not ProblemKind.UNSUPPORTED for p in e.problems):
            raise
        return e.problems[0].message


#: Every engine by name. Each takes a checked query and a stream, and gives the same complex events.
ENGINES = {"auto": evaluate_auto, "automaton": automaton.evaluate, "reference": reference.evaluate}


def run(
    query: ast.Query,
    text: str,
    events: Any,
    *,
    time: str | None,
    type: str | None,
    unit: str | None,
    tiebreak: str | None,
    engine: str,
    progress: Progress | None = None,
) -> Matches:
    """All stages after parsing: check against the events' schema, evaluate, wrap the result."""
    evaluate = _engine(engine)
    check(query, text)  # what is wrong with the query alone is told before any data is read
    used = attributes_used(query)
    stream = read_events(events, query.streams, time=time, type=type, unit=unit, tiebreak=tiebreak, used=used)
    checked: Checked = check(query, text, stream.schema)
    if stream.tick is None and classify(query).uses_time:
        raise DataError(no_unit(time))
    found = evaluate(checked, stream, progress)
    if not len(found):
        _tell_of_unknown_types(query, stream)
    look_back = ItemLookBack(checked)
    return Matches(look_back.checked, look_back.extended(stream), found)


def _tell_of_unknown_types(query: ast.Query, stream: EventStream) -> None:
    """Where nothing matched, a type that no event has is the likely reason."""
    there = [t for t in stream.types.unique().to_pylist() if t is not None]
    for name in dict.fromkeys(t.name for t in ast.find(query.pattern, ast.Type)):
        if len(stream) and name not in there:
            hint = did_you_mean(name, there) or f"the types are {listed(there)}"
            log.warning("no event has the type '%s': %s", name, hint)


def _engine(name: str) -> Callable[..., Found]:
    if name not in ENGINES:
        raise EngineError(f"unknown engine '{name}': {did_you_mean(name, ENGINES) or 'one of ' + listed(ENGINES)}")
    return ENGINES[name]


def no_unit(time: str | None) -> str:
    """What is wrong with a query that compares times of an unknown unit."""
    if time is None:
        return "the query compares times, but time=None gives the events none: name the time column"
    return f"the query compares times, and the time column '{time}' is an integer: say its unit, such as unit='ms'"
