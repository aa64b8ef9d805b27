"""The automaton engine under hard conditions: in batches, saved and restored, and with small arrays."""

from __future__ import annotations

from random import Random
from typing import Any

from membership import ComplexEvent

from ensue.data.complex_events import ComplexEvents, concatenated
from ensue.data.envelope import sealed, unsealed
from ensue.data.events import EventStream
from ensue.engines.deadlines import DeadlineEngine
from ensue.engines.finishing import finished
from ensue.engines.protocol import Engine
from ensue.engines.whole_tables import evaluate_table
from ensue.errors import ProblemKind, QueryError
from ensue.kernels.runner import Runner
from ensue.language.parser import parse_query
from ensue.logic.check import Checked, check
from ensue.plan import Plan, compile_plan
from ensue.plan.choice import Choice
from ensue.plan.mode import Mode
from ensue.rewrite import NEEDED, RULES

_ANY_TEXT = "SELECT * FROM S WHERE ANY"
_ANY_QUERY = check(parse_query(_ANY_TEXT), _ANY_TEXT)


def plan_of(checked: Checked, *, rewriting: bool = True) -> Plan | None:
    """The plan of a query; None if the engine says that it does not evaluate the query."""
    try:
        return compile_plan(checked, RULES if rewriting else NEEDED)
    except QueryError as e:
        if any(p.kind is not ProblemKind.UNSUPPORTED for p in e.problems):
            raise
        return None


def choice_of(plan: Plan) -> Choice:
    """The automaton engine with this plan. The plan alone decides what is evaluated."""
    return Choice(_ANY_QUERY, _ANY_QUERY, plan, "")


def run_plan(
    plan: Plan,
    stream: EventStream,
    *,
    threads: int | None = None,
    batch: int | None = None,
    union: bool = False,
) -> ComplexEvents:
    """What a plan reports for a whole table. With `union`, all complex events of an end are one."""
    mode = Mode.UNION if union else Mode.ENUMERATE
    return evaluate_table(choice_of(plan), stream, mode=mode, threads=threads, batch=batch)


def found_events(found: ComplexEvents) -> list[ComplexEvent]:
    """The matches in their order, as triples of start, end and marks."""
    return [
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
    ]


def run_at_once(plan: Plan, stream: EventStream) -> list[ComplexEvent]:
    return found_events(finished(_runner(plan, stream.tick).push(stream), choice_of(plan), stream))


def _runner(plan: Plan, tick: int | None, configurations: int = 4096) -> Engine:
    runner: Any = Runner(plan, tick, configurations=configurations)  # of the protocol, what is called here
    return runner if plan.absence is None else DeadlineEngine(runner, plan, tick)


def run_in_pieces(plan: Plan, stream: EventStream, rng: Random) -> list[ComplexEvent]:
    """Runs the plan over random batches. It keeps few configurations. Sometimes a new runner loads a saved state."""
    runner = _runner(plan, stream.tick, rng.choice([1, 2, 4096]))
    found = []
    start = 0
    while start < len(stream):
        size = rng.choice([0, 1, 2, 3, len(stream)])
        found.append(finished(runner.push(stream.slice(start, size)), choice_of(plan), stream))
        start += size
        if rng.random() < 0.3:
            state = sealed("state", {}, runner.save())
            runner = _runner(plan, stream.tick)
            runner.load(unsealed(state, "state", {}))
    return found_events(concatenated(found, plan.final_marks))
