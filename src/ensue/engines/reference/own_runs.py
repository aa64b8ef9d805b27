"""The runs of an automaton of the user's own, by definition: a set of runs at each step, and all arcs of each."""

from __future__ import annotations

import itertools
import math
from collections import namedtuple
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ensue.engines.reference.expressions import Events, Expressions, Scope
from ensue.errors import EngineError
from ensue.language import ast
from ensue.logic.own_automata import STEP, Arc, Field, OwnAutomaton, OwnCall, Value, literal_of, over_step

_NAN = math.nan  # one object, so that a set takes two of them as the same value


_PYTHON: dict[ast.LiteralType, type] = {
    ast.LiteralType.BOOLEAN: bool,
    ast.LiteralType.INTEGER: int,
    ast.LiteralType.FLOAT: float,
    ast.LiteralType.STRING: str,
}


class Run(NamedTuple):
    """Where a run stands after a step."""

    start: int  # the position of its first event
    state: str
    marks: frozenset[tuple[str, int]]
    register: tuple[Any, ...]
    clocks: tuple[int | None, ...]  # when each was reset, in nanoseconds


class Runs:
    """All runs of an automaton over the events of one partition."""

    def __init__(self, own: OwnAutomaton, events: Events, expressions: Expressions) -> None:
        self._own, self._events, self._expressions = own, events, expressions
        self._shape = own.shape
        self._initial = tuple(_canonical(f.initial) for f in own.shape.fields)
        self._types = [f.type for f in own.shape.fields]
        # Only functions read it, and fields that rows never show have no names that Python could write.
        self._register = namedtuple("Register", list(own.fields), rename=True)  # type: ignore[misc]

    def matches(self, positions: Sequence[int]) -> Iterator[tuple[Run, int]]:
        """Each run that stands in an accepting state, with the position of the last event of its last step."""
        runs: set[Run] = set()
        for step in self._steps(positions):
            unset = (None,) * len(self._shape.clocks)
            begun = [Run(step[0], s, frozenset(), self._initial, unset) for s in self._shape.starts]
            runs = {after for run in (*runs, *begun) for after in self._after(run, step)}
            yield from ((run, step[-1]) for run in runs if run.state in self._shape.accepts)

    def _steps(self, positions: Sequence[int]) -> Iterator[list[int]]:
        if not self._shape.by_time:
            yield from ([k] for k in positions)
            return
        for _, together in itertools.groupby(positions, key=lambda k: self._events.nanoseconds[k]):
            yield list(together)

    def _after(self, run: Run, step: list[int]) -> Iterator[Run]:
        now = self._events.nanoseconds[step[0]]
        for arc in self._own.outgoing[run.state]:
            held = dict(zip(self._shape.clocks, run.clocks, strict=True))
            in_time = all((z := held[c]) is not None and i.contains(now - z) for c, i in arc.since)
            of_type = all((self._events.types[step[0]] == name) == wanted for name, wanted in arc.types)
            if of_type and in_time and all(self._holds(v, run, step, arc) for v in arc.when):
                register = dict(zip(self._own.fields, run.register, strict=True))
                for name, value in arc.then:
                    register[name] = self._stored(self._value(value, run, step, arc), self._own.fields[name])
                marks = run.marks | {(x, k) for x in arc.marks for k in step}
                clocks = tuple(now if c in arc.resets else z for c, z in held.items())
                yield Run(run.start, arc.target, marks, tuple(register.values()), clocks)

    def _holds(self, value: Value, run: Run, step: list[int], arc: Arc) -> bool:
        found = self._value(value, run, step, arc)
        return bool(found) if isinstance(value, OwnCall) else found is True

    def _stored(self, value: Any, field: Field) -> Any:
        """A value of the field's type: functions may give a number for a truth value, and the other way round."""
        if value is None:
            return None
        return _canonical(value if field.of is not None else _PYTHON[field.type](value))

    def _value(self, value: Value, run: Run, step: list[int], arc: Arc) -> Any:
        if isinstance(value, OwnCall):
            return self._called(value, run, step, arc)
        held = dict(zip(self._own.fields, zip(run.register, self._types, strict=True), strict=True))

        def as_held(part: ast.Expression) -> ast.Expression | None:
            return literal_of(*held[part.name]) if isinstance(part, ast.Name) and part.name in held else None

        if self._shape.by_time:
            e = ast.replaced(over_step(value.expression, self._own.fields), as_held)
            return self._expressions.value(e, Scope(sets={STEP: step}))
        return self._expressions.value(ast.replaced(value.expression, as_held), Scope(here=step[0]))

    def _called(self, call: OwnCall, run: Run, step: list[int], arc: Arc) -> Any:
        columns = {a: [self._events.value(a, k) for k in step] for a in call.uses}
        if None in run.register or any(None in column for column in columns.values()):
            return None
        event = namedtuple("Event", call.uses)  # type: ignore[misc]
        given = [np.array(c) if self._shape.by_time else c[0] for c in columns.values()]
        try:
            found = call.function(event(*given), self._register(*run.register))
        except Exception as e:
            time = self._events.stream.time_column[step[0]]
            raise EngineError(
                f"in the automaton '{self._own.name}', {arc}: {call} raised {type(e).__name__}: {e}, at the time {time}"
            ) from e
        return found.item() if isinstance(found, np.generic) else found


def _canonical(value: Any) -> Any:
    """Of the floats that are equal, or no numbers, one."""
    if isinstance(value, float):
        return _NAN if math.isnan(value) else value + 0.0
    return value
