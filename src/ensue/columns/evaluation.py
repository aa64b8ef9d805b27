"""What an expression is worth over columns: each operator and function once over a whole column.

The values are those of section 4 of the language page, and so the reference's, with which this shares no code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ensue.columns import nested_values
from ensue.columns.arithmetic import calculate, negative
from ensue.columns.casts import cast
from ensue.columns.choice_functions import either
from ensue.columns.comparing import compare
from ensue.columns.conversions import plain
from ensue.columns.function_table import COLUMN_FUNCTIONS
from ensue.columns.like import like
from ensue.columns.own_calls import of_columns
from ensue.columns.raw_arrays import Mask, Value, array_of, as_array, in_rows, length_of, missing, nulls, raw, truth
from ensue.columns.time_functions import at_time_zone
from ensue.data.events import numbers
from ensue.data.schema import timestamp_literal
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.functions import UNITS
from ensue.logic.own_functions import OwnFunction
from ensue.logic.scope import is_aggregate

Columns = Mapping[str, pa.Array]

_LITERALS = {
    ast.LiteralType.NULL: pa.null(),
    ast.LiteralType.BOOLEAN: pa.bool_(),
    ast.LiteralType.INTEGER: pa.int64(),
    ast.LiteralType.FLOAT: pa.float64(),
    ast.LiteralType.STRING: pa.string(),
}
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def holds(e: ast.Expression, columns: Columns, length: int) -> Mask:
    """Where the expression, over bare names, is TRUE.

    >>> from ensue.language.parser import parse_expression
    >>> holds(parse_expression("v > 1 AND name LIKE 'a%'"),
    ...       {"v": pa.array([1, 2, None]), "name": pa.array(["ab", "ac", "ad"])}, 3)
    array([False,  True, False])
    """
    found = _Evaluation(columns).value(e)
    if isinstance(found, pa.Scalar):
        return np.full(length, found.is_valid and found.as_py() is True)
    return truth(_boolean(found))


def evaluated(e: ast.Expression, columns: Columns, length: int) -> pa.Array:
    """The expression's value at each row."""
    found = _Evaluation(columns).value(e)
    return in_rows(found, length)


def named_by_text(e: ast.Expression) -> ast.Expression:
    """The expression with each `x.a`, each aggregate and each field of a register as a bare name of that text."""

    def named(part: ast.Expression) -> ast.Expression | None:
        by_name = isinstance(part, ast.Attribute | ast.InRegister) or is_aggregate(part)
        return ast.Name(print_expression(part)) if by_name else None

    return ast.replaced(e, named)


class _Evaluation:
    """The values of expressions over some columns; a value is a column, or one value for all rows."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._plain: dict[str, pa.Array] = {}

    def value(self, e: ast.Expression) -> Value:
        match e:
            case ast.Literal():
                return pa.scalar(e.value, _LITERALS[e.type])
            case ast.DurationLiteral():
                return _duration(int(e.duration.nanoseconds()))
            case ast.Call(function="timestamp", arguments=(ast.Literal(value=text),)):
                return timestamp_literal(str(text))
            case ast.Name():
                return self._column(e.name)
        over_dictionary = self._over_dictionary(e)
        if over_dictionary is not None:
            return over_dictionary
        return self._computed(e)

    def _column(self, name: str) -> pa.Array:
        if name not in self._plain:
            self._plain[name] = plain(self._columns[name])
        return self._plain[name]

    def _over_dictionary(self, e: ast.Expression) -> Value | None:
        """What depends on one column with a dictionary is evaluated for each of its values once."""
        names = {n.name for n in ast.find(e, ast.Name)}
        column = self._columns[next(iter(names))] if len(names) == 1 else None
        if column is None or not pa.types.is_dictionary(column.type) or len(column.dictionary) >= len(column):
            return None
        # The last value stands for NULL.
        values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        found = evaluated(e, {names.pop(): values}, len(values))
        codes = column.indices
        if codes.null_count:
            codes = pc.fill_null(codes.cast(pa.int64()), len(values) - 1)
        if not pa.types.is_boolean(found.type):
            return found.take(codes)
        # Arrow takes bits one by one, which costs several times as much as taking bytes.
        places, null = numbers(codes), missing(found)
        return array_of(raw(found)[places], None if null is None else null[places], found.type)

    def _computed(self, e: ast.Expression) -> Value:
        match e:
            case ast.Field(name=name):
                return self._applied(lambda structs: plain(nested_values.field(structs, name)), e.of)
            case ast.Element():
                return self._applied(lambda of, index: plain(nested_values.element(of, index)), e.of, e.index)
            case ast.Unary(operator="NOT"):
                return self._applied(lambda v: pc.invert(_boolean(v)), e.operand)
            case ast.Unary():
                return self._applied(negative, e.operand)
            case ast.Binary():
                return self._applied(_BINARY[e.operator], e.left, e.right)
            case ast.IsNull():
                return self._applied(pc.is_valid if e.negated else pc.is_null, e.operand)
            case ast.InList():
                return _negated(e.negated, self._applied(_is_one_of, e.operand, *e.options))
            case ast.Between():
                return _negated(e.negated, self._applied(_between, e.operand, e.low, e.high))
            case ast.Like():
                return _negated(e.negated, self._applied(_ilike if e.any_case else _like, e.operand, e.pattern))
            case ast.Case():
                return self._case(e)
            case ast.Cast():
                return self._applied(lambda v: cast(v, e.type), e.operand)
            case ast.AtTimeZone():
                return self._applied(lambda v: v if pa.types.is_null(v.type) else at_time_zone(v, e.zone), e.operand)
            case ast.Call(own=OwnFunction() as function):
                return self._applied(partial(of_columns, function), *e.arguments)
            case ast.Call():
                return self._applied(COLUMN_FUNCTIONS[e.function], *e.arguments)
        raise AssertionError(e)

    def _case(self, e: ast.Case) -> Value:
        operand = [] if e.operand is None else [e.operand]
        otherwise = ast.Literal(None, ast.LiteralType.NULL) if e.otherwise is None else e.otherwise

        def compute(*values: Value) -> Value:
            *branches, found = values[len(operand) :]
            for condition, result in zip(branches[-2::-2], branches[:0:-2], strict=True):
                test = compare("=", values[0], condition) if operand else _boolean(condition)
                rows = length_of(*values)
                found = either(in_rows(test, rows), result, found)
            return found

        return self._applied(compute, *operand, *e.parts, otherwise)

    def _applied(self, compute: Callable[..., Value], *operands: ast.Expression) -> Value:
        """The function of the operands; `compute` gets a column for one of them at least."""
        values = [self.value(e) for e in operands]
        if any(isinstance(v, pa.Array) for v in values):
            return compute(*values)
        return as_array(compute(as_array(values[0]), *values[1:]))[0]


def _duration(nanoseconds: int) -> pa.Scalar:
    unit = next(u for u in UNITS if nanoseconds % ast.NANOSECONDS[u] == 0)
    return pa.scalar(nanoseconds // ast.NANOSECONDS[unit], pa.duration(unit))


def _boolean(value: Value) -> Value:
    return value.cast(pa.bool_()) if pa.types.is_null(value.type) else value


def _negated(negated: bool, value: Value) -> Value:
    return pc.invert(value) if negated else value


def _comparison(symbol: str) -> Callable[[Value, Value], Value]:
    return lambda left, right: compare(symbol, left, right)


def _arithmetic(symbol: str) -> Callable[[Value, Value], Value]:
    return lambda left, right: calculate(symbol, left, right)


_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    **{symbol: _comparison(symbol) for symbol in _COMPARISONS},
    **{symbol: _arithmetic(symbol) for symbol in ("+", "-", "*", "/", "%")},
    "||": COLUMN_FUNCTIONS["concat"],
    "AND": lambda left, right: pc.and_kleene(_boolean(left), _boolean(right)),
    "OR": lambda left, right: pc.or_kleene(_boolean(left), _boolean(right)),
}


def _is_one_of(operand: Value, *options: Value) -> Value:
    found = compare("=", operand, options[0])
    for option in options[1:]:
        found = pc.or_kleene(found, compare("=", operand, option))
    return found


def _between(operand: Value, low: Value, high: Value) -> Value:
    return pc.and_kleene(compare(">=", operand, low), compare("<=", operand, high))


def _ilike(text: Value, pattern: Value) -> Value:
    return _like(*(v if pa.types.is_null(v.type) else pc.utf8_lower(v) for v in (text, pattern)))


def _like(text: Value, pattern: Value) -> Value:
    unknown = any(isinstance(v, pa.Scalar) and not v.is_valid for v in (text, pattern))
    if unknown or any(pa.types.is_null(v.type) for v in (text, pattern)):
        return nulls(pa.bool_(), text, pattern)
    return like(text, pattern)
