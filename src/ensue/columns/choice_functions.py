"""The functions that choose among their arguments: the chosen one comes as a value of the type that holds them all.

A value that this type cannot hold (an integer beyond 64 bits with a sign, a time too far away for nanoseconds) is NULL.
What is chosen does not depend on that: arguments of several types are compared as wider numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns.comparing import as_ticks, compare, largest
from ensue.columns.conversions import as_floats, as_texts, kind_of
from ensue.columns.raw_arrays import Value, nulls
from ensue.data.schema import Kind, value_type
from ensue.language.ast import NANOSECONDS
from ensue.logic.functions import common_type

_is = pa.types
_Finish = Callable[[Value], Value]


def coalesce(*values: Value) -> Value:
    """The first that is not NULL."""
    known = _of_a_type(values)
    if not known:
        return values[0]
    alike, finish = _alike(known)
    return finish(pc.coalesce(*alike))


def either(test: Value, yes: Value, no: Value) -> Value:
    """`yes` where the test is TRUE, else `no`."""
    if _is.is_null(test.type):
        test = pa.scalar(False)
    known = _of_a_type((yes, no))
    if not known:
        return nulls(pa.null(), test, yes, no)
    alike, finish = _alike(known)
    null = pa.scalar(None, alike[0].type)
    branches = iter(alike)
    yes, no = (null if _is.is_null(v.type) else next(branches) for v in (yes, no))
    return finish(pc.if_else(pc.fill_null(test, False), yes, no))


def null_if(value: Value, other: Value) -> Value:
    """NULL where the two are equal, else the first."""
    if not _is.is_null(value.type) and not _is.is_null(other.type):
        equal = pc.fill_null(compare("=", value, other), False)
        value = pc.if_else(equal, pa.scalar(None, value.type), value)
    return as_floats(value) if _is.is_decimal(value.type) else value


def extreme(symbol: str) -> Callable[..., Value]:
    """The greatest (`>`) or the least (`<`) that is not NULL, the first of equal ones. NaN is above every number."""

    def apply(*values: Value) -> Value:
        known = _of_a_type(values)
        if not known:
            return values[0]
        (best, *others), finish = _alike(known)
        for v in others:
            best = pc.if_else(_is_better(symbol, v, best), v, best)
        return finish(best)

    return apply


def _is_better(symbol: str, value: Value, best: Value) -> Value:
    better = pc.fill_null(compare(symbol, value, best), False)
    if _is.is_floating(value.type):
        one, other = (value, best) if symbol == ">" else (best, value)
        better = pc.or_(better, pc.fill_null(pc.and_(pc.is_nan(one), pc.invert(pc.is_nan(other))), False))
    return pc.or_(better, pc.and_(pc.is_null(best), pc.is_valid(value)))


# ---------------------------------------------------------------- one type for all


def _of_a_type(values: Sequence[Value]) -> list[Value]:
    return [v for v in values if not _is.is_null(v.type)]


def _alike(values: list[Value]) -> tuple[list[Value], _Finish]:
    """The values as one type in which they compare as they did, and what makes the common type of that."""
    type_ = values[0].type
    same = len({v.type for v in values}) == 1
    if kind_of(values[0]).numeric and not (same and (_is.is_int64(type_) or _is.is_float64(type_) or len(values) == 1)):
        if all(_is.is_integer(v.type) for v in values):
            return [v.cast(_WIDE) for v in values], _narrowed
        return [as_floats(v) for v in values], _as_it_is
    if _is.is_decimal(type_):
        return [as_floats(v) for v in values], _as_it_is
    if same:
        return values, _as_it_is
    if kind_of(values[0]) is Kind.STRING:
        return list(as_texts(tuple(values))), _as_it_is
    return _times_alike(values)


#: Every integer of 64 bits, with a sign or without.
_WIDE = pa.decimal128(20, 0)


def _as_it_is(value: Value) -> Value:
    return value


def _narrowed(value: Value) -> Value:
    least, most = (pa.scalar(n, pa.int64()).cast(value.type) for n in (-(2**63), 2**63 - 1))
    fits = pc.and_(pc.greater_equal(value, least), pc.less_equal(value, most))
    return pc.if_else(fits, value, pa.scalar(None, value.type)).cast(pa.int64())


def _times_alike(values: list[Value]) -> tuple[list[Value], _Finish]:
    """Times in the finest of their units, as decimals where these are too large for 64 bits."""
    type_ = common_type([value_type(v.type) for v in values]).arrow
    steps = [NANOSECONDS[v.type.unit] // NANOSECONDS[type_.unit] for v in values]
    if all(largest(v) * step < 2**63 for v, step in zip(values, steps, strict=True)):
        return [_ticks(v, step).cast(type_) for v, step in zip(values, steps, strict=True)], _as_it_is
    wide = [_wide_ticks(v, step) for v, step in zip(values, steps, strict=True)]
    return wide, lambda found: _narrowed(found).cast(type_)


def _ticks(value: Value, step: int) -> Value:
    return pc.multiply(as_ticks(value), step)


def _wide_ticks(value: Value, step: int) -> Value:
    return pc.multiply(as_ticks(value).cast(_WIDE), pa.scalar(Decimal(step), pa.decimal128(10, 0)))
