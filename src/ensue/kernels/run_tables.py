"""The plan of an automaton with a register, in the flat arrays that `runs.py` reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ensue.kernels import formulas
from ensue.kernels.register_columns import floats_as_integers, longest_ticks, shortest_ticks
from ensue.kernels.runs import (
    AT_LEAST,
    AT_MOST,
    BY_ADDING,
    BY_CALL,
    BY_FORMULA,
    CHECK_COLUMNS,
    EQUAL,
    LESS,
    MORE,
    OF_CONSTANT,
    OF_TERM,
    PARTS,
    UNEQUAL,
    WRITE_COLUMNS,
    Arcs,
    Machine,
    RunRules,
)
from ensue.kernels.value_trees import NULL
from ensue.language import ast
from ensue.logic.own_automata import Field
from ensue.plan.runs_plan import RunsPlan, Write

_OPERATORS = {"=": EQUAL, "<>": UNEQUAL, "<": LESS, "<=": AT_MOST, ">": MORE, ">=": AT_LEAST}
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
    return _number(field.initial, field.type is ast.LiteralType.FLOAT)


def _number(value: bool | int | float | str | None, is_float: bool) -> int:
    if value is None:
        return NULL
    if not is_float:
        return int(value)
    (number,) = floats_as_integers(np.array([value], dtype=np.float64) + 0.0)
    return int(number)


def _arcs(plan: RunsPlan, tick: int | None) -> Arcs:
    states, finals = len(plan.own.states), set(plan.finals)
    arcs, terms = plan.arcs, list(plan.terms)
    floats = [f.type is ast.LiteralType.FLOAT for f in plan.own.shape.fields]
    parts: list[list[int]] = [[0] * PARTS]
    check, since, write = [], [], []
    for a in arcs:
        for c in a.checks:
            term = -1 if c.term is None else terms.index(c.term)
            check.append((c.field, _OPERATORS[c.operator], term, _number(c.constant, floats[c.field]), floats[c.field]))
        for clock, interval in a.since:
            most = longest_ticks(interval, tick)
            since.append((clock, shortest_ticks(interval, tick), _FAR if most is None else min(most, _FAR)))
        write += [_written(w, terms, floats[w.field]) for w in a.writes]
        lengths = (len(a.checks), len(a.formulas), len(a.calls), len(a.since), len(a.writes), len(a.resets))
        parts.append([before + more for before, more in zip(parts[-1], lengths, strict=True)])
    sources = [a.source for a in arcs]
    return Arcs(
        _numbers([sum(s < q for s in sources) for q in range(states + 1)]),
        np.array([sum(1 << c for c in a.asked) for a in arcs], dtype=np.uint64),
        _numbers([a.target for a in arcs]),
        _numbers([a.mark for a in arcs]),
        np.array([a.target in finals for a in arcs], dtype=np.bool_),
        np.array(parts, dtype=np.int32),
        _table(check, CHECK_COLUMNS),
        _numbers([f for a in arcs for f in a.formulas]),
        _numbers([c for a in arcs for c in a.calls]),
        _table(since, 3),
        _table(write, WRITE_COLUMNS),
        _numbers([r for a in arcs for r in a.resets]),
        _numbers(plan.starts),
    )


def _written(w: Write, terms: list[ast.Expression], is_float: bool) -> tuple[int, ...]:
    """What an arc stores, as a row of numbers."""
    if w.call is not None:
        return w.field, BY_CALL, w.call, 0, is_float
    if w.formula is not None:
        return w.field, BY_FORMULA, w.formula, 0, is_float
    if w.term is not None:
        return w.field, OF_TERM, terms.index(w.term), 0, is_float
    if w.added_to is not None:
        return w.field, BY_ADDING, w.added_to, _number(w.constant, False), is_float
    return w.field, OF_CONSTANT, 0, _number(w.constant, is_float), is_float


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
    return np.array(rows, dtype=np.int64).reshape(-1, width)
