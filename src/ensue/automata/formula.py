"""Compiles a condition over stored values and values of the event into instructions for a kernel.

    $1 + 5 < v OR $2 <> name        with $1 and $2 in registers, v and name of the event

A part that concerns only the event, however complex, is evaluated once per batch as a column, which is called a *term*.
So instructions are needed only for what combines events: arithmetic, comparisons, AND, OR, NOT, and a few functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

import pyarrow as pa

from ensue.automata.registers import Holds, Register, register_of
from ensue.data.schema import Kind, Schema
from ensue.language import ast
from ensue.logic.types import Typing


class Op(IntEnum):
    """What an instruction does. Instructions on numbers come in pairs: first for whole numbers, then for floats."""

    STORED, STORED_FLOAT = 0, 1  # loads a register
    TERM, TERM_FLOAT = 2, 3  # loads a value of the event
    WHOLE, FLOAT = 4, 5  # a constant
    ADD, ADD_FLOAT = 6, 7
    SUBTRACT, SUBTRACT_FLOAT = 8, 9
    MULTIPLY, MULTIPLY_FLOAT = 10, 11
    REMAINDER, REMAINDER_FLOAT = 12, 13
    NEGATE, NEGATE_FLOAT = 14, 15
    ABSOLUTE, ABSOLUTE_FLOAT = 16, 17
    EQUAL, EQUAL_FLOAT = 18, 19
    UNEQUAL, UNEQUAL_FLOAT = 20, 21
    LESS, LESS_FLOAT = 22, 23
    AT_MOST, AT_MOST_FLOAT = 24, 25
    AND, OR, NOT = 26, 27, 28
    IS_NULL = 29
    TO_FLOAT, DIVIDE, FLOOR, CEILING, ROOT = 30, 31, 32, 33, 34
    NULL = 35
    # Of a register that adds up, together with a value of the event if there is a second operand.
    HELD, HELD_FLOAT = 36, 37
    LEAST, LEAST_FLOAT = 38, 39
    GREATEST, GREATEST_FLOAT = 40, 41
    TOTAL, TOTAL_FLOAT = 42, 43
    COUNT = 44


@dataclass(frozen=True)
class Instruction:
    """Writes its result to the place of its own number; `left` and `right` are places of operands, or what to load.

    Of a register that adds up, `left` is the register, and `right` the term of the event, or NO_TERM.
    """

    op: Op
    left: int = 0
    right: int = 0


NO_TERM = -1


class NoInstruction(Exception):
    """Raised for a part that no instruction can compute."""

    def __init__(self, part: ast.Expression, what: str) -> None:
        self.part = part
        super().__init__(f"{what} of several events")


@dataclass
class Formula:
    """The instructions of a condition; the result of the last one is the value of the condition."""

    code: list[Instruction] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)
    terms: list[ast.Expression] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)  # constants
    floats: list[float] = field(default_factory=list)


def formula_of(condition: Holds, stored: Mapping[Register, ast.Expression], schema: Schema | None) -> Formula:
    """Compiles a condition; `stored` gives the content of each register, as an expression over bare attributes."""
    compiler = _Compiler(stored, Typing(schema))
    _, kind = compiler.place(condition.condition)
    assert kind in (Kind.BOOLEAN, Kind.NULL) or schema is None, "a filter is TRUE or FALSE"
    return compiler.made


def computed(
    e: ast.Expression, stored: Mapping[Register, ast.Expression], schema: Schema | None, *, as_float: bool
) -> Formula:
    """Compiles a value that need be no condition; `as_float` makes a float of a whole number."""
    compiler = _Compiler(stored, Typing(schema))
    placed = compiler.place(e)
    if as_float:
        compiler.as_float(placed)
    return compiler.made


_T = TypeVar("_T")
_Placed = tuple[int, Kind]  # the place and the kind of a value; times are whole numbers of nanoseconds
_ARITHMETIC = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "%": Op.REMAINDER}
_COMPARE = {"=": Op.EQUAL, "<>": Op.UNEQUAL, "<": Op.LESS, "<=": Op.AT_MOST, ">": Op.LESS, ">=": Op.AT_MOST}
_OF_ROUNDS = {
    **{"first": Op.HELD, "last": Op.HELD, "min": Op.LEAST, "max": Op.GREATEST, "sum": Op.TOTAL},
    "count": Op.COUNT,
}
_ROUNDING = {"floor": Op.FLOOR, "ceil": Op.CEILING}


class _Compiler:
    def __init__(self, stored: Mapping[Register, ast.Expression], typing: Typing) -> None:
        self.made = Formula()
        self._stored = stored
        self._typing = typing

    def place(self, e: ast.Expression) -> _Placed:
        register = register_of(e)
        if register is not None:
            return self._loaded(
                Op.STORED, _numbered(self.made.registers, register), kind_of(self._stored[register], self._typing)
            )
        if not any(register_of(part) for part in ast.walk(e) if isinstance(part, ast.Expression)):
            return self._alone(e)
        match e:
            case ast.Unary(operator="NOT"):
                return self._add(Op.NOT, self.place(e.operand)), Kind.BOOLEAN
            case ast.Unary():
                return self._paired(Op.NEGATE, self._number(e.operand))
            case ast.Binary(operator="AND" | "OR"):
                return self._joined(Op.AND if e.operator == "AND" else Op.OR, [self.place(e.left), self.place(e.right)])
            case ast.Binary(operator="*" | "/") if self._is_part_of_duration(e):
                raise NoInstruction(e, "fractions of durations")
            case ast.Binary(operator="/"):
                left, right = (self.as_float(self._number(side)) for side in (e.left, e.right))
                return self._add(Op.DIVIDE, left, right), Kind.FLOAT
            case ast.Binary() if e.operator in _ARITHMETIC:
                return self._paired(_ARITHMETIC[e.operator], self._number(e.left), self._number(e.right))
            case ast.Binary() if e.operator in _COMPARE:
                return self._compared(e, e.operator, self.place(e.left), self.place(e.right))
            case ast.IsNull():
                found = self._add(Op.IS_NULL, self.place(e.operand)), Kind.BOOLEAN
                return self._negated(found, e.negated)
            case ast.InList():
                operand = self.place(e.operand)
                equal = [self._compared(e, "=", operand, self.place(option)) for option in e.options]
                return self._negated(self._joined(Op.OR, equal), e.negated)
            case ast.Between():
                operand = self.place(e.operand)
                inside = [self._compared(e, ">=", operand, self.place(e.low))]
                inside.append(self._compared(e, "<=", operand, self.place(e.high)))
                return self._negated(self._joined(Op.AND, inside), e.negated)
            case ast.Call(function="abs", arguments=(argument,)):
                return self._paired(Op.ABSOLUTE, self._number(argument))
            case ast.Call(function="floor" | "ceil", arguments=(argument,)):
                found = self._number(argument)
                whole = found[1] is Kind.INTEGER
                return found if whole else (self._add(_ROUNDING[e.function], found), Kind.FLOAT)
            case ast.Call(function="sqrt", arguments=(argument,)):
                return self._add(Op.ROOT, self.as_float(self._number(argument))), Kind.FLOAT
            case ast.Running():
                return self._of_rounds(e, e.aggregate)
        raise NoInstruction(e, _name_of(e))

    def _is_part_of_duration(self, e: ast.Binary) -> bool:
        """Whether a duration is multiplied by a float or divided by a number, which rounds to whole nanoseconds."""
        found, *sides = (self._typing.infer(self._over_attributes(part)) for part in (e, e.left, e.right))
        return (
            found is not None
            and found.kind is Kind.DURATION
            and (e.operator == "/" or any(side is not None and side.kind is Kind.FLOAT for side in sides))
        )

    def _over_attributes(self, e: ast.Expression) -> ast.Expression:
        """The part with what each register holds in its place."""
        return ast.replaced(e, lambda p: self._stored[r] if (r := register_of(p)) is not None else None)

    def _alone(self, e: ast.Expression) -> _Placed:
        """Places a part that uses no register: a constant, or a column of the event."""
        if isinstance(e, ast.Literal) and isinstance(e.value, int):  # TRUE and FALSE too
            place = self._add(Op.WHOLE, (_numbered(self.made.whole, int(e.value)), Kind.INTEGER))
            return place, Kind.BOOLEAN if isinstance(e.value, bool) else Kind.INTEGER
        if isinstance(e, ast.Literal) and isinstance(e.value, float):
            return self._add(Op.FLOAT, (_numbered(self.made.floats, e.value), Kind.FLOAT)), Kind.FLOAT
        return self._loaded(Op.TERM, _numbered(self.made.terms, e), kind_of(e, self._typing))

    def _of_rounds(self, e: ast.Running, a: ast.Call) -> _Placed:
        """Places what a register that adds up comes to, with the value of the event if there is one."""
        register, *here = a.arguments
        name = register_of(register)
        assert name is not None, "an iteration has given it a register"
        if name not in self._stored:  # nothing is ever stored in it
            count = a.function == "count"
            return self._alone(ast.Literal(0, ast.LiteralType.INTEGER)) if count else (self._add(Op.NULL), Kind.NULL)
        kind = kind_of(self._stored[name], self._typing)
        if kind is Kind.STRING and a.function in ("min", "max"):
            raise NoInstruction(e, "the order of strings")
        number = _numbered(self.made.registers, name)
        term = _numbered(self.made.terms, here[0]) if here else NO_TERM
        op = _OF_ROUNDS[a.function]
        if op is not Op.COUNT and kind is Kind.FLOAT:
            op = Op(op + 1)
        self.made.code.append(Instruction(op, number, term))
        return len(self.made.code) - 1, Kind.INTEGER if op is Op.COUNT else kind

    def _loaded(self, op: Op, number: int, kind: Kind) -> _Placed:
        if kind is Kind.NULL:
            return self._add(Op.NULL), kind
        return self._add(Op(op + (kind is Kind.FLOAT)), (number, kind)), kind

    def _number(self, e: ast.Expression) -> _Placed:
        found = self.place(e)
        if found[1] not in (Kind.INTEGER, Kind.FLOAT, Kind.NULL):
            raise NoInstruction(e, "arithmetic")
        return found

    def _paired(self, op: Op, *operands: _Placed) -> _Placed:
        """Adds an operation on numbers: the one on floats, if an operand is a float."""
        if any(kind is Kind.FLOAT for _, kind in operands):
            return self._add(Op(op + 1), *(self.as_float(o) for o in operands)), Kind.FLOAT
        return self._add(op, *operands), Kind.INTEGER

    def as_float(self, operand: _Placed) -> _Placed:
        return operand if operand[1] is Kind.FLOAT else (self._add(Op.TO_FLOAT, operand), Kind.FLOAT)

    def _compared(self, e: ast.Expression, operator: str, left: _Placed, right: _Placed) -> _Placed:
        texts = {left[1], right[1]} & {Kind.STRING}
        if texts and operator not in ("=", "<>"):
            raise NoInstruction(e, "the order of strings")  # the numbers that stand for strings are in no order
        if operator in (">", ">="):
            left, right = right, left
        return self._paired(_COMPARE[operator], left, right)[0], Kind.BOOLEAN

    def _joined(self, op: Op, parts: list[_Placed]) -> _Placed:
        place, *rest = parts
        for part in rest:
            place = self._add(op, place, part), Kind.BOOLEAN
        return place

    def _negated(self, found: _Placed, negated: bool) -> _Placed:
        return (self._add(Op.NOT, found), Kind.BOOLEAN) if negated else found

    def _add(self, op: Op, *operands: _Placed) -> int:
        places = [place for place, _ in operands]
        self.made.code.append(Instruction(op, *places))
        return len(self.made.code) - 1


def kind_of(e: ast.Expression, typing: Typing) -> Kind:
    """The kind as which a value is computed: times and durations are whole numbers of nanoseconds."""
    found = typing.infer(e)
    if found is None:
        return Kind.FLOAT  # without a schema, nothing is run and nothing is refused for its type
    if found.kind.nested or pa.types.is_uint64(found.arrow):
        raise NoInstruction(e, f"values of type {found}")
    if typing.has_long_decimals(e):
        raise NoInstruction(e, "decimals of more than 15 digits")
    return Kind.INTEGER if found.kind in (Kind.TIMESTAMP, Kind.DURATION) else found.kind


def _name_of(e: ast.Expression) -> str:
    """The operation, in words."""
    match e:
        case ast.Call():
            return f"{e.function}(...)"
        case ast.Case():
            return "CASE"
        case ast.Cast():
            return "CAST"
        case ast.AtTimeZone():
            return "AT TIME ZONE"
        case ast.Field() | ast.Element():
            return "fields and elements that two events decide on"
    return "string operations"


def _numbered(known: list[_T], item: _T) -> int:
    if item not in known:
        known.append(item)
    return known.index(item)
