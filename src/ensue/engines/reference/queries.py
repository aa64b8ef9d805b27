"""Section 6 of the language page: partitions, consumption, selection, projection, ORDER BY, LIMIT, in that order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import pyarrow as pa

from ensue.data.budget import Budget
from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream
from ensue.engines.reference.expressions import Events
from ensue.engines.reference.first_rows import first_rows, in_order
from ensue.engines.reference.patterns import ComplexEvent, Patterns, select
from ensue.engines.reference.substreams import substreams
from ensue.engines.reference.tally import Tally
from ensue.language import ast
from ensue.logic.check import Checked
from ensue.logic.check_automata import FIELD_TYPES
from ensue.logic.outputs import projected

Progress = Callable[[int, int], None]


def evaluate(
    checked: Checked,
    stream: EventStream,
    progress: Progress | None = None,
    *,
    passed: int | None = None,
    closed: bool = False,
    budget: Budget | None = None,
    cut: bool = True,
) -> ComplexEvents:
    """The complex events that a query reports, in the order of their ends, or as ORDER BY says.

    `passed` is the time that has passed, where that is later than the last event's. All complex events of an end have
    the same deadline, and those of later ends no earlier one: so by their ends they are also in the order in which
    they become known. `closed` says that no event follows: then all time has passed. Without `cut`, the rows are not
    sorted, and what LIMIT takes of the whole or of a partition is left to the caller, who knows all of the stream.

    CONSUME BY rules complex events out before the selector chooses: what may not be reported is no candidate.
    """
    query = checked.query
    parts = substreams(stream, query.partition)
    events = Events(stream, parts, passed, closed=closed)
    by_end: dict[int, list[ComplexEvent]] = defaultdict(list)
    partition_of: dict[int, int] = {}
    budget = budget or Budget()
    tally, kept = Tally(budget), Tally(budget)
    for number, substream in enumerate(parts):
        found = Patterns(events, substream, tally).of(query.pattern)
        tally.release()  # but what was found, which is counted now
        for c in kept.counted(found, new=True):
            by_end[c.end].append(c)
            partition_of[c.end] = number
        if progress is not None:
            progress(number + 1, len(parts))
    reported = list(_report(checked, events, by_end, partition_of))
    if cut:
        reported = first_rows(checked, in_order(checked, events, reported), partition_of)
    matches = ComplexEvents.of((c.start, c.end, c.marks) for c in reported)
    return matches.with_computed(registers_of(checked, reported)) if reported else matches


def registers_of(checked: Checked, reported: list[ComplexEvent]) -> dict[str, pa.Array]:
    """What each field of a register that is shown holds in each complex event."""
    shown = {n.name: n.type for o in checked.outputs for n in ast.find(o.expression, ast.InRegister)}
    held = [dict(c.register) for c in reported]
    return {name: pa.array([h[name] for h in held], FIELD_TYPES[type_].arrow) for name, type_ in shown.items()}


def _report(
    checked: Checked, events: Events, by_end: dict[int, list[ComplexEvent]], partition_of: dict[int, int]
) -> Iterator[ComplexEvent]:
    query = checked.query
    kept_variables = projected(checked.outputs)
    consumed: dict[int, int] = {}  # a partition's last end that was reported; with ANY, all count as one
    for end in sorted(by_end):
        group = 0 if query.consume is ast.Consume.ANY else partition_of[end]
        candidates = [c for c in by_end[end] if c.start > consumed.get(group, -1)]
        chosen = {c.project(kept_variables) for c in select(query.selector, candidates, events.rank)}
        reported = sorted(chosen, key=lambda c: (c.start, sorted(c.marks)))[: _of_an_end(query)]
        if reported and query.consume is not ast.Consume.NONE:
            consumed[group] = end
        yield from reported


def _of_an_end(query: ast.Query) -> int | None:
    return query.limit if query.per is ast.Per.END else None
