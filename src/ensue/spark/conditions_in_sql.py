"""Expressions over one event as Spark SQL with exactly our meaning; Python evaluates the others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from ensue.data.schema import Kind, Schema, ValueType, timestamp_literal, value_type
from ensue.language import ast
from ensue.spark.plain_columns import quoted

#: A column with the kind of its values.
_Typed = tuple[Column, Kind]


class _NotInSql(Exception):
    """Raised if Spark SQL has no expression with the same meaning, or none that is worth the effort."""


def as_condition(e: ast.Expression, schema: Schema) -> Column | None:
    """A condition over bare names as a column; None if Python must evaluate it."""
    try:
        column, kind = _value(e, schema)
    except _NotInSql:
        return None
    return column if kind is Kind.BOOLEAN else None


def value_in_sql(e: ast.Expression, schema: Schema) -> Column | None:
    """The value of an expression over bare names; None if Python must compute it."""
    try:
        return _value(e, schema)[0]
    except _NotInSql:
        return None


_COMPARE = {
    "=": Column.__eq__,
    "<>": Column.__ne__,
    "<": Column.__lt__,
    "<=": Column.__le__,
    ">": Column.__gt__,
    ">=": Column.__ge__,
}
_FLOATING = {"+": Column.__add__, "-": Column.__sub__, "*": Column.__mul__}
# NULL if the result does not fit 64 bits, or the divisor is 0.
_CHECKED = {"+": F.try_add, "-": F.try_subtract, "*": F.try_multiply, "%": F.try_mod}
_KINDS = {
    ast.LiteralType.BOOLEAN: Kind.BOOLEAN,
    ast.LiteralType.INTEGER: Kind.INTEGER,
    ast.LiteralType.FLOAT: Kind.FLOAT,
    ast.LiteralType.STRING: Kind.STRING,
}


def _value(e: ast.Expression, schema: Schema) -> _Typed:
    """The expression, over bare names, as a column with its kind."""
    match e:
        case ast.Literal() if e.type in _KINDS:
            kind = _KINDS[e.type]
            literal = F.lit(e.value)
            return (literal.cast("long") if kind is Kind.INTEGER else literal), kind
        case ast.Call(function="timestamp", arguments=(ast.Literal(value=str(text)),)):
            return _time(text), Kind.TIMESTAMP
        case ast.Unary(operator="-", operand=ast.Literal(value=int() | float() as number) as literal):
            return _value(replace(literal, value=-number), schema)
        case ast.Unary(operator="-"):
            return _negative(_value(e.operand, schema))
        case ast.Name() | ast.Field() | ast.Element():
            return _of_kind(*_path(e, schema))
        case ast.Call(own=None, arguments=(argument,)) if e.function in _FUNCTIONS:
            return _FUNCTIONS[e.function](_value(argument, schema))
        case ast.Unary(operator="NOT"):
            return ~_boolean(e.operand, schema), Kind.BOOLEAN
        case ast.Binary(operator="AND"):
            return _boolean(e.left, schema) & _boolean(e.right, schema), Kind.BOOLEAN
        case ast.Binary(operator="OR"):
            return _boolean(e.left, schema) | _boolean(e.right, schema), Kind.BOOLEAN
        case ast.Binary(operator=symbol) if symbol in _COMPARE:
            return _compare(symbol, _value(e.left, schema), _value(e.right, schema)), Kind.BOOLEAN
        case ast.Binary(operator=symbol) if symbol in _CHECKED or symbol == "/":
            return _arithmetic(symbol, _value(e.left, schema), _value(e.right, schema))
        case ast.IsNull():
            column, _ = _value(e.operand, schema)
            return (column.isNotNull() if e.negated else column.isNull()), Kind.BOOLEAN
        case ast.InList():
            operand = _value(e.operand, schema)
            found = [_compare("=", operand, _value(option, schema)) for option in e.options]
            return _negated(e.negated, reduce(lambda a, b: a | b, found)), Kind.BOOLEAN
        case ast.Between():
            operand = _value(e.operand, schema)
            above = _compare(">=", operand, _value(e.low, schema))
            return _negated(e.negated, above & _compare("<=", operand, _value(e.high, schema))), Kind.BOOLEAN
        case ast.Like(pattern=ast.Literal(value=str(pattern)), any_case=False) if "\\" not in pattern:
            column, kind = _value(e.operand, schema)
            if kind is Kind.STRING:
                return _negated(e.negated, column.like(pattern)), Kind.BOOLEAN
        case ast.Case():
            return _case(e, schema)
    raise _NotInSql(e)


def _case(e: ast.Case, schema: Schema) -> _Typed:
    """The first branch whose condition is TRUE, and NULL where there is none; all results in one kind."""
    operand = None if e.operand is None else _value(e.operand, schema)
    results = [_value(r, schema) for r in (*e.parts[1::2], *(() if e.otherwise is None else (e.otherwise,)))]
    kinds = {kind for _, kind in results}
    if kinds == {Kind.INTEGER, Kind.FLOAT}:
        results = [(column.cast("double"), Kind.FLOAT) for column, _ in results]
    elif len(kinds) > 1:
        raise _NotInSql(e)
    conditions = [
        _boolean(c, schema) if operand is None else _compare("=", operand, _value(c, schema)) for c, _ in e.branches
    ]
    (first, kind), *more = results
    found = F.when(conditions[0], first)
    for condition, (result, _) in zip(conditions[1:], more, strict=False):
        found = found.when(condition, result)
    return (found if e.otherwise is None else found.otherwise(results[-1][0])), kind


def _path(e: ast.Expression, schema: Schema) -> tuple[Column, ValueType]:
    """A column, or a field, an element or a key's value of one, as it is."""
    match e:
        case ast.Name():
            return F.col(quoted(e.name)), schema.attributes[e.name]
        case ast.Field():
            column, type_ = _path(e.of, schema)
            fields = [f.name.lower() for f in type_.arrow]
            if fields.count(e.name.lower()) == 1:  # else Spark takes several fields for one
                return column.getField(e.name), value_type(type_.arrow.field(e.name).type)
        case ast.Element(index=ast.Literal(value=int() | str() as index)):
            return _element(*_path(e.of, schema), index)
        case ast.Element(index=ast.Unary(operator="-", operand=ast.Literal(value=int() as index))):
            return _element(*_path(e.of, schema), -index)
    raise _NotInSql(e)


def _element(of: Column, type_: ValueType, index: int | str) -> tuple[Column, ValueType]:
    """The element of a list, or the value of a map's key; NULL if there is none."""
    arrow = type_.arrow
    if pa.types.is_map(arrow) and value_type(arrow.key_type).kind in (Kind.INTEGER, Kind.STRING):
        # Here the last of two equal keys counts; for Spark's own `m[k]` the first one does.
        values = F.map_values(F.map_filter(of, lambda key, _: key == F.lit(index)))
        return F.try_element_at(values, F.lit(-1)), value_type(arrow.item_type)
    if type_.kind is not Kind.LIST or not isinstance(index, int) or index == 0 or abs(index) >= 1 << 31:
        raise _NotInSql(index)
    return F.try_element_at(of, F.lit(index)), value_type(arrow.value_type)


def _of_kind(column: Column, type_: ValueType) -> _Typed:
    """As a 64-bit integer or float, a string, a boolean or a time; Python evaluates other types, such as decimals."""
    match type_.kind:
        case Kind.INTEGER:
            return column.cast("long"), type_.kind
        case Kind.FLOAT if str(type_.arrow) in ("float", "double"):
            return column.cast("double"), type_.kind
        case Kind.STRING | Kind.BOOLEAN:
            return column, type_.kind
        case Kind.TIMESTAMP if pa.types.is_timestamp(type_.arrow):
            return column, type_.kind
        case Kind.TIMESTAMP if pa.types.is_date(type_.arrow):
            return column.cast("timestamp_ntz"), type_.kind
    raise _NotInSql(type_)


def _time(text: str) -> Column:
    """The time as Spark has it, with a zone or without one, if it is a whole number of microseconds."""
    time = timestamp_literal(text)
    if time is None or time.type.unit != "us":
        raise _NotInSql(text)
    if time.type.tz is not None:
        return F.timestamp_micros(F.lit(time.value))
    return F.lit(time.cast(pa.string()).as_py()).cast("timestamp_ntz")


def _boolean(e: ast.Expression, schema: Schema) -> Column:
    column, kind = _value(e, schema)
    if kind is not Kind.BOOLEAN:
        raise _NotInSql(e)
    return column


def _negated(negated: bool, column: Column) -> Column:
    return ~column if negated else column


def _of_one_kind(left: _Typed, right: _Typed) -> tuple[Column, Column, Kind]:
    """Both values in one kind: if one is a float, the other number becomes a float."""
    (a, kind_a), (b, kind_b) = left, right
    if kind_a is kind_b:
        return a, b, kind_a
    if {kind_a, kind_b} == {Kind.INTEGER, Kind.FLOAT}:
        return a.cast("double"), b.cast("double"), Kind.FLOAT
    raise _NotInSql(f"{kind_a} and {kind_b}")


def _compare(symbol: str, left: _Typed, right: _Typed) -> Column:
    a, b, kind = _of_one_kind(left, right)
    found = _COMPARE[symbol](a, b)
    if kind is Kind.FLOAT:
        # In Spark, NaN equals itself and is greater than any number; in IEEE and here, every comparison with NaN is
        # FALSE (`<>` is TRUE). If the other side is NULL, the result stays NULL, so that it can be negated.
        nan = F.isnan(a) | F.isnan(b)
        found = (found | (nan & found.isNotNull())) if symbol == "<>" else (found & (~nan | found.isNull()))
    return found


def _arithmetic(symbol: str, left: _Typed, right: _Typed) -> _Typed:
    a, b, kind = _of_one_kind(left, right)
    if not kind.numeric:
        raise _NotInSql(symbol)
    if symbol == "/":
        a, b = a.cast("double"), b.cast("double")
        return F.when(b != F.lit(0.0), a / b), Kind.FLOAT
    if kind is Kind.FLOAT:
        if symbol == "%":
            return F.when(b != F.lit(0.0), a % b), kind
        return _FLOATING[symbol](a, b), kind
    return _CHECKED[symbol](a, b), kind


def _negative(value: _Typed) -> _Typed:
    column, kind = value
    match kind:
        case Kind.INTEGER:
            return F.try_subtract(F.lit(0).cast("long"), column), kind  # NULL if it does not fit 64 bits
        case Kind.FLOAT:
            return -column, kind
    raise _NotInSql(kind)


def _absolute(value: _Typed) -> _Typed:
    column, kind = value
    if kind is Kind.FLOAT:
        return F.abs(column), kind
    return F.when(column >= 0, column).when(column < 0, _negative(value)[0]), kind


def _length(value: _Typed) -> _Typed:
    column, kind = value
    if kind is not Kind.STRING:
        raise _NotInSql(kind)
    return F.char_length(column).cast("long"), Kind.INTEGER


def _in_case(value: _Typed, to_case: Callable[[Column], Column], changed: tuple[str, str]) -> _Typed:
    """A text in lower or upper case, letter by letter: `changed` are letters, and what each becomes.

    Java also changes texts by their context and by language, but not if all letters are of ASCII.
    """
    column, kind = value
    if kind is not Kind.STRING:
        raise _NotInSql(kind)
    of_ascii = F.octet_length(column) == F.char_length(column)
    letters, become = changed
    return F.when(of_ascii, to_case(column)).otherwise(F.translate(column, letters, become)), kind


@cache
def _letters(function: str) -> tuple[str, str]:
    """All letters that Arrow's function changes, and what it makes of them."""
    letters = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    become = pc.call_function(function, [pa.array(letters)]).to_pylist()
    changed = [(a, b) for a, b in zip(letters, become, strict=True) if a != b]
    return "".join(a for a, _ in changed), "".join(b for _, b in changed)


_FUNCTIONS: dict[str, Callable[[_Typed], _Typed]] = {
    "abs": _absolute,
    "length": _length,
    "lower": lambda value: _in_case(value, F.lower, _letters("utf8_lower")),
    "upper": lambda value: _in_case(value, F.upper, _letters("utf8_upper")),
}
