"""The scalar functions of expressions, one row each: name, parameters, result type and meaning.

A function of NULL returns NULL, unless it is `lenient`. A function without a result (the root of a negative number, a
division by zero) also returns NULL: data never raises an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.schema import BOOLEAN, FLOAT, INTEGER, STRING, Kind, ValueType

ANY_KIND = frozenset(Kind)
NUMBER = frozenset((Kind.INTEGER, Kind.FLOAT, Kind.NULL))
TEXT = frozenset((Kind.STRING, Kind.NULL))
WHOLE = frozenset((Kind.INTEGER, Kind.NULL))
TRUTH = frozenset((Kind.BOOLEAN, Kind.NULL))
TIME = frozenset((Kind.TIMESTAMP, Kind.NULL))

ResultRule = Callable[[Sequence[ValueType]], ValueType]


@dataclass(frozen=True)
class Function:
    """A scalar function. `compute` gets Python values; times are integers that count nanoseconds."""

    parameters: tuple[frozenset[Kind], ...]
    result: ResultRule
    compute: Callable[..., Any]
    optional: int = 0
    variadic: bool = False
    lenient: bool = False
    same_kind: bool = False  # the arguments must be comparable with each other
    zoned: bool = False  # compute gets the time zone of its first argument as well

    def accepts(self, count: int) -> bool:
        if self.variadic:
            return count >= len(self.parameters)
        return len(self.parameters) - self.optional <= count <= len(self.parameters)

    def parameter(self, index: int) -> frozenset[Kind]:
        return self.parameters[min(index, len(self.parameters) - 1)]

    def arity(self) -> str:
        least = len(self.parameters) - self.optional
        if self.variadic:
            return f"{least} or more arguments"
        if self.optional:
            return f"{least} to {len(self.parameters)} arguments"
        return f"{least} argument{'' if least == 1 else 's'}"


def _always(result: ValueType) -> ResultRule:
    return lambda _: result


def _first(types: Sequence[ValueType]) -> ValueType:
    return _widened(types[0]) if types[0].kind.numeric else types[0]


def _widened(type_: ValueType) -> ValueType:
    return {Kind.INTEGER: INTEGER, Kind.FLOAT: FLOAT}[type_.kind]


def common_type(types: Sequence[ValueType]) -> ValueType:
    """The type that can hold values of all these types: numbers become floats if one is a float; NULL fits any."""
    known = [t for t in types if t.kind is not Kind.NULL]
    if not known:
        return types[0]
    if all(t.kind.numeric for t in known) and len(known) > 1:
        return FLOAT if any(t.kind is Kind.FLOAT for t in known) else INTEGER
    return known[0]


def aligned(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values, ready to compare or compute with: if one is a float, the other number becomes a float."""
    if isinstance(left, float) and isinstance(right, int | Decimal):
        return left, float(right)
    if isinstance(right, float) and isinstance(left, int | Decimal):
        return float(left), right
    return left, right


def as_computed(value: Any) -> Any:
    """A value, ready for arithmetic: decimals become floats (comparing and choosing values keeps decimals exact)."""
    return float(value) if isinstance(value, Decimal) else value


def _null_if(value: Any, other: Any) -> Any:
    if value is None or other is None:
        return value
    left, right = aligned(value, other)
    return None if left == right else value


def _finite(compute: Callable[..., float]) -> Callable[..., float | None]:
    def guarded(*values: float) -> float | None:
        try:
            return float(compute(*values))
        except (ValueError, OverflowError, ZeroDivisionError):
            return None

    return guarded


def _round(value: float) -> float:
    """Rounds halves away from zero. This is exact, because a float minus its whole part is exact."""
    if isinstance(value, int) or not math.isfinite(value):
        return value
    whole = float(math.trunc(value))
    return whole + math.copysign(1.0, value) if abs(value - whole) >= 0.5 else whole


def _whole(compute: Callable[[float], float]) -> Callable[[float], float]:
    return lambda v: v if isinstance(v, int) or not math.isfinite(v) else float(compute(v))


def _sign(value: float) -> float:
    if value != value:
        return value  # NaN has no sign
    return type(value)((value > 0) - (value < 0))


def _abs(value: float) -> float | None:
    return abs(value) if abs(value) < 2**63 or isinstance(value, float) else None


def _substr(text: str, start: int, length: int | None = None) -> str:
    """As in SQL: positions count from 1; a negative start counts from the end."""
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


def nan_last(value: Any) -> tuple[bool, Any]:
    """The sort key for least and greatest values: NaN is above every number."""
    return (True, 0.0) if isinstance(value, float) and math.isnan(value) else (False, value)


def _extreme(best: Callable[..., Any]) -> Callable[..., Any]:
    def compute(*values: Any) -> Any:
        known = [v for v in values if v is not None]
        return best(known, key=nan_last) if known else None

    return compute


def _arrow(name: str) -> Callable[[str], str]:
    # Arrow maps the case, so that every engine that runs on Arrow columns gives the same letters.
    function = getattr(pc, name)
    return lambda text: function(pa.scalar(text)).as_py()


def local_datetime(nanoseconds: int, zone: str | None) -> datetime | None:
    """The local date and time in the zone, to the second; None outside the years 1 to 9999."""
    try:
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=nanoseconds // 10**9)
        return utc.astimezone(_zone(zone)) if zone else utc
    except OverflowError:
        return None


def _zone(name: str) -> tzinfo:
    # Arrow also allows fixed offsets such as +02:00 as zones.
    if name[:1] in "+-" and len(name) in (5, 6):
        digits = name.replace(":", "")
        offset = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5]))
        return timezone(-offset if name[0] == "-" else offset)
    return ZoneInfo(name)


def _clock(part: Callable[[datetime], int]) -> Callable[[int, str | None], int | None]:
    def compute(nanoseconds: int, zone: str | None) -> int | None:
        local = local_datetime(nanoseconds, zone)
        return None if local is None else part(local)

    return compute


def _midnight(nanoseconds: int, zone: str | None) -> int | None:
    local = local_datetime(nanoseconds, zone)
    if local is None:
        return None
    start = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return int((start - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)) * 10**9


def _number(compute: Callable[..., float], arguments: int = 1) -> Function:
    return Function((NUMBER,) * arguments, _always(FLOAT), _finite(compute))


FUNCTIONS: dict[str, Function] = {
    # numbers
    "abs": Function((NUMBER,), _first, _abs),
    "sign": Function((NUMBER,), _first, _sign),
    "floor": Function((NUMBER,), _first, _whole(math.floor)),
    "ceil": Function((NUMBER,), _first, _whole(math.ceil)),
    "round": Function((NUMBER,), _first, _round),
    "sqrt": _number(math.sqrt),
    "exp": _number(math.exp),
    "ln": _number(math.log),
    "log10": _number(math.log10),
    "power": _number(math.pow, 2),
    "sin": _number(math.sin),
    "cos": _number(math.cos),
    "tan": _number(math.tan),
    "asin": _number(math.asin),
    "acos": _number(math.acos),
    "atan": _number(math.atan),
    "atan2": _number(math.atan2, 2),
    "radians": _number(math.radians),
    "degrees": _number(math.degrees),
    # strings
    "lower": Function((TEXT,), _always(STRING), _arrow("utf8_lower")),
    "upper": Function((TEXT,), _always(STRING), _arrow("utf8_upper")),
    "length": Function((TEXT,), _always(INTEGER), len),
    "trim": Function((TEXT,), _always(STRING), lambda t: t.strip(" ")),
    "substr": Function((TEXT, WHOLE, WHOLE), _always(STRING), _substr, optional=1),
    "concat": Function((TEXT,), _always(STRING), lambda *t: "".join(t), variadic=True),
    "replace": Function((TEXT, TEXT, TEXT), _always(STRING), lambda t, old, new: t.replace(old, new) if old else t),
    "contains": Function((TEXT, TEXT), _always(BOOLEAN), lambda t, part: part in t),
    "starts_with": Function((TEXT, TEXT), _always(BOOLEAN), str.startswith),
    "ends_with": Function((TEXT, TEXT), _always(BOOLEAN), str.endswith),
    # times, in the zone of their column
    "year": Function((TIME,), _always(INTEGER), _clock(lambda t: t.year), zoned=True),
    "month": Function((TIME,), _always(INTEGER), _clock(lambda t: t.month), zoned=True),
    "day": Function((TIME,), _always(INTEGER), _clock(lambda t: t.day), zoned=True),
    "weekday": Function((TIME,), _always(INTEGER), _clock(lambda t: t.isoweekday()), zoned=True),
    "hour": Function((TIME,), _always(INTEGER), _clock(lambda t: t.hour), zoned=True),
    "minute": Function((TIME,), _always(INTEGER), _clock(lambda t: t.minute), zoned=True),
    "second": Function((TIME,), _always(INTEGER), _clock(lambda t: t.second), zoned=True),
    "date": Function((TIME,), lambda types: types[0], _midnight, zoned=True),
    # choice
    "coalesce": Function(
        (ANY_KIND,),
        common_type,
        lambda *values: next((v for v in values if v is not None), None),
        variadic=True,
        lenient=True,
        same_kind=True,
    ),
    "nullif": Function(
        (ANY_KIND, ANY_KIND),
        lambda types: types[0],
        _null_if,
        lenient=True,
        same_kind=True,
    ),
    "greatest": Function((ANY_KIND,), common_type, _extreme(max), variadic=True, lenient=True, same_kind=True),
    "least": Function((ANY_KIND,), common_type, _extreme(min), variadic=True, lenient=True, same_kind=True),
    "if": Function(
        (TRUTH, ANY_KIND, ANY_KIND),
        lambda types: common_type(types[1:]),
        lambda test, yes, no: yes if test is True else no,
        lenient=True,
    ),
}

#: Aggregates over a set of events, for the items of SELECT.
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last", "collect")
#: Names with a special form: the look-back, and the literal timestamp('2024-01-31 12:00').
SPECIAL = ("prev", "timestamp")
