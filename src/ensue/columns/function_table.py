"""Every scalar function of the language over columns, one entry each: the engine's side of `logic/functions.py`."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns import choice_functions, nested_values, number_functions, text_functions, time_functions
from ensue.columns.raw_arrays import Value, nulls
from ensue.data.schema import is_list, value_type
from ensue.logic.functions import FUNCTIONS


def _strict(name: str, compute: Callable[..., Value]) -> Callable[..., Value]:
    """A function of NULL is NULL: Arrow's kernels see to that row by row, and here it is said of whole columns."""

    def apply(*values: Value) -> Value:
        if any(pa.types.is_null(v.type) or (isinstance(v, pa.Scalar) and not v.is_valid) for v in values):
            return nulls(FUNCTIONS[name].result([value_type(v.type) for v in values]).arrow, *values)
        return compute(*values)

    return apply


def _of_lists_or(of_texts: Callable[..., Value], of_lists: Callable[..., Value]) -> Callable[..., Value]:
    """A function that texts and lists both have."""
    return lambda first, *others: (of_lists if is_list(first.type) else of_texts)(first, *others)


_of_floats = number_functions.of_floats
_rounding = number_functions.rounding
_factor = number_functions.times_factor
_part = time_functions.part

#: These see NULL: they choose among their arguments.
_LENIENT: dict[str, Callable[..., Value]] = {
    "coalesce": choice_functions.coalesce,
    "nullif": choice_functions.null_if,
    "greatest": choice_functions.extreme(">"),
    "least": choice_functions.extreme("<"),
    "if": choice_functions.either,
}
_STRICT: dict[str, Callable[..., Value]] = {
    # numbers
    "abs": number_functions.absolute,
    "sign": number_functions.sign,
    "floor": _rounding(pc.floor),
    "ceil": _rounding(pc.ceil),
    "round": number_functions.rounded,
    "sqrt": _of_floats(pc.sqrt),
    "exp": _of_floats(pc.exp),
    "ln": _of_floats(pc.ln),
    "log10": _of_floats(pc.log10),
    "power": _of_floats(pc.power),
    "sin": _of_floats(pc.sin),
    "cos": _of_floats(pc.cos),
    "tan": _of_floats(pc.tan),
    "asin": _of_floats(pc.asin),
    "acos": _of_floats(pc.acos),
    "atan": _of_floats(pc.atan),
    "atan2": _of_floats(pc.atan2),
    "distance": number_functions.distance,
    "radians": _factor(math.pi / 180.0),
    "degrees": _factor(180.0 / math.pi),
    # strings
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "length": _of_lists_or(text_functions.length, nested_values.length),
    "trim": text_functions.trim,
    "substr": text_functions.substr,
    "concat": text_functions.concat,
    "replace": text_functions.replace,
    "contains": _of_lists_or(text_functions.contains, nested_values.contains),
    "starts_with": text_functions.starts_with,
    "ends_with": text_functions.ends_with,
    "regexp_matches": text_functions.regexp_matches,
    "split": text_functions.split,
    # times, in the zone of their column
    "year": _part(time_functions.year),
    "month": _part(time_functions.month),
    "day": _part(time_functions.day),
    "weekday": _part(time_functions.weekday),
    "hour": _part(time_functions.hour),
    "minute": _part(time_functions.minute),
    "second": _part(time_functions.second),
    "quarter": _part(time_functions.quarter),
    "week": _part(time_functions.week),
    "day_of_year": _part(time_functions.day_of_year),
    "epoch": time_functions.epoch,
    "date": time_functions.date,
    "date_trunc": time_functions.date_trunc,
}
COLUMN_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _strict(name, compute) for name, compute in _STRICT.items()},
    **_LENIENT,
}
