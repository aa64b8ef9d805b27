"""`ensue.function`: functions of the user's own, over Arrow arrays or compiled by Numba."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type
from ensue.columns.raw_arrays import array_of, raw
from ensue.data.schema import Kind, ValueType, value_type
from ensue.errors import did_you_mean, listed
from ensue.kernels.own_loops import compiled, mapped
from ensue.language.own import digest_of
from ensue.logic.own_functions import OwnFunction
from ensue.own.registry import check_name, register

#: How the types of a function may be written, besides as an Arrow type.
_TYPES: dict[Any, pa.DataType] = {
    **dict.fromkeys(("boolean", "bool", bool), pa.bool_()),
    **dict.fromkeys(("integer", "int", int), pa.int64()),
    **dict.fromkeys(("float", "double", float), pa.float64()),
    **dict.fromkeys(("string", "text", str), pa.string()),
    **dict.fromkeys(("timestamp", datetime.datetime), pa.timestamp("us")),
    "timestamptz": pa.timestamp("us", "UTC"),
    **dict.fromkeys(("duration", datetime.timedelta), pa.duration("us")),
}
_NUMBERS = {Kind.BOOLEAN: "bool", Kind.INTEGER: "int64", Kind.FLOAT: "float64"}
Type: TypeAlias = "str | type | pa.DataType"


def function(
    name: str,
    fn: Callable[..., Any],
    *,
    takes: Type | Sequence[Type],
    returns: Type,
    compiled: bool | None = None,
    takes_nulls: bool = False,
    version: str | None = None,
    registered: bool = True,
) -> OwnFunction:
    """A function of one's own, for filters and items: `score(x.v, y.v) > 0.5`.

    `fn` gets Arrow arrays and returns one of the same length, with a value for each row that depends on this row
    only. With `compiled=True`, or if `fn` is a function that Numba has compiled, it gets the numbers of one row, and
    Numba makes the loop. `takes` are the types of the arguments and `returns` that of the result: Arrow types, or
    "float", "integer", "boolean", "string", "timestamp", "timestamptz", "duration".

    Where an argument is NULL, the result is NULL, and `fn` is not asked; with `takes_nulls=True` it gets NULLs as well.
    It may be asked for events that take part in no match. Where a compiled function raises an error, the result is
    NULL; an error of another function stops the query.

    Every query of the program can use the function by its name; `registered=False` leaves it to those that get it in
    the call: `ensue.query(text, score=fn)`. A stream refuses the checkpoint of another function, which it tells by its
    code, or by `version` if that is given.

    >>> import pyarrow.compute as pc
    >>> twice = function("twice", lambda v: pc.multiply(v, 2.0), takes="float", returns="float", registered=False)
    >>> twice
    <function twice>
    """
    check_name(name, OwnFunction.kind)
    if not callable(fn):
        raise TypeError(f"fn: a function of '{name}' is something to call, not {type(fn).__name__}")
    given = [takes] if isinstance(takes, str | type | pa.DataType) else list(takes)
    types = [type_of(t, "takes") for t in given]
    if not types:
        raise ValueError(f"takes: the function '{name}' needs an argument, since it has a value for each row of it")
    result = type_of(returns, "returns")
    rest = (types, result, fn, takes_nulls, version)
    of_numba = hasattr(fn, "py_func")
    loop = of_numba if compiled is None else compiled
    made = (CompiledFunction if loop else ArrowFunction)(name.lower(), *rest)
    if registered:
        register(made)
    return made


class ArrowFunction(OwnFunction):
    """A function over Arrow arrays."""

    def __init__(
        self,
        name: str,
        takes: list[ValueType],
        returns: ValueType,
        fn: Callable[..., Any],
        takes_nulls: bool,
        version: str | None,
    ) -> None:
        parts = [type(self).__name__, name, *(str(t.arrow) for t in (*takes, returns)), takes_nulls]
        digest = digest_of(*parts, fn if version is None else version)
        super().__init__(name, digest, takes, returns, takes_nulls=takes_nulls)
        self._function = getattr(fn, "py_func", fn)  # Numba's own objects are made again where they are used

    def over(self, columns: Sequence[pa.Array]) -> pa.Array:
        try:
            found = self._function(*columns)
        except Exception as e:
            raise self.failed(e) from e
        return self.checked(found, len(columns[0]))


class CompiledFunction(ArrowFunction):
    """A function of the numbers of one row, which Numba compiles."""

    def __init__(self, name: str, takes: list[ValueType], *rest: Any) -> None:
        super().__init__(name, takes, *rest)
        for type_ in (*takes, self.returns):
            if type_.kind not in _NUMBERS:
                raise TypeError(f"a function that Numba compiles is of numbers and truth values, not of {type_}")
        if self.takes_nulls:
            raise ValueError("takes_nulls: no number is NULL, so only a function over Arrow arrays can see one")
        compiled(self._function, self._numbers, _NUMBERS[self.returns.kind])

    @property
    def _numbers(self) -> tuple[str, ...]:
        return tuple(_NUMBERS[t.kind] for t in self.takes)

    def over(self, columns: Sequence[pa.Array]) -> pa.Array:
        given = [np.ascontiguousarray(raw(c), dtype=t) for c, t in zip(columns, self._numbers, strict=True)]
        found, failed = mapped(self._function, given, _NUMBERS[self.returns.kind])
        return as_type(array_of(found, failed, self.result.arrow), self.returns.arrow)


def type_of(given: Type, argument: str) -> ValueType:
    """The type that a user has written as the argument of this name."""
    arrow = given if isinstance(given, pa.DataType) else _TYPES.get(given.lower() if isinstance(given, str) else given)
    if arrow is None:
        names = [n for n in _TYPES if isinstance(n, str)]
        hint = did_you_mean(str(given), names) or f"an Arrow type, or one of {listed(names, 20)}"
        raise TypeError(f"{argument}: unknown type {given!r}; {hint}")
    found = value_type(arrow)
    if found.kind is Kind.NULL or pa.types.is_dictionary(arrow) or pa.types.is_decimal(arrow):
        raise TypeError(f"{argument}: a function is not of type {arrow}")
    return found
