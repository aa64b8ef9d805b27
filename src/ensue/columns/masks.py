"""Predicates as columns: each distinct test is evaluated once a batch over Arrow columns.

The values are those of the reference (section 4 of the language page). Where Arrow has no kernel of the same meaning,
a test of one column is evaluated once for each of its distinct values, and only the rest row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ensue.data.events import EventStream
from ensue.data.schema import Kind, value_type
from ensue.engines.reference.expressions import Events, Expressions, Scope
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.scope import is_aggregate

Mask = npt.NDArray[np.bool_]
Columns = Mapping[str, pa.Array]


class _NoKernel(Exception):
    """Arrow cannot evaluate the expression with the meaning that it has."""


def holds(e: ast.Expression, columns: Columns, length: int) -> Mask:
    """Where the expression, over bare names, is TRUE.

    >>> from ensue.language.parser import parse_expression
    >>> holds(parse_expression("v > 1 AND name LIKE 'a%'"),
    ...       {"v": pa.array([1, 2, None]), "name": pa.array(["ab", "ac", "ad"])}, 3)
    array([False,  True, False])
    """
    names = sorted({n.name for n in ast.find(e, ast.Name)})
    only = columns[names[0]] if len(names) == 1 else None
    if only is not None and pa.types.is_dictionary(only.type):
        return _by_distinct_value(e, names[0], only)
    try:
        return _true(_value(e, columns), length)
    except (_NoKernel, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        if only is not None and value_type(only.type).kind in (Kind.STRING, Kind.BOOLEAN, Kind.INTEGER):
            return _by_distinct_value(e, names[0], only.dictionary_encode())
        return _row_by_row(e, columns, length)


def values(e: ast.Expression, columns: Columns, length: int) -> pa.Array | None:
    """The expression's value at each row; None where Arrow has no kernel of the same meaning for it."""
    try:
        value = _value(e, columns)
    except (_NoKernel, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
    return pa.repeat(value, length) if isinstance(value, pa.Scalar) else value


def values_of(e: ast.Expression, columns: Columns, length: int) -> pa.Array:
    """The expression's value at each row, by the reference where Arrow has no kernel; times are nanoseconds then."""
    found = values(e, columns, length)
    if found is None:
        expressions = _by_reference(columns, length)
        found = pa.array([expressions.value(e, Scope(here=k)) for k in range(length)])
    return found


def named_by_text(e: ast.Expression) -> ast.Expression:
    """The expression with each `x.a` and each aggregate as a bare name of that text."""
    return ast.replaced(
        e,
        lambda part: (
            ast.Name(print_expression(part)) if isinstance(part, ast.Attribute) or is_aggregate(part) else None
        ),
    )


def _true(value: Any, length: int) -> Mask:
    if isinstance(value, pa.Scalar):
        return np.full(length, value.as_py() is True)
    if pa.types.is_null(value.type):
        return np.zeros(length, dtype=np.bool_)
    mask: Mask = pc.fill_null(value, False).to_numpy(zero_copy_only=False)
    return mask


def _by_distinct_value(e: ast.Expression, name: str, column: pa.DictionaryArray) -> Mask:
    values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])  # the last one is for NULL
    of_value = _row_by_row(e, {name: values}, len(values))
    codes = pc.fill_null(column.indices.cast(pa.int64()), len(values) - 1).to_numpy(zero_copy_only=False)
    taken: Mask = of_value[codes]
    return taken


def _row_by_row(e: ast.Expression, columns: Columns, length: int) -> Mask:
    """By the reference itself: for what overflows, and for functions that Arrow does not have."""
    expressions = _by_reference(columns, length)
    return np.fromiter((expressions.value(e, Scope(here=k)) is True for k in range(length)), np.bool_, length)


def _by_reference(columns: Columns, length: int) -> Expressions:
    nothing = pa.chunked_array([pa.nulls(length, pa.string())])
    stream = EventStream(pa.table(dict(columns)), nothing, np.zeros(length, dtype=np.int64), None, nothing)
    return Expressions(Events(stream, []))


# ---------------------------------------------------------------- with Arrow's kernels

_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_FLOATING = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_LITERALS = {
    ast.LiteralType.NULL: pa.null(),
    ast.LiteralType.BOOLEAN: pa.bool_(),
    ast.LiteralType.INTEGER: pa.int64(),
    ast.LiteralType.FLOAT: pa.float64(),
    ast.LiteralType.STRING: pa.string(),
}


def _value(e: ast.Expression, columns: Columns) -> Any:
    match e:
        case ast.Literal():
            return pa.scalar(e.value, _LITERALS[e.type])
        case ast.Name():
            return _plain(columns[e.name])
        case ast.Unary(operator="NOT"):
            return pc.invert(_boolean(_value(e.operand, columns)))
        case ast.Unary():
            return pc.negate_checked(_number(_value(e.operand, columns)))
        case ast.Binary(operator="AND"):
            return pc.and_kleene(_boolean(_value(e.left, columns)), _boolean(_value(e.right, columns)))
        case ast.Binary(operator="OR"):
            return pc.or_kleene(_boolean(_value(e.left, columns)), _boolean(_value(e.right, columns)))
        case ast.Binary():
            return _binary(e.operator, _value(e.left, columns), _value(e.right, columns))
        case ast.IsNull():
            found = pc.is_null(_value(e.operand, columns))
            return pc.invert(found) if e.negated else found
        case ast.InList():
            operand = _value(e.operand, columns)
            found = _binary("=", operand, _value(e.options[0], columns))
            for option in e.options[1:]:
                found = pc.or_kleene(found, _binary("=", operand, _value(option, columns)))
            return pc.invert(found) if e.negated else found
        case ast.Between():
            operand = _value(e.operand, columns)
            above = _binary(">=", operand, _value(e.low, columns))
            found = pc.and_kleene(above, _binary("<=", operand, _value(e.high, columns)))
            return pc.invert(found) if e.negated else found
        case ast.Call(function=name) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(a, columns) for a in e.arguments))
    raise _NoKernel(e)


def _plain(column: pa.Array) -> pa.Array:
    """Integers of 64 bits, floats of 64 bits, no dictionaries: the types that the meaning is defined for."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    if pa.types.is_floating(column.type):
        return column.cast(pa.float64())
    if pa.types.is_decimal(column.type) or value_type(column.type).kind is Kind.OTHER:
        raise _NoKernel(column.type)
    return column


def _boolean(value: Any) -> Any:
    return value.cast(pa.bool_()) if pa.types.is_null(value.type) else value


def _number(value: Any) -> Any:
    if not (pa.types.is_int64(value.type) or pa.types.is_float64(value.type)):
        raise _NoKernel(value.type)
    return value


def _binary(symbol: str, left: Any, right: Any) -> Any:
    if symbol in _COMPARE:
        if pa.types.is_null(left.type) or pa.types.is_null(right.type):
            raise _NoKernel(symbol)
        left, right = _as_floats_if_mixed(left, right)
        return _COMPARE[symbol](left, right)
    if symbol == "||":
        return pc.binary_join_element_wise(left, right, "")
    left, right = _as_floats_if_mixed(_number(left), _number(right))
    if symbol == "/":
        left, right = left.cast(pa.float64()), right.cast(pa.float64())
        return pc.divide(left, _null_where_zero(right))
    if symbol == "%":
        return _remainder(left, _null_where_zero(right))
    kernels = _FLOATING if pa.types.is_float64(left.type) else _CHECKED
    return kernels[symbol](left, right)


def _as_floats_if_mixed(left: Any, right: Any) -> tuple[Any, Any]:
    """Where one is a float, the other number becomes one: with the nearest value, as floats do."""
    if pa.types.is_float64(left.type) and pa.types.is_int64(right.type):
        return left, right.cast(pa.float64(), safe=False)
    if pa.types.is_float64(right.type) and pa.types.is_int64(left.type):
        return left.cast(pa.float64(), safe=False), right
    return left, right


def _null_where_zero(value: Any) -> Any:
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), pa.scalar(None, value.type), value)


def _remainder(left: Any, right: Any) -> Any:
    """With the sign of the dividend, which is what C's remainder gives."""
    if isinstance(left, pa.Scalar) and isinstance(right, pa.Scalar):
        raise _NoKernel("%")
    null = pc.or_(pc.is_null(left), pc.is_null(right))
    dividend, divisor = (
        (v.as_py() if v.is_valid else 1)
        if isinstance(v, pa.Scalar)
        else pc.fill_null(v, 1).to_numpy(zero_copy_only=False)
        for v in (left, right)
    )
    with np.errstate(invalid="ignore"):
        result = np.fmod(dividend, divisor)
    return pa.array(result, mask=null.to_numpy(zero_copy_only=False) if isinstance(null, pa.Array) else None)


def _some_null_where(bad: Callable[[Any], Any], kernel: Callable[..., Any]) -> Callable[[Any], Any]:
    """A function of floats that has no result for some: NULL there."""

    def apply(value: Any) -> Any:
        floats = _number(value).cast(pa.float64(), safe=False)
        return kernel(pc.if_else(bad(floats), pa.scalar(None, pa.float64()), floats))

    return apply


def _starts_or_ends(kernel: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def apply(text: Any, part: Any) -> Any:
        if not isinstance(part, pa.Scalar) or not part.is_valid or not pa.types.is_string(part.type):
            raise _NoKernel(kernel)
        return kernel(text, pattern=part.as_py())

    return apply


#: Functions whose Arrow kernel means the same; any other is evaluated by the reference.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": lambda v: pc.abs_checked(_number(v)),
    "floor": lambda v: v if pa.types.is_int64(v.type) else pc.floor(_number(v)),
    "ceil": lambda v: v if pa.types.is_int64(v.type) else pc.ceil(_number(v)),
    "sqrt": _some_null_where(lambda v: pc.less(v, 0.0), pc.sqrt),
    "ln": _some_null_where(lambda v: pc.less_equal(v, 0.0), pc.ln),
    "log10": _some_null_where(lambda v: pc.less_equal(v, 0.0), pc.log10),
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "length": lambda v: pc.utf8_length(v).cast(pa.int64()),
    "starts_with": _starts_or_ends(pc.starts_with),
    "ends_with": _starts_or_ends(pc.ends_with),
    "contains": _starts_or_ends(pc.match_substring),
    "coalesce": lambda *v: pc.coalesce(*_alike(v)),
}


def _alike(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of one type; numbers of two kinds are left to the reference."""
    types = {v.type for v in values}
    if len(types) != 1 or pa.types.is_null(next(iter(types))):
        raise _NoKernel("coalesce")
    return values
