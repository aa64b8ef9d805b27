"""What checks and stores need of each event, as columns of integers whose order is that of the values.

A check of a register is a range: `x.v < y.v` at an event of `y` asks what is stored to lie below its `v`. So whatever
is compared, the kernel compares integers with two bounds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.automata.registers import Check, Narrowed, Since
from ensue.columns.conversions import as_floats
from ensue.columns.evaluation import evaluated
from ensue.columns.raw_arrays import raw
from ensue.data.events import EventStream, integers, one_chunk
from ensue.data.schema import Kind, value_type
from ensue.errors import EngineError
from ensue.kernels.keys import TextNumbers, numbered_texts
from ensue.kernels.running_totals import joined, no_reach, reach_of
from ensue.kernels.stepping import Columns
from ensue.kernels.value_trees import LEAST, NULL, UNSET
from ensue.language import ast
from ensue.logic.intervals import EVERYTHING, Interval
from ensue.logic.narrowing import narrowed
from ensue.logic.stored_values import Register

if TYPE_CHECKING:
    from ensue.kernels.register_programs import RegisterPrograms

Integers = npt.NDArray[np.int64]
_GREATEST = int(np.iinfo(np.int64).max)
_NONE: Integers = np.zeros((0, 0), dtype=np.int64)
NO_COLUMNS = Columns(_NONE, _NONE, _NONE, _NONE)


class RegisterColumns:
    """Makes the columns of each batch. Texts are numbered as they occur, for all registers alike."""

    def __init__(self, memory: RegisterPrograms, tick: int | None) -> None:
        self._checks, self._stores = memory.checks, memory.stores
        self._computed, self._terms, self._unit = memory.computed, memory.terms, memory.computed_unit
        self._tick = tick
        self.texts = TextNumbers()
        self._sums = memory.sums
        #: How small and how large the floats are so far that are added up.
        self.reach = no_reach(len(self._sums))
        self.textual: set[Register] = set()  # the registers that hold numbers of texts
        self._expressions: dict[Register, list[ast.Expression]] = defaultdict(list)
        self._instructions = memory.instructions
        for a in (*self._checks, *self._stores):
            if (
                not isinstance(a, Since | Narrowed)
                and a.value is not None
                and a.value not in self._expressions[a.register]
            ):
                self._expressions[a.register].append(a.value)

    @property
    def clocks(self) -> bool:
        """Whether times are compared."""
        return any(isinstance(c, Since) for c in self._checks)

    def of(self, events: EventStream, kept: Integers | None) -> Columns:
        """The columns at the events, or at those of them that are kept."""
        if not self._checks and not self._stores and not self._terms:
            return NO_COLUMNS
        table = events.table if kept is None else events.table.take(integers(kept))
        values = {r: self._values(r, expressions, table) for r, expressions in self._expressions.items()}
        times = (events.times if kept is None else events.times[kept]) if self.clocks else None
        if times is not None and len(times) and times[0] < LEAST:
            raise EngineError("times of -2^63 steps cannot be compared: they stand for what is missing")
        terms = {e: self._as_computed(_evaluated(e, table), kind, stored=False) for e, kind in self._terms.items()}
        followed = self._narrowed(terms, len(table))
        ranges = [
            followed[c]
            if isinstance(c, Narrowed)
            else _range(c.operator, values[c.register][c.value])
            if isinstance(c, Check)
            else _since(c.interval, times, self._tick)
            for c in self._checks
        ]
        stored = [times if s.value is None else values[s.register][s.value] for s in self._stores]
        self._widen(stored)
        columns = ([least for least, _ in ranges], [greatest for _, greatest in ranges], stored, list(terms.values()))
        return Columns(*(np.array(part, dtype=np.int64).reshape(len(part), len(table)) for part in columns))

    def _narrowed(
        self, terms: Mapping[ast.Expression, Integers], length: int
    ) -> dict[Narrowed, tuple[Integers, Integers]]:
        """Where conditions may be TRUE, as the least and the greatest stored value at each event."""
        checks = [c for c in self._checks if isinstance(c, Narrowed)]
        found = {}
        for condition in dict.fromkeys(c.condition for c in checks):
            formula = self._instructions[condition]
            intervals = narrowed(formula, [_as_floats(terms[t], self._terms[t]) for t in formula.terms])
            for c in checks:
                if c.condition == condition:
                    interval = intervals.get(c.register, EVERYTHING)
                    found[c] = _between(interval, self._computed[c.register] is Kind.FLOAT, length)
        return found

    def _widen(self, stored: list[Integers | None]) -> None:
        """Notes how far the floats reach that are added up."""
        reach = no_reach(len(self._sums))
        for n, register in enumerate(sorted(self._sums)):
            for s, numbers in zip(self._stores, stored, strict=True):
                if s.register == register and self._sums[register] and numbers is not None:
                    reach[n] = reach_of(numbers)
        self.reach = joined(self.reach, reach)

    def _values(
        self, register: Register, expressions: list[ast.Expression], table: pa.Table
    ) -> dict[ast.Expression, Integers]:
        """What the expressions give, as integers that compare with each other."""
        arrays = {e: _evaluated(e, table) for e in expressions}
        if register in self._computed:
            kind = self._computed[register]
            if kind is Kind.STRING:
                self.textual.add(register)
            stored = register not in self._sums
            return {e: self._as_computed(array, kind, stored=stored) for e, array in arrays.items()}
        return dict(zip(arrays, self._as_integers(register, list(arrays.values())), strict=True))

    def _as_integers(self, register: Register, arrays: list[pa.Array]) -> list[Integers]:
        kinds = {value_type(a.type).kind for a in arrays} - {Kind.NULL}
        if kinds == {Kind.STRING}:
            self.textual.add(register)
            convert: Callable[[pa.Array], Integers] = self._numbers_of_texts
        elif Kind.FLOAT in kinds:
            convert = _of_floats
        elif kinds & {Kind.TIMESTAMP, Kind.DURATION}:
            arrays, convert = _in_one_unit(arrays), _of_integers
        else:
            convert = _of_integers
        return [_or_null(a, convert) for a in arrays]

    def _as_computed(self, array: pa.Array, kind: Kind, *, stored: bool) -> Integers:
        return as_computed(array, kind, self.texts, stored=stored, unit=self._unit)

    def _numbers_of_texts(self, array: pa.Array) -> Integers:
        return numbered_texts(array, self.texts)


def as_computed(array: pa.Array, kind: Kind, texts: TextNumbers, *, stored: bool = True, unit: str = "ns") -> Integers:
    """What instructions compute with: times in one unit, texts by their numbers, and of floats NaN too.

    What is stored as it is may not be UNSET, which says that nothing is.
    """
    match kind:
        case Kind.STRING:
            return _or_null(array, lambda found: numbered_texts(found, texts))
        case Kind.FLOAT:
            return _or_null(array, _of_all_floats)
    return _or_null(array, partial(_in_unit, unit=unit, least=LEAST if stored else UNSET))


def _evaluated(e: ast.Expression, table: pa.Table) -> pa.Array:
    names = {n.name for n in ast.find(e, ast.Name)}
    return evaluated(e, {n: one_chunk(table.column(n)) for n in names}, len(table))


def _or_null(array: pa.Array, convert: Callable[[pa.Array], Integers]) -> Integers:
    if pa.types.is_null(array.type):
        return np.full(len(array), NULL, dtype=np.int64)
    found = convert(array)
    if array.null_count:
        found = np.where(pc.is_null(array).to_numpy(zero_copy_only=False), NULL, found)
    return found


def _of_integers(array: pa.Array, least: int = LEAST) -> Integers:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if not pa.types.is_integer(array.type):
        array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    found: Integers = array.fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    if len(found) and found.min() < least:
        raise EngineError(
            "this engine cannot compare an integer of -2^63 or one more between events: engine='reference' does"
        )
    return found


def _of_floats(array: pa.Array) -> Integers:
    """The bits of floats, so turned that their order is that of integers; NaN compares with nothing, as NULL."""
    floats = _floats(array) + 0.0
    bits = floats.view(np.int64)
    found = np.where(bits < 0, bits ^ _GREATEST, bits)
    return np.where(np.isnan(floats), NULL, found)


def _floats(array: pa.Array) -> npt.NDArray[np.float64]:
    """The nearest float of each number, and any of a NULL."""
    found: npt.NDArray[np.float64] = raw(as_floats(array))
    return found


def _of_all_floats(array: pa.Array) -> Integers:
    """As `_of_floats`, with NaN above all others."""
    return floats_as_integers(_floats(array))


def floats_as_integers(floats: npt.NDArray[np.float64]) -> Integers:
    """The bits of floats, so turned that their order is that of integers, with NaN above all others."""
    return _in_order(np.where(np.isnan(floats), np.nan, floats))


def _in_order(floats: npt.NDArray[np.float64]) -> Integers:
    """The bits of floats, so turned that their order is that of integers."""
    bits = floats.view(np.int64)
    return np.where(bits < 0, bits ^ _GREATEST, bits)


def _in_unit(array: pa.Array, unit: str, least: int) -> Integers:
    """Whole numbers as they are, times and durations in the unit."""
    try:
        if pa.types.is_duration(array.type):
            array = array.cast(pa.duration(unit))
        elif value_type(array.type).kind is Kind.TIMESTAMP:
            array = array.cast(pa.timestamp(unit, getattr(array.type, "tz", None)))
    except pa.ArrowInvalid as e:
        raise EngineError(
            f"this engine computes with times in {unit}, which these do not fit ({e}): engine='reference' does"
        ) from None
    return _of_integers(array, least)


def _in_one_unit(arrays: list[pa.Array]) -> list[pa.Array]:
    """Times and durations in the finest unit that one of them has; what the reference gave is in nanoseconds."""
    types = {a.type for a in arrays if not pa.types.is_null(a.type)}
    if len(types) <= 1:
        return arrays
    units = [t.unit if hasattr(t, "unit") else ("ns" if pa.types.is_integer(t) else "ms") for t in types]
    unit = max(units, key=("s", "ms", "us", "ns").index)
    duration = any(pa.types.is_duration(t) for t in types)
    zone = next((t.tz for t in types if pa.types.is_timestamp(t)), None)
    common = pa.duration(unit) if duration else pa.timestamp(unit, zone)
    try:
        return [a if pa.types.is_null(a.type) or pa.types.is_integer(a.type) else a.cast(common) for a in arrays]
    except pa.ArrowInvalid as e:
        raise EngineError(f"times of different units cannot be compared: {e}") from None


def _range(operator: str, value: Integers) -> tuple[Integers, Integers]:
    """The least and the greatest stored value that the comparison holds for: none, if the event's is NULL."""
    least, greatest = np.full_like(value, LEAST), np.full_like(value, _GREATEST)
    none = value == NULL
    match operator:
        case "=":
            least = greatest = value
        case "<":
            greatest = np.where(none, value, value - 1)
        case "<=":
            greatest = value
        case ">":
            none |= value == _GREATEST
            least = np.where(none, value, value + 1)
        case ">=":
            least = value
    return np.where(none, _GREATEST, least), np.where(none, LEAST, greatest)


def _between(interval: Interval, floats: bool, length: int) -> tuple[Integers, Integers]:
    """The least and the greatest stored value in an interval; NULL and NaN only where nothing is known."""
    low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), length) for end in interval)
    if floats:
        least, greatest = _in_order(np.where(low == 0.0, -0.0, low)), _in_order(np.where(high == 0.0, 0.0, high))
    else:
        least, greatest = _whole(np.ceil(low)), _whole(np.floor(high))
    known = np.isfinite(low) | np.isfinite(high)
    return np.where(known, least, NULL), np.where(known, greatest, _GREATEST)


def _whole(floats: npt.NDArray[np.float64]) -> Integers:
    """Whole floats as integers, and what is beyond these as the last ones."""
    inside = np.clip(floats, -(2.0**63), 2.0**62).astype(np.int64)
    large = np.clip(floats, 2.0**62, 2.0**63 - 1024).astype(np.int64)
    found = np.where(floats > 2.0**62, np.where(floats >= 2.0**63 - 1024, _GREATEST, large), inside)
    return np.maximum(found, LEAST)


def _as_floats(numbers: Integers, kind: Kind) -> npt.NDArray[np.float64]:
    """What instructions compute with, as floats again; NaN for NULL."""
    floats = np.where(numbers < 0, numbers ^ _GREATEST, numbers).view(np.float64) if kind is Kind.FLOAT else None
    return np.where(numbers == NULL, np.nan, numbers.astype(np.float64) if floats is None else floats)


def _since(interval: ast.Interval, times: Integers | None, tick: int | None) -> tuple[Integers, Integers]:
    """The earliest and the latest stored time that is as long ago as the interval says."""
    assert times is not None
    assert tick is not None, "a query that compares times runs over a stream whose unit is known"
    shortest, longest = _ticks(interval.low, tick, shortest=True), _ticks(interval.high, tick, shortest=False)
    return _before(times, longest, LEAST), _before(times, shortest, LEAST - 1)


def _before(times: Integers, ticks: int | None, otherwise: int) -> Integers:
    """Each time less so many ticks; if there is no such time, or no bound, `otherwise`."""
    if ticks is None or ticks > _GREATEST:
        return np.full_like(times, otherwise)
    with np.errstate(over="ignore"):
        return np.where(times >= LEAST + ticks if ticks >= 0 else True, times - ticks, otherwise)


def longest_ticks(interval: ast.Interval, tick: int | None) -> int | None:
    """The most steps that the interval allows; None where it has no upper bound."""
    assert tick is not None, "a query that compares times runs over a stream whose unit is known"
    return _ticks(interval.high, tick, shortest=False)


def shortest_ticks(interval: ast.Interval, tick: int | None) -> int:
    """The fewest steps that the interval allows."""
    assert tick is not None, "a query that compares times runs over a stream whose unit is known"
    return min(_ticks(interval.low, tick, shortest=True) or 0, _GREATEST)


def _ticks(bound: ast.Bound | None, tick: int, *, shortest: bool) -> int | None:
    """The shortest or the longest whole number of steps that the bound allows."""
    if bound is None:
        return 0 if shortest else None
    length = bound.duration.nanoseconds() / tick
    whole = length.numerator // length.denominator
    exact = whole == length
    if shortest:
        return whole if exact and bound.inclusive else whole + 1
    return whole - 1 if exact and not bound.inclusive else whole
