"""`AGGREGATE` by definition: all matches of each group one by one, in Python's numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from ensue.data.complex_events import ComplexEvents
from ensue.data.events import EventStream
from ensue.engines.reference.expressions import Events, Expressions, Scope, aggregate
from ensue.engines.reference.substreams import substreams
from ensue.language import ast
from ensue.language.ast import NANOSECONDS
from ensue.logic.aggregation import Measure, Over, is_span, measures_of_query, type_of
from ensue.logic.check import Checked
from ensue.logic.partition_keys import key_name
from ensue.logic.scope import attribute_variables

#: The values of the keys, the bucket's first tick, or the position of the end.
Group = tuple[Any, ...]
_NAN = object()
Match = tuple[int, int, dict[str, list[int]]]  # start, end, and what each variable marks


class ReferenceTotals:
    """The groups in the order of their first ends, and what each measure comes to in them.

    Values are as Python has them; an integer may have any size, and a length of time is in ticks.
    """

    def __init__(self, checked: Checked, stream: EventStream, found: ComplexEvents, every: int | None) -> None:
        self._query = checked.query
        self._stream = stream
        self._events = Events(stream, substreams(stream, checked.query.partition))
        self._expressions = Expressions(self._events)
        self.groups: dict[Group, list[Match]] = {}
        #: The position of the first end of each group.
        self.first_end: dict[Group, int] = {}
        for start, end, marks in sorted(found.each(), key=lambda c: c[1]):
            by_variable: dict[str, list[int]] = {}
            for x, position in sorted(marks, key=lambda mark: mark[1]):
                by_variable.setdefault(x, []).append(position)
            group = self._group(end, every)
            self.groups.setdefault(group, []).append((start, end, by_variable))
            self.first_end.setdefault(group, end)
        if not self.groups and not self._aggregation.grouped:
            self.groups[()] = []

    @property
    def _aggregation(self) -> ast.Aggregation:
        assert self._query.aggregation is not None
        return self._query.aggregation

    def _group(self, end: int, every: int | None) -> Group:
        if self._aggregation.per_end:
            return (end,)
        keys = {key_name(k): k for k in self._query.partition}
        values = []
        for wanted in self._aggregation.keys:
            key = keys[wanted.name]
            value = self._expressions.value(key.expression or ast.Name(key.attribute), Scope(here=end))
            values.append(_NAN if value != value else value)
        if every is not None:
            values.append(int(self._stream.times[end]) // every * every)
        return tuple(values)

    def columns(self) -> dict[Measure, pa.Array]:
        """What each measure comes to in each group; lengths of time and points in time in ticks."""
        found = {}
        for m in self.measures:
            type_ = pa.float64() if m.function in ("avg", "log2") else pa.int64()
            if m.over is not Over.TIMES:
                type_ = type_of(m, self._stream.schema, type_)
            found[m] = as_column(self.values(m), type_)
        return found

    def values(self, measure: Measure) -> list[Any]:
        """What the measure comes to in each group; None for NULL."""
        return [self._over(measure, matches) for matches in self.groups.values()]

    @property
    def measures(self) -> tuple[Measure, ...]:
        return measures_of_query(self._query)

    def _over(self, measure: Measure, matches: Sequence[Match]) -> Any:
        if measure.function == "log2":
            return math.log2(len(matches)) if matches else None
        if measure.over is Over.MATCHES:
            return len(matches)
        known = [v for m in matches for v in self._of_match(measure, m) if v is not None]
        if measure.function == "count":
            return len(known)
        if not known:
            return None
        if measure.function in ("sum", "avg") and all(isinstance(v, int) for v in known):
            total = sum(known)
            return total if measure.function == "sum" else float(Fraction(total, len(known)))
        return aggregate(measure.function, known)

    def _of_match(self, measure: Measure, match: Match) -> list[Any]:
        """What a match brings to a measure: a value, or one for each event."""
        start, end, marks = match
        argument = measure.argument
        if measure.over is Over.TIMES:
            times = {"start_time": int(self._stream.times[start]), "end_time": int(self._stream.times[end])}
            if is_span(argument):
                return [times["end_time"] - times["start_time"]]
            assert isinstance(argument, ast.Name)
            return [times[argument.name]]
        if isinstance(argument, ast.Name):
            return [1] * len(marks.get(argument.name, ()))
        single = {x: positions[0] for x, positions in marks.items() if len(positions) == 1}
        if measure.over is Over.VALUES:
            return [self._value(argument, single, marks)]
        used = attribute_variables(argument)
        over = next((x for x in sorted(used) if len(marks.get(x, ())) != 1), min(used))
        positions = marks.get(over, ())
        return [self._expressions.value(argument, Scope({**single, over: k})) for k in positions]

    def _value(self, e: ast.Expression, single: dict[str, int], marks: dict[str, list[int]]) -> Any:
        """The value of an expression of one match; a sum that is the whole expression may have any size."""
        nothing: dict[str, Sequence[int]] = dict.fromkeys(self._variables(e), ())
        scope = Scope(single, {**nothing, **marks})
        if isinstance(e, ast.Call) and e.function == "sum":
            (argument,) = e.arguments
            own = sorted(attribute_variables(argument) - single.keys()) or sorted(attribute_variables(argument))
            places = scope.sets[own[0]]
            values = [self._expressions.value(argument, scope.choosing(own[0], k)) for k in places]
            known = [v for v in values if v is not None]
            if known and all(isinstance(v, int) for v in known):
                return sum(known)
        return self._expressions.value(e, scope)

    @staticmethod
    def _variables(e: ast.Expression) -> set[str]:
        return {n.variable for n in ast.find(e, ast.Attribute)} | {n.name for n in ast.find(e, ast.Name)}


def as_column(values: list[Any], type_: pa.DataType) -> pa.Array:
    """The values as a column; an integer that does not fit 64 bits is NULL."""
    if pa.types.is_integer(type_):
        values = [None if v is None or not -(2**63) <= v < 2**63 else v for v in values]
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        values = [None if v is None else v // NANOSECONDS[type_.unit] for v in values]
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_date(type_):
        days = pa.types.is_date32(type_)
        values = [None if v is None else v // NANOSECONDS["d" if days else "ms"] for v in values]
        return pa.array(values, pa.int32() if days else pa.int64()).cast(type_)
    return pa.array(values, type_)
