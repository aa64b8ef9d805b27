"""The plan of an automaton with a register, in the flat arrays that `runs.py` reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ensue.kernels import formulas
from ensue.kernels.register_columns import floats_as_integers, longest_ticks, shortest_ticks
from ensue.kernels.runs import WRITE_COLUMNS, Arcs, Machine, RunRules
from ensue.kernels.value_trees import NULL
from ensue.language import ast
from ensue.logic.own_automata import Field
from ensue.plan.runs_plan import RunsPlan

_FAR = int(np.iinfo(np.int64).max)


def machine_of(plan: RunsPlan, tick: int | None) -> Machine:
    """The arcs, rules and formulas; `tick` is the nanoseconds of one step of the events' times."""
    number = {name: n for n, name in enumerate(plan.own.fields)}
    made = formulas.table(plan.formulas, list(plan.terms), number)
    return Machine(_arcs(plan, tick), _rules(plan, tick), made)


def first_register(plan: RunsPlan) -> list[int]:
    """What is in the register when a run begins; no clock was reset."""
    return [*map(_number_of, plan.own.shape.fields), *(NULL for _ in plan.own.shape.clocks)]


def _number_of(field: Field) -> int:
    """The whole number that stands for the first value of a field."""
    if field.initial is None:
        return NULL
    if field.type is not ast.LiteralType.FLOAT:
        return int(field.initial)
    (number,) = floats_as_integers(np.array([field.initial], dtype=np.float64))
    return int(number)


def _arcs(plan: RunsPlan, tick: int | None) -> Arcs:
    states, finals = len(plan.own.states), set(plan.finals)
    arcs = plan.arcs
    floats = [f.type is ast.LiteralType.FLOAT for f in plan.own.shape.fields]
    parts, formula, call, since, write, reset = [[0] * 5], [], [], [], [], []
    for a in arcs:
        formula += a.formulas
        call += a.calls
        for clock, interval in a.since:
            most = longest_ticks(interval, tick)
            since.append((clock, shortest_ticks(interval, tick), _FAR if most is None else min(most, _FAR)))
        write += [(w.field, w.formula, w.call, floats[w.field]) for w in a.writes]
        reset += a.resets
        parts.append([len(formula), len(call), len(since), len(write), len(reset)])
    sources = [a.source for a in arcs]
    return Arcs(
        _numbers([sum(s < q for s in sources) for q in range(states + 1)]),
        np.array([sum(1 << c for c in a.asked) for a in arcs], dtype=np.uint64),
        _numbers([a.target for a in arcs]),
        _numbers([a.mark for a in arcs]),
        np.array([a.target in finals for a in arcs], dtype=np.bool_),
        _table(parts, 5),
        _numbers(formula),
        _numbers(call),
        np.array(since, dtype=np.int64).reshape(-1, 3),
        _table(write, WRITE_COLUMNS),
        _numbers(reset),
        _numbers(plan.starts),
    )


def _rules(plan: RunsPlan, tick: int | None) -> RunRules:
    sources = [a.source for a in plan.arcs]
    # A window in time without a unit is no bound: such a query is refused before.
    ticks = None if plan.window.time is None else plan.window.ticks(tick)
    return RunRules(
        timed=ticks is not None,
        ticks=ticks or 0,
        counted=plan.window.events is not None,
        events=plan.window.events or 0,
        limit=plan.limit or 0,
        consumes=plan.consumes,
        repeats=plan.repeats,
        most_arcs=max(map(sources.count, set(sources))),
        shown=_numbers([list(plan.own.fields).index(name) for name in plan.shown]),
    )


def _numbers(values: Sequence[int]) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def _table(rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, width)
