"""The stages of a query in order: read this file first.

    text  --parse-->  AST  --check-->  Checked  --evaluate(EventStream)-->  complex events  -->  Matches

A query is a function from an ordered event stream to a set of complex events; every stage keeps that function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ensue import reference
from ensue.errors import DataError, EngineError, did_you_mean, listed
from ensue.events import read_events
from ensue.language import ast
from ensue.logic.check import Checked, check
from ensue.logic.classify import classify
from ensue.matches import Matches

Progress = Callable[[int, int], None]

#: Every engine by name. Each takes a checked query and a stream, and gives the same complex events.
ENGINES = {"reference": reference.evaluate}
#: What `engine="auto"` means.
DEFAULT_ENGINE = "reference"


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
    stream = read_events(events, query.streams, time=time, type=type, unit=unit, tiebreak=tiebreak)
    checked: Checked = check(query, text, stream.schema)
    if stream.tick is None and classify(query).uses_time:
        raise DataError(_no_unit(time))
    return Matches.of(checked, stream, evaluate(checked, stream, progress))


def _engine(name: str) -> Callable[..., Any]:
    chosen = DEFAULT_ENGINE if name == "auto" else name
    if chosen not in ENGINES:
        known = ["auto", *ENGINES]
        raise EngineError(f"unknown engine '{name}': {did_you_mean(name, known) or 'one of ' + listed(known)}")
    return ENGINES[chosen]


def _no_unit(time: str | None) -> str:
    if time is None:
        return "the query compares times, but time=None gives the events none: name the time column"
    return f"the query compares times, and the time column '{time}' is an integer: say its unit, such as unit='ms'"
