"""The scalar functions of expressions: name, parameters and result type, one row each.

The values of a function are defined twice, on purpose: value by value in the reference (`engines/reference/`), and over
Arrow columns in the engine (`columns/`). A function of NULL returns NULL unless it chooses among its arguments. A
function without a result (the root of a negative number, a division by zero) also returns NULL: data never raises an
error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.schema import BOOLEAN, FLOAT, INTEGER, STRING, Kind, ValueType
from ensue.language.ast import COUNT_DISTINCT

ANY_KIND = frozenset(Kind)
NUMBER = frozenset((Kind.INTEGER, Kind.FLOAT, Kind.NULL))
TEXT = frozenset((Kind.STRING, Kind.NULL))
WHOLE = frozenset((Kind.INTEGER, Kind.NULL))
TRUTH = frozenset((Kind.BOOLEAN, Kind.NULL))
TIME = frozenset((Kind.TIMESTAMP, Kind.NULL))
TEXT_OR_LIST = frozenset((Kind.STRING, Kind.LIST, Kind.NULL))

ResultRule = Callable[[Sequence[ValueType]], ValueType]


@dataclass(frozen=True)
class Function:
    """The signature of a scalar function."""

    parameters: tuple[frozenset[Kind], ...]
    result: ResultRule
    optional: int = 0
    variadic: bool = False
    same_kind: bool = False  # the arguments must be comparable with each other
    chosen: tuple[str, ...] = ()  # the first argument is one of these words, as a literal
    literal: Callable[[str], str | None] | None = None  # the second is a literal; says what is wrong with one

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
    """The type that holds all of these: floats over integers, finer times over coarser ones, anything over NULL.

    >>> common_type([INTEGER, FLOAT]).kind, common_type([INTEGER, INTEGER]).kind
    (<Kind.FLOAT: 'float'>, <Kind.INTEGER: 'integer'>)
    """
    known = [t for t in types if t.kind is not Kind.NULL]
    if not known:
        return types[0]
    if all(t.kind.numeric for t in known) and len(known) > 1:
        return FLOAT if any(t.kind is Kind.FLOAT for t in known) else INTEGER
    if known[0].kind is Kind.TIMESTAMP and len({t.arrow for t in known}) > 1:
        zone = next((t.arrow.tz for t in known if pa.types.is_timestamp(t.arrow)), None)
        return ValueType(Kind.TIMESTAMP, pa.timestamp(finest_unit(known), zone))
    if known[0].kind is Kind.DURATION:
        return ValueType(Kind.DURATION, pa.duration(finest_unit(known)))
    return known[0]


#: The units of times from the coarsest to the finest.
UNITS = ("s", "ms", "us", "ns")


def finest_unit(types: Sequence[ValueType]) -> str:
    """The unit in which the times of all these types are whole numbers."""
    return max(map(_unit, types), key=UNITS.index)


def _unit(type_: ValueType) -> str:
    arrow = type_.arrow
    if pa.types.is_timestamp(arrow) or pa.types.is_duration(arrow):
        return str(arrow.unit)
    return "ms" if pa.types.is_date64(arrow) else "s"


def _number(arguments: int = 1) -> Function:
    return Function((NUMBER,) * arguments, _always(FLOAT))


def _clock() -> Function:
    return Function((TIME,), _always(INTEGER))


def wrong_with_regex(pattern: str) -> str | None:
    """Why this is no regular expression of RE2; None if it is one."""
    try:
        pc.match_substring_regex(pa.scalar(""), pattern)
    except pa.ArrowInvalid as e:
        return f"'{pattern}' is no regular expression: {str(e).rpartition('expression: ')[2]}"
    return None


def wrong_with_separator(separator: str) -> str | None:
    return None if separator else "split needs a separator of one character or more"


TEXTS = ValueType(Kind.LIST, pa.list_(pa.string()))
#: The units to which date_trunc cuts a time off.
TRUNCATED = (
    *("microsecond", "millisecond", "second", "minute", "hour"),
    *("day", "week", "month", "quarter", "year"),
)

FUNCTIONS: dict[str, Function] = {
    # numbers
    "abs": Function((NUMBER,), _first),
    "sign": Function((NUMBER,), _first),
    "floor": Function((NUMBER,), _first),
    "ceil": Function((NUMBER,), _first),
    "round": Function((NUMBER, WHOLE), _first, optional=1),
    "sqrt": _number(),
    "exp": _number(),
    "ln": _number(),
    "log10": _number(),
    "power": _number(2),
    "sin": _number(),
    "cos": _number(),
    "tan": _number(),
    "asin": _number(),
    "acos": _number(),
    "atan": _number(),
    "atan2": _number(2),
    "distance": _number(4),
    "radians": _number(),
    "degrees": _number(),
    # strings
    "lower": Function((TEXT,), _always(STRING)),
    "upper": Function((TEXT,), _always(STRING)),
    "length": Function((TEXT_OR_LIST,), _always(INTEGER)),
    "trim": Function((TEXT,), _always(STRING)),
    "substr": Function((TEXT, WHOLE, WHOLE), _always(STRING), optional=1),
    "concat": Function((TEXT,), _always(STRING), variadic=True),
    "replace": Function((TEXT, TEXT, TEXT), _always(STRING)),
    "contains": Function((TEXT_OR_LIST, ANY_KIND), _always(BOOLEAN)),
    "starts_with": Function((TEXT, TEXT), _always(BOOLEAN)),
    "ends_with": Function((TEXT, TEXT), _always(BOOLEAN)),
    "regexp_matches": Function((TEXT, TEXT), _always(BOOLEAN), literal=wrong_with_regex),
    "split": Function((TEXT, TEXT), _always(TEXTS), literal=wrong_with_separator),
    # times, in the zone of their column
    "year": _clock(),
    "month": _clock(),
    "day": _clock(),
    "weekday": _clock(),
    "hour": _clock(),
    "minute": _clock(),
    "second": _clock(),
    "quarter": _clock(),
    "week": _clock(),
    "day_of_year": _clock(),
    "epoch": Function((TIME,), _always(FLOAT)),
    "date": Function((TIME,), lambda types: types[0]),
    "date_trunc": Function((TEXT, TIME), lambda types: types[1], chosen=TRUNCATED),
    # choice
    "coalesce": Function((ANY_KIND,), common_type, variadic=True, same_kind=True),
    "nullif": Function((ANY_KIND, ANY_KIND), lambda types: types[0], same_kind=True),
    "greatest": Function((ANY_KIND,), common_type, variadic=True, same_kind=True),
    "least": Function((ANY_KIND,), common_type, variadic=True, same_kind=True),
    "if": Function((TRUTH, ANY_KIND, ANY_KIND), lambda types: common_type(types[1:])),
}

#: Aggregates over a set of events, for the items of SELECT.
AGGREGATES = (
    *("count", "sum", "avg", "min", "max", "median", "stddev"),
    *("first", "last", "collect", COUNT_DISTINCT),
)
#: Aggregates of numbers alone.
OF_NUMBERS = ("sum", "avg", "median", "stddev")
#: Names with a special form: the look-back, and the literal timestamp('2024-01-31 12:00').
SPECIAL = ("prev", "timestamp")
