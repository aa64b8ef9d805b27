"""Section 4 of the language page: what an expression is worth at given events, in three-valued logic."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ensue.data.events import EventStream
from ensue.data.schema import Kind, ValueType, timestamp_literal
from ensue.engines.reference.casting import cast
from ensue.engines.reference.own_values import own_aggregate, own_value
from ensue.engines.reference.python_values import python_values
from ensue.engines.reference.remembered import Remembered
from ensue.engines.reference.scalar_functions import (
    MEANINGS,
    aligned,
    as_computed,
    as_typed,
    at_time_zone,
    half_away,
    nan_last,
)
from ensue.language import ast
from ensue.logic.own_aggregates import OwnAggregate
from ensue.logic.own_functions import OwnFunction
from ensue.logic.paths import root_of
from ensue.logic.scope import aggregates_of, chosen_variables, is_aggregate, last_of, running_name, running_of
from ensue.logic.types import Typing

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Events:
    """A stream as Python values: an attribute at a position, and the position `k` before it in its substream.

    `passed` is the time that has passed, in the ticks of the stream: no event is still to come from before it. The
    end of a stream is no time that passes, so without it that is the last event's. But if the stream is `closed`, no
    event is to come at all.
    """

    def __init__(
        self,
        stream: EventStream,
        substreams: Sequence[Sequence[int]],
        passed: int | None = None,
        *,
        closed: bool = False,
    ) -> None:
        self.stream = stream
        self.substreams = substreams
        self._passed = passed
        self.closed = closed
        self._columns: dict[str, list[Any]] = {}

    @cached_property
    def rank(self) -> dict[int, int]:
        """The place of each position in its substream."""
        return {pos: rank for members in self.substreams for rank, pos in enumerate(members)}

    @cached_property
    def _substream_of(self) -> dict[int, Sequence[int]]:
        return {pos: members for members in self.substreams for pos in members}

    @cached_property
    def types(self) -> list[str | None]:
        types: list[str | None] = self.stream.types.to_pylist()
        return types

    @cached_property
    def nanoseconds(self) -> list[int]:
        """The time of each event; whole ticks where no unit is known, which only queries without intervals get."""
        tick = self.stream.tick or 1
        return [int(t) * tick for t in self.stream.times]

    @property
    def now(self) -> float:
        """The time that has passed, in nanoseconds; asked where there is an event. Endless if nothing follows."""
        if self.closed:
            return math.inf
        return self.nanoseconds[-1] if self._passed is None else self._passed * (self.stream.tick or 1)

    def value(self, attribute: str, position: int) -> Any:
        if attribute not in self._columns:
            self._columns[attribute] = python_values(self.stream.table.column(attribute))
        return self._columns[attribute][position]

    def before(self, position: int, k: int) -> int | None:
        rank = self.rank[position] - k
        return self._substream_of[position][rank] if rank >= 0 else None


@dataclass(frozen=True)
class Scope:
    """What the names of an expression stand for: one event each (`chosen`), or a set (for `x[g]`, aggregates)."""

    chosen: Mapping[str, int] = field(default_factory=dict)
    sets: Mapping[str, Collection[int]] = field(default_factory=dict)
    here: int | None = None  # the event that bare attribute names inside x[...] speak of
    computed: Mapping[ast.Expression, Any] = field(default_factory=dict)  # aggregates, whatever is chosen

    def at(self, position: int) -> Scope:
        return replace(self, here=position)

    def choosing(self, variable: str, position: int) -> Scope:
        return replace(self, chosen={**self.chosen, variable: position})


class Rounds(NamedTuple):
    """The events that a variable marks in rounds of an iteration."""

    variable: str
    positions: tuple[int, ...]


class _Asked(NamedTuple):
    """What a condition is over."""

    aggregates: list[ast.Call]
    running: list[tuple[ast.Running, str]]  # with the names of their rounds
    chosen: list[str]


def _asked_by(f: ast.Expression) -> _Asked:
    return _Asked(aggregates_of(f), [(r, running_name(r)) for r in running_of(f)], sorted(chosen_variables(f)))


class Expressions:
    """Evaluates expressions over the events of a stream. NULL is None."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self._typing = Typing(events.stream.schema)
        self._types: dict[ast.Expression, ValueType | None] = {}
        self._asked = Remembered(_asked_by)

    def holds_for_every_choice(
        self,
        f: ast.Expression,
        sets: Mapping[str, Collection[int]],
        single: Mapping[str, int],
        rounds: Mapping[str, Rounds] | None = None,
    ) -> bool:
        """A filter over sets: TRUE for every choice of one event from each; an empty set makes it hold.

        An aggregate is of a whole set, so nothing is chosen for it. `single` are the events of single variables, and
        `rounds` those that the RUNNING aggregates are over.
        """
        asked = self._asked(f)
        computed: dict[ast.Expression, Any] = {a: self.value(a, Scope(single, sets)) for a in asked.aggregates}
        for r, name in asked.running:
            y, positions = (rounds or {})[name]
            others = {x: k for x, k in single.items() if x != y}
            computed[r] = self.value(r.aggregate, Scope(others, {y: positions}))
        choices = itertools.product(*(sets[x] for x in asked.chosen))
        scopes = (Scope(dict(zip(asked.chosen, c, strict=True)), sets, computed=computed) for c in choices)
        return all(self.value(f, scope) is True for scope in scopes)

    def holds_at(self, condition: ast.Expression, position: int) -> bool:
        """Whether a condition over bare names is TRUE at an event."""
        return self.value(condition, Scope(here=position)) is True

    def value(self, e: ast.Expression, scope: Scope) -> Any:
        """The value of `e`."""
        match e:
            case ast.Literal():
                return e.value
            case ast.DurationLiteral():
                return int(e.duration.nanoseconds())  # the parser takes whole ones only
            case ast.Name():
                assert scope.here is not None
                return self.events.value(e.name, scope.here)
            case ast.Attribute():
                return self.events.value(e.name, scope.chosen[e.variable])
            case ast.LastOf():
                return self.events.value(e.name, scope.chosen[last_of(e.variable)])
            case ast.Field():
                struct = self.value(e.of, scope)
                return None if struct is None else struct[e.name]
            case ast.Element():
                return _element(self.value(e.of, scope), self.value(e.index, scope))
            case ast.Each():
                every = [self.value(e.condition, scope.at(k)) for k in scope.sets[e.variable]]
                return _all(every)
            case ast.Unary(operator="NOT"):
                operand = self.value(e.operand, scope)
                return None if operand is None else not operand
            case ast.Unary():
                return _negate(self.value(e.operand, scope))
            case ast.Binary(operator="AND"):
                return _all([self.value(e.left, scope), self.value(e.right, scope)])
            case ast.Binary(operator="OR"):
                return _any([self.value(e.left, scope), self.value(e.right, scope)])
            case ast.Binary():
                found = binary(e.operator, self.value(e.left, scope), self.value(e.right, scope))
                return self._whole_nanoseconds(found) if self._is_part_of_duration(e, found) else found
            case ast.IsNull():
                return (self.value(e.operand, scope) is None) != e.negated
            case ast.InList():
                operand = self.value(e.operand, scope)
                return _negated(e, _any([binary("=", operand, self.value(o, scope)) for o in e.options]))
            case ast.Between():
                operand = self.value(e.operand, scope)
                low, high = self.value(e.low, scope), self.value(e.high, scope)
                return _negated(e, _all([binary(">=", operand, low), binary("<=", operand, high)]))
            case ast.Like():
                text, pattern = self.value(e.operand, scope), self.value(e.pattern, scope)
                if e.any_case:
                    text, pattern = (t if t is None else MEANINGS["lower"].compute(t) for t in (text, pattern))
                return _negated(e, _like(text, pattern))
            case ast.Call() | ast.Running():
                return scope.computed[e] if e in scope.computed else self._call(e, scope)
            case ast.Case():
                return self._case(e, scope)
            case ast.Cast():
                given = self._type(e.operand)
                value = as_computed(self.value(e.operand, scope))
                return value if given is None else cast(value, given, e.type)
            case ast.AtTimeZone():
                return self._at_time_zone(e, scope)
        raise AssertionError(e)

    def _at_time_zone(self, e: ast.AtTimeZone, scope: Scope) -> Any:
        value, given, type_ = self.value(e.operand, scope), self._type(e.operand), self._type(e)
        if value is None or given is None or type_ is None:
            return None
        return as_typed(at_time_zone(value, getattr(given.arrow, "tz", None), e.zone), type_)

    def _case(self, e: ast.Case, scope: Scope) -> Any:
        """The result of the first branch whose condition is TRUE."""
        operand = None if e.operand is None else self.value(e.operand, scope)
        for condition, result in e.branches:
            asked = self.value(condition, scope)
            if (asked if e.operand is None else binary("=", operand, asked)) is True:
                return self._chosen(e, self.value(result, scope))
        return None if e.otherwise is None else self._chosen(e, self.value(e.otherwise, scope))

    def _chosen(self, e: ast.Case, value: Any) -> Any:
        type_ = self._type(e)
        return as_computed(value) if type_ is None else as_typed(as_computed(value), type_)

    def _call(self, e: ast.Call | ast.Running, scope: Scope) -> Any:
        assert isinstance(e, ast.Call), "what is RUNNING was computed for the filter"
        if is_aggregate(e):
            return self._aggregate(e, scope)
        if e.function == "prev":
            return self._look_back(e, scope)
        if isinstance(e.own, OwnFunction):
            return own_value(e.own, [self.value(a, scope) for a in e.arguments])
        if e.function == "timestamp":
            (literal,) = e.arguments
            assert isinstance(literal, ast.Literal)
            scalar = timestamp_literal(str(literal.value))
            assert scalar is not None
            return scalar.value * ast.NANOSECONDS[scalar.type.unit]
        meaning = MEANINGS[e.function]
        values = [self.value(a, scope) for a in e.arguments]
        if not meaning.lenient and any(v is None for v in values):
            return None
        if not meaning.exact:
            values = list(map(as_computed, values))
        if meaning.zoned:
            last = self._type(e.arguments[-1])
            values.append(None if last is None else getattr(last.arrow, "tz", None))
        type_ = self._type(e)
        value = meaning.compute(*values)
        return value if type_ is None else as_typed(value, type_)

    def _is_part_of_duration(self, e: ast.Binary, found: Any) -> bool:
        """Whether a duration was multiplied or divided, and the result is a float."""
        type_ = self._type(e) if e.operator in ("*", "/") and isinstance(found, float) else None
        return type_ is not None and type_.kind is Kind.DURATION

    @staticmethod
    def _whole_nanoseconds(value: float) -> int | None:
        """The nearest whole number, halves away from zero; NULL where it does not fit 64 bits."""
        return _fits(int(half_away(value))) if math.isfinite(value) else None

    def _type(self, e: ast.Expression) -> ValueType | None:
        if e not in self._types:
            self._types[e] = self._typing.infer(e)
        return self._types[e]

    def _look_back(self, e: ast.Call, scope: Scope) -> Any:
        term, *steps = e.arguments
        k = int(steps[0].value) if steps and isinstance(steps[0], ast.Literal) else 1  # type: ignore[arg-type]
        root = root_of(term)
        assert isinstance(root, ast.Attribute | ast.Name)
        position = scope.chosen[root.variable] if isinstance(root, ast.Attribute) else scope.here
        assert position is not None
        before = self.events.before(position, k)
        if before is None:
            return None
        there = scope.choosing(root.variable, before) if isinstance(root, ast.Attribute) else scope.at(before)
        return self.value(term, there)

    def _aggregate(self, e: ast.Call, scope: Scope) -> Any:
        (argument,) = e.arguments
        if isinstance(argument, ast.Name):
            return len(scope.sets[argument.name])
        sets = {n.variable for n in ast.find(argument, ast.Attribute)} - scope.chosen.keys()
        if not sets:  # a rewriting has shown that it is of one event
            return _aggregate_of(e, [self.value(argument, scope)])
        (variable,) = sets
        positions = sorted(scope.sets[variable])
        values = [self.value(argument, scope.choosing(variable, k)) for k in positions]
        return _aggregate_of(e, values)


def _aggregate_of(e: ast.Call, values: list[Any]) -> Any:
    return own_aggregate(e.own, values) if isinstance(e.own, OwnAggregate) else aggregate(e.function, values)


def aggregate(function: str, values: list[Any]) -> Any:
    """The aggregate of the values in stream order. As in SQL, NULLs count only for first, last and collect."""
    match function:
        case "collect":
            return values
        case "first":
            return values[0] if values else None
        case "last":
            return values[-1] if values else None
    known = [v for v in values if v is not None]
    if function == "count":
        return len(known)
    if function == ast.COUNT_DISTINCT:
        return len({"NaN" if v != v else v for v in known})
    if not known:
        return None
    match function:
        case "min":
            return min(known, key=nan_last)
        case "max":
            return max(known, key=nan_last)
        case "avg":
            return _float_sum(known) / len(known)
        case "median":
            return _median(sorted(map(float, known), key=nan_last))
        case "stddev":
            return _deviation(list(map(float, known)))
    if all(isinstance(v, int) for v in known):
        return _fits(sum(known))
    return _float_sum(known)


def _median(ordered: list[float]) -> float:
    """The middle one, or the mean of the two in the middle."""
    below, above = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    both = below + above
    return (both / 2 if math.isfinite(both) else below / 2 + above / 2) + 0.0


def _deviation(values: list[float]) -> float | None:
    """The standard deviation of a sample; of fewer than two values there is none."""
    if len(values) < 2:
        return None
    mean = _float_sum(values) / len(values)
    return math.sqrt(_float_sum([(v - mean) * (v - mean) for v in values]) / (len(values) - 1))


def _float_sum(values: list[Any]) -> float:
    """Exact up to the one rounding at the end, so in any order; what lies beyond the floats is an infinity."""
    floats = [float(v) for v in values]
    unbounded = [v for v in floats if not math.isfinite(v)]
    if unbounded:
        return sum(unbounded)
    try:
        return math.fsum(floats) + 0.0
    except OverflowError:  # it may be that only a part of the sum is too large
        exact = sum(map(Fraction, floats))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def binary(symbol: str, left: Any, right: Any) -> Any:
    """Arithmetic and comparison. NULL with anything is NULL; so is what has no result."""
    if left is None or right is None:
        return None
    left, right = aligned(left, right)
    if symbol in _COMPARE:
        return _COMPARE[symbol](left, right)
    left, right = as_computed(left), as_computed(right)
    match symbol:
        case "||":
            return left + right
        case "+":
            return _fits(left + right)
        case "-":
            return _fits(left - right)
        case "*":
            return _fits(left * right)
        case "/":
            return None if right == 0 else float(left) / float(right)
        case "%":
            return None if right == 0 else _remainder(left, right)
    raise AssertionError(symbol)


def _element(of: Any, index: Any) -> Any:
    """An element of a list, counted from 1 or, with a negative number, from its end; or the value of a key of a map."""
    if of is None or index is None:
        return None
    if isinstance(of, dict):
        return of.get(index)
    if index == 0 or abs(index) > len(of):
        return None
    return of[index - 1 if index > 0 else index]


def _remainder(left: Any, right: Any) -> Any:
    """With the sign of the dividend, as in SQL."""
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(left, right) if math.isfinite(left) else math.nan
    return _fits(int(math.copysign(1, left)) * (abs(left) % abs(right)))


def _fits(value: Any) -> Any:
    """Integers are of 64 bits: what does not fit has no result."""
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def _negate(value: Any) -> Any:
    return None if value is None else _fits(-as_computed(value))


def _negated(e: ast.InList | ast.Between | ast.Like, value: bool | None) -> bool | None:
    return (not value) if e.negated and value is not None else value


def _all(values: Collection[bool | None]) -> bool | None:
    """AND of SQL: FALSE wins, then NULL."""
    if any(v is False for v in values):
        return False
    return None if any(v is None for v in values) else True


def _any(values: Collection[bool | None]) -> bool | None:
    """OR of SQL: TRUE wins, then NULL."""
    if any(v is True for v in values):
        return True
    return None if any(v is None for v in values) else False


def _like(text: str | None, pattern: str | None) -> bool | None:
    if text is None or pattern is None:
        return None
    return like_regex(pattern).fullmatch(text) is not None


@lru_cache(maxsize=1000)
def like_regex(pattern: str) -> re.Pattern[str]:
    """SQL's LIKE as a regular expression: `%` any characters, `_` one, a backslash takes the next as it is."""
    out = []
    characters = iter(pattern)
    for c in characters:
        if c == "\\":
            out.append(re.escape(next(characters, "\\")))
        else:
            out.append({"%": ".*", "_": "."}.get(c) or re.escape(c))
    return re.compile("".join(out), re.DOTALL)
