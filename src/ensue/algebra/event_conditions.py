"""Evaluates the conditions of an automaton at one event with the reference, for automata that run in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ensue.automata.predicates import Guard, Predicate, Test, TypeIs
from ensue.automata.registers import Check, Condition, Holds, Register, register_of
from ensue.data.events import EventStream
from ensue.engines.reference.expressions import Events, Expressions, Scope, binary
from ensue.language import ast

#: The content of an empty register.
NOTHING = object()


class EventConditions:
    """Guards, values and checks over the events of a stream; each test and value is computed once."""

    def __init__(self, stream: EventStream, substreams: Sequence[Sequence[int]]) -> None:
        self._stream = stream
        self._events = Events(stream, substreams)
        self._expressions = Expressions(self._events)
        self._truth: dict[tuple[Predicate, int], bool] = {}
        self._values: dict[tuple[ast.Expression, int], Any] = {}

    def holds(self, guard: Guard, k: int) -> bool:
        return all(self._is_true(p, k) == positive for p, positive in guard)

    def _is_true(self, p: Predicate, k: int) -> bool:
        if (p, k) not in self._truth:
            if isinstance(p, TypeIs):
                self._truth[p, k] = self._events.types[k] == p.name
            else:
                assert isinstance(p, Test)
                self._truth[p, k] = self.value(p.expression, k) is True
        return self._truth[p, k]

    def value(self, e: ast.Expression | None, k: int) -> Any:
        """The value of the expression, over bare attributes, at the event; without an expression, the event's time."""
        if e is None:
            return int(self._stream.times[k])
        if (e, k) not in self._values:
            self._values[e, k] = self._expressions.value(e, Scope(here=k))
        return self._values[e, k]

    def passes(self, c: Condition, stored: Mapping[Register, Any], k: int) -> bool:
        """Whether a check holds for these contents of the registers; a check of an empty register holds."""
        if not c.registers <= stored.keys():
            return True
        if isinstance(c, Holds):
            known = c.with_parts(
                lambda e: ast.Literal(stored[r], ast.LiteralType.NULL) if (r := register_of(e)) is not None else None
            )
            return (self._expressions.value(known.condition, Scope(here=k)) is True) != c.absent
        if isinstance(c, Check):
            return binary(c.operator, stored[c.register], self.value(c.value, k)) is True
        assert self._stream.tick is not None, "a pattern that compares times needs a stream whose unit is known"
        return c.interval.contains((int(self._stream.times[k]) - stored[c.register]) * self._stream.tick)
