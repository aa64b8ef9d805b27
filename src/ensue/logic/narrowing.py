"""Which stored values a condition can be TRUE for, at most: an interval for each register, at each event.

    abs($1 - v) < 1                                    $1 from v - 1 to v + 1
    sqrt(power($1 - a, 2) + power($2 - b, 2)) < 1      $1 from a - 1 to a + 1, $2 from b - 1 to b + 1

The intervals go forward through the instructions, from what is known to what is computed, and then backward, from the
condition that must be TRUE to what it is computed of (constraint propagation, as in HC4). A run whose value is in the
interval may pass, and the condition decides; one whose value is not cannot. So the runs that may pass are looked up in
the order of what they have stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.formula import Formula, Instruction, Op, formula_between
from ensue.logic.intervals import (
    EVERYTHING,
    Floats,
    Interval,
    both,
    either,
    exactly,
    minus,
    negative,
    of_size,
    over,
    plus,
    power,
    root,
    size,
    times,
    widened,
)
from ensue.logic.scope import variables_of
from ensue.logic.stored_values import Register

#: Less than the radius of the globe as which the distance is measured, in metres; what its rounding may come to.
_RADIUS, _DEGREES = 6_371_000.0, 1e-5
_STORED = (Op.STORED, Op.STORED_FLOAT)
_ARITHMETIC: dict[Op, Callable[[Interval, Interval], Interval]] = {
    **{Op.ADD: plus, Op.ADD_FLOAT: plus, Op.SUBTRACT: minus, Op.SUBTRACT_FLOAT: minus},
    **{Op.MULTIPLY: times, Op.MULTIPLY_FLOAT: times, Op.DIVIDE: over},
}
_CONNECTED = {Op.AND: True, Op.OR: False}
#: Events as which conditions are tried.
_SOME = (1.0, -7.0, 0.5, 100.0)


def narrowed(
    formula: Formula, terms: Sequence[Floats], stored: Mapping[Register, Floats] | None = None
) -> dict[Register, Interval]:
    """For each register the interval at each event; those that nothing is known of are not there.

    `terms` are what the formula takes of the events, as floats; of registers in `stored` the values are known, too.
    """
    search = _Narrowing(formula, terms, stored or {})
    search.require(len(formula.code) - 1, wanted=True)
    loaded = [(formula.registers[i.left], k) for k, i in enumerate(formula.code) if i.op in _STORED]
    return {r: search.values[k] for r, k in loaded if search.values[k] is not EVERYTHING}


def narrowed_registers(formula: Formula) -> frozenset[Register]:
    """The registers that something may be known of."""
    return frozenset(_tried(formula))


def bounded_registers(formula: Formula) -> frozenset[Register]:
    """The registers whose interval has two ends, whatever the event: tried with a few."""
    return _with_ends(_tried(formula))


def _tried(formula: Formula) -> dict[Register, Interval]:
    return narrowed(formula, [np.array(_SOME) + k for k in range(len(formula.terms))])


def looked_up(condition: ast.Expression, schema: Schema | None) -> dict[str, frozenset[str]]:
    """For each variable of a condition the parts in whose order its events are looked up, once the others are known.

    >>> from ensue.language.parser import parse_expression
    >>> for text in ("abs(x.v - y.v) < 1", "x.v - y.v < 1", "distance(x.a, x.b, y.a, y.b) < 100"):
    ...     print({x: sorted(parts) for x, parts in looked_up(parse_expression(text), None).items()})
    {'x': ['x.v'], 'y': ['y.v']}
    {'x': [], 'y': []}
    {'x': ['x.a'], 'y': ['y.a']}
    """
    formula = formula_between(condition, schema)
    if formula is None:
        return {}
    owner = {print_expression(e): variables_of(e) for e in ast.walk(condition) if isinstance(e, ast.Expression)}
    found = {}
    for x in sorted(variables_of(condition)):
        known = [r for r in formula.registers if owner[r] != {x}]
        values = {r: np.array(_SOME) + k for k, r in enumerate(known)}
        terms = [np.array(_SOME) for _ in formula.terms]
        found[x] = _with_ends(narrowed(formula, terms, values)) - frozenset(known)
    return found


def _with_ends(found: Mapping[Register, Interval]) -> frozenset[Register]:
    return frozenset(r for r, i in found.items() if np.isfinite(i.low).all() and np.isfinite(i.high).all())


class _Narrowing:
    """The interval of each place of a formula."""

    def __init__(self, formula: Formula, terms: Sequence[Floats], stored: Mapping[Register, Floats]) -> None:
        self._formula, self._terms, self._stored = formula, terms, stored
        self.values: list[Interval] = []
        for instruction in formula.code:
            with np.errstate(invalid="ignore"):
                self.values.append(self._forward(instruction))

    def _forward(self, i: Instruction) -> Interval:
        """What an instruction may give; of truth values nothing is said."""
        f, value = self._formula, self.values
        match i.op:
            case Op.STORED | Op.STORED_FLOAT:
                known = self._stored.get(f.registers[i.left])
                return EVERYTHING if known is None else exactly(known)
            case Op.TERM_FLOAT:
                return exactly(self._terms[i.left])
            case Op.TERM:
                return widened(*exactly(self._terms[i.left]))
            case Op.WHOLE:
                number = f.whole[i.left]
                return exactly(float(number)) if abs(number) < 2**53 else widened(float(number), float(number))
            case Op.FLOAT:
                return exactly(f.floats[i.left])
            case Op.TO_FLOAT | Op.FITS:
                return value[i.left]
            case Op.MULTIPLY | Op.MULTIPLY_FLOAT if i.left == i.right:
                return power(value[i.left], 2)
            case Op.POWER if (exponent := self._exponent(i)) and exponent % 2 == 0:
                return power(value[i.left], exponent)
            case Op.ROOT:
                return Interval(0.0, np.inf)
            case Op.NEGATE | Op.NEGATE_FLOAT:
                return negative(value[i.left])
            case Op.ABSOLUTE | Op.ABSOLUTE_FLOAT:
                return size(value[i.left])
            case Op.DISTANCE:
                return Interval(0.0, np.inf)
        return self._of_two(i)

    def _of_two(self, i: Instruction) -> Interval:
        compute = _ARITHMETIC.get(i.op)
        return EVERYTHING if compute is None else compute(self.values[i.left], self.values[i.right])

    def _exponent(self, i: Instruction) -> int:
        """The exponent of a power, if it is a whole number above 0, else 0."""
        low, high = self.values[i.right]
        if not np.size(low):
            return 0
        least = float(np.min(low))
        whole = least == float(np.max(high)) and least == math.floor(least) and 0 < least < 100
        return int(least) if whole else 0

    def require(self, place: int, *, wanted: bool) -> None:
        """Narrows what a condition is computed of, where it is TRUE or, not `wanted`, FALSE."""
        i = self._formula.code[place]
        if i.op is Op.NOT:
            self.require(i.left, wanted=not wanted)
        elif i.op in _CONNECTED:
            if _CONNECTED[i.op] == wanted:
                for side in (i.left, i.right):
                    self.require(side, wanted=wanted)
            else:
                self._require_one(i, wanted=wanted)
        elif wanted and i.op in (Op.EQUAL, Op.EQUAL_FLOAT):
            shared = both(self.values[i.left], self.values[i.right])
            self.limit(i.left, shared)
            self.limit(i.right, shared)
        elif i.op in (Op.LESS, Op.AT_MOST) or (wanted and i.op in (Op.LESS_FLOAT, Op.AT_MOST_FLOAT)):
            # A comparison with NaN is FALSE: only of whole numbers it says that the opposite is TRUE.
            less, more = (i.left, i.right) if wanted else (i.right, i.left)
            self.limit(less, Interval(-np.inf, self.values[more].high))
            self.limit(more, Interval(self.values[less].low, np.inf))

    def _require_one(self, i: Instruction, *, wanted: bool) -> None:
        """One of two conditions, or both: what holds is in the least interval around both."""
        before = self.values
        found = []
        for side in (i.left, i.right):
            self.values = list(before)
            self.require(side, wanted=wanted)
            found.append(self.values)
        self.values = [old if a is old or b is old else either(a, b) for old, a, b in zip(before, *found, strict=True)]

    def limit(self, place: int, interval: Interval) -> None:
        """Narrows a number to an interval, and then what it is computed of."""
        if place >= len(self.values) or self._formula.code[place].op in (Op.TERM, Op.TERM_FLOAT, Op.WHOLE, Op.FLOAT):
            return
        self.values[place] = both(self.values[place], interval)
        with np.errstate(invalid="ignore", over="ignore"):
            self._backward(self._formula.code[place], self.values[place])

    def _backward(self, i: Instruction, z: Interval) -> None:
        """What the operands of an instruction may be, where it gives something of the interval `z`."""
        if i.op in (Op.TO_FLOAT, Op.FITS):
            self.limit(i.left, widened(*z))
        if i.op in (Op.TO_FLOAT, Op.FITS) or i.op >= Op.HELD:
            return
        a, b = self.values[i.left], self.values[i.right]
        match i.op:
            case Op.ADD | Op.ADD_FLOAT:
                self.limit(i.left, minus(z, b))
                self.limit(i.right, minus(z, a))
            case Op.SUBTRACT | Op.SUBTRACT_FLOAT:
                self.limit(i.left, plus(z, b))
                self.limit(i.right, minus(a, z))
            case Op.MULTIPLY | Op.MULTIPLY_FLOAT if i.left == i.right:
                self.limit(i.left, root(z, 2))
            case Op.MULTIPLY | Op.MULTIPLY_FLOAT:
                self.limit(i.left, over(z, b))
                self.limit(i.right, over(z, a))
            case Op.DIVIDE:
                self.limit(i.left, times(widened(*z), b))
            case Op.NEGATE | Op.NEGATE_FLOAT:
                self.limit(i.left, negative(z))
            case Op.ABSOLUTE | Op.ABSOLUTE_FLOAT:
                self.limit(i.left, of_size(z))
            case Op.POWER if exponent := self._exponent(i):
                self.limit(i.left, root(z, exponent))
            case Op.ROOT:
                self.limit(i.left, Interval(0.0, power(widened(z.high, z.high), 2).high))
            case Op.FLOOR | Op.CEILING:
                self.limit(i.left, widened(z.low - 1.0, z.high + 1.0))
            case Op.DISTANCE:
                self._limit_places(i, z.high)

    def _limit_places(self, i: Instruction, most: Any) -> None:
        """Two places are no nearer than their latitudes are."""
        places = [self._formula.code[p].left for p in (i.left, i.right)]
        degrees = np.degrees(np.maximum(most, 0.0) / _RADIUS) + _DEGREES
        for place, other in (places, places[::-1]):
            near = self.values[other]
            self.limit(place, widened(near.low - degrees, near.high + degrees))
