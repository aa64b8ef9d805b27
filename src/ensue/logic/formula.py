"""Compiles a condition over stored values and values of the event into instructions for a kernel.

    $1 + 5 < v OR $2 <> name        with $1 and $2 in registers, v and name of the event

A part that concerns only the event, however complex, is evaluated once per batch as a column, which is called a *term*.
So instructions are needed only for what combines events: arithmetic, comparisons, AND, OR, NOT, the functions of
numbers, and those that choose among their arguments. What occurs twice is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

import pyarrow as pa

from ensue.data.schema import Kind, Schema
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.clauses import bare
from ensue.logic.comparisons import is_plain
from ensue.logic.functions import finest_unit
from ensue.logic.scope import variables_of
from ensue.logic.stored_values import Register, register_of, stored_in
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
    SIGN, SIGN_FLOAT = 36, 37
    GREATER, GREATER_FLOAT = 38, 39
    LESSER, LESSER_FLOAT = 40, 41
    COALESCE, COALESCE_FLOAT = 42, 43
    CHOOSE, CHOOSE_FLOAT = 44, 45  # by the truth of `left`, one of the operands of the PAIR `right`
    UNLESS, UNLESS_FLOAT = 46, 47  # `left`, and NULL where `right` is TRUE
    PAIR = 48  # computes nothing: it has the operands of a function of more than two
    EXP, LN, LOG10, SIN, COS, TAN, ASIN, ACOS, ATAN = 49, 50, 51, 52, 53, 54, 55, 56, 57
    POWER, ATAN2 = 58, 59
    DISTANCE = 60  # between the places of two PAIRs
    FITS = 61  # `left`, and NULL where it is larger than the constant `right`: a time beyond 64 bits of nanoseconds
    # Of a register that adds up, together with a value of the event if there is a second operand.
    HELD, HELD_FLOAT = 62, 63
    LEAST, LEAST_FLOAT = 64, 65
    GREATEST, GREATEST_FLOAT = 66, 67
    TOTAL, TOTAL_FLOAT = 68, 69
    COUNT = 70


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


def formula_of(
    condition: ast.Expression, stored: Mapping[Register, ast.Expression], schema: Schema | None, unit: str = "ns"
) -> Formula:
    """Compiles a condition; `stored` gives the content of each register, as an expression over bare attributes.

    Times are whole numbers of the unit.
    """
    compiler = _Compiler(stored, Typing(schema), unit)
    _, kind = compiler.place(condition)
    assert kind in (Kind.BOOLEAN, Kind.NULL) or schema is None, "a filter is TRUE or FALSE"
    return compiler.made


def computed(
    e: ast.Expression, stored: Mapping[Register, ast.Expression], schema: Schema | None, *, as_float: bool
) -> Formula:
    """Compiles a value that need be no condition; `as_float` makes a float of a whole number."""
    compiler = _Compiler(stored, Typing(schema), "ns")
    placed = compiler.place(e)
    last = compiler.as_float(placed)[0] if as_float else placed[0]
    if last != len(compiler.made.code) - 1:
        raise NoInstruction(e, "a value that is a part of itself")
    return compiler.made


def formula_between(condition: ast.Expression, schema: Schema | None) -> Formula | None:
    """The instructions of a condition between events, wherever it is checked; None if it has a part without any.

    Its registers are named as the parts of the condition that they hold.

    >>> from ensue.language.parser import parse_expression
    >>> made = formula_between(parse_expression("abs(x.v - y.v) < 1 AND x.s = y.s"), None)
    >>> made.registers
    ['x.v', 'y.v', 'x.s', 'y.s']
    """
    if not is_plain(condition):
        return None
    stored: dict[Register, ast.Expression] = {}

    def as_stored(e: ast.Expression) -> ast.Expression | None:
        if len(variables_of(e)) != 1:
            return None
        name = print_expression(e)
        stored[name] = bare(e)
        return stored_in(name)

    try:
        return formula_of(ast.replaced(condition, as_stored), stored, schema)
    except NoInstruction:
        return None


_T = TypeVar("_T")
_Placed = tuple[int, Kind]  # the place and the kind of a value; times are whole numbers
_TIMES = (Kind.TIMESTAMP, Kind.DURATION)
_ARITHMETIC = {"+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "%": Op.REMAINDER}
_COMPARE = {"=": Op.EQUAL, "<>": Op.UNEQUAL, "<": Op.LESS, "<=": Op.AT_MOST, ">": Op.LESS, ">=": Op.AT_MOST}
_OF_ROUNDS = {
    **{"first": Op.HELD, "last": Op.HELD, "min": Op.LEAST, "max": Op.GREATEST, "sum": Op.TOTAL},
    "count": Op.COUNT,
}
_ROUNDING = {"floor": Op.FLOOR, "ceil": Op.CEILING}
_OF_FLOAT = {
    **{"sqrt": Op.ROOT, "exp": Op.EXP, "ln": Op.LN, "log10": Op.LOG10, "sin": Op.SIN, "cos": Op.COS},
    **{"tan": Op.TAN, "asin": Op.ASIN, "acos": Op.ACOS, "atan": Op.ATAN},
}
_OF_FLOATS = {"power": Op.POWER, "atan2": Op.ATAN2}
_FACTORS = {"radians": math.pi / 180.0, "degrees": 180.0 / math.pi}
_EXTREMES = {"greatest": Op.GREATER, "least": Op.LESSER}


class _Compiler:
    def __init__(self, stored: Mapping[Register, ast.Expression], typing: Typing, unit: str) -> None:
        self.made = Formula()
        self._stored = stored
        self._typing = typing
        self._most = (2**63 - 1) // ast.NANOSECONDS[unit]
        self._known: dict[ast.Expression, _Placed] = {}

    def place(self, e: ast.Expression) -> _Placed:
        if e not in self._known:
            self._known[e] = self._placed(e)
        return self._known[e]

    def _placed(self, e: ast.Expression) -> _Placed:
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
                return self._fitting(e, self._paired(Op.NEGATE, self._number(e.operand)))
            case ast.Binary(operator="AND" | "OR"):
                return self._joined(Op.AND if e.operator == "AND" else Op.OR, [self.place(e.left), self.place(e.right)])
            case ast.Binary(operator="*" | "/") if self._is_part_of_duration(e):
                raise NoInstruction(e, "fractions of durations")
            case ast.Binary(operator="/"):
                left, right = (self.as_float(self._number(side)) for side in (e.left, e.right))
                return self._add(Op.DIVIDE, left, right), Kind.FLOAT
            case ast.Binary() if e.operator in _ARITHMETIC:
                found = self._paired(_ARITHMETIC[e.operator], self._number(e.left), self._number(e.right))
                return self._fitting(e, found)
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
            case ast.Call(own=None):
                return self._function(e)
            case ast.Case():
                return self._case(e)
            case ast.Running():
                return self._of_rounds(e, e.aggregate)
        raise NoInstruction(e, _name_of(e))

    def _function(self, e: ast.Call) -> _Placed:
        match e.function:
            case "abs":
                return self._paired(Op.ABSOLUTE, self._number(e.arguments[0]))
            case "sign":
                return self._paired(Op.SIGN, self._number(e.arguments[0]))
            case "floor" | "ceil":
                found = self._number(e.arguments[0])
                whole = found[1] is Kind.INTEGER
                return found if whole else (self._add(_ROUNDING[e.function], self.as_float(found)), Kind.FLOAT)
            case "radians" | "degrees":
                factor = self.place(ast.Literal(_FACTORS[e.function], ast.LiteralType.FLOAT))
                return self._paired(Op.MULTIPLY, self.as_float(self._number(e.arguments[0])), factor)
            case "distance":
                lat, lon, other_lat, other_lon = (self.as_float(self._number(a)) for a in e.arguments)
                return self._add(Op.DISTANCE, self._pair(lat, lon), self._pair(other_lat, other_lon)), Kind.FLOAT
            case "coalesce":
                return self._folded(Op.COALESCE, e.arguments)
            case "greatest" | "least":
                return self._folded(_EXTREMES[e.function], e.arguments)
            case "nullif":
                value, other = e.arguments
                equal = self._compared(e, "=", self.place(value), self.place(other))
                return self._unless(self.place(value), equal)
            case "if":
                test, yes, no = e.arguments
                return self._chosen(self.place(test), *self._alike(e, [self.place(yes), self.place(no)]))
        if e.function in _OF_FLOAT:
            return self._add(_OF_FLOAT[e.function], self.as_float(self._number(e.arguments[0]))), Kind.FLOAT
        if e.function in _OF_FLOATS:
            floats = [self.as_float(self._number(a)) for a in e.arguments]
            return self._add(_OF_FLOATS[e.function], *floats), Kind.FLOAT
        raise NoInstruction(e, _name_of(e))

    def _case(self, e: ast.Case) -> _Placed:
        """The branches as choices inside each other, the last one innermost."""
        otherwise = (self._add(Op.NULL), Kind.NULL) if e.otherwise is None else self.place(e.otherwise)
        *results, found = self._alike(e, [*(self.place(result) for _, result in e.branches), otherwise])
        operand = None if e.operand is None else self.place(e.operand)
        for (asked, _), result in zip(reversed(e.branches), reversed(results), strict=True):
            test = self.place(asked)
            found = self._chosen(test if operand is None else self._compared(e, "=", operand, test), result, found)
        return found

    def _folded(self, op: Op, arguments: Sequence[ast.Expression]) -> _Placed:
        """A function of any number of arguments, made of one of two."""
        placed = self._alike(arguments[0], [self.place(a) for a in arguments])
        kind = next((kind for _, kind in placed if kind is not Kind.NULL), Kind.NULL)
        if kind is Kind.STRING and op is not Op.COALESCE:
            raise NoInstruction(arguments[0], "the order of strings")
        found, *others = placed
        for other in others:
            found = self._add(Op(op + (kind is Kind.FLOAT)), found, other), kind
        return found

    def _alike(self, e: ast.Expression, placed: list[_Placed]) -> list[_Placed]:
        """The values as floats, if one of them is a float."""
        kinds = {kind for _, kind in placed} - {Kind.NULL}
        if Kind.FLOAT in kinds:
            return [self.as_float(p) for p in placed]
        if len(kinds) > 1:
            raise NoInstruction(e, "a choice among values of several types")
        return placed

    def _chosen(self, test: _Placed, yes: _Placed, no: _Placed) -> _Placed:
        kind = no[1] if yes[1] is Kind.NULL else yes[1]
        return self._add(Op(Op.CHOOSE + (kind is Kind.FLOAT)), test, self._pair(yes, no)), kind

    def _unless(self, value: _Placed, test: _Placed) -> _Placed:
        return self._add(Op(Op.UNLESS + (value[1] is Kind.FLOAT)), value, test), value[1]

    def _pair(self, left: _Placed, right: _Placed) -> _Placed:
        return self._add(Op.PAIR, left, right), Kind.NULL

    def _is_part_of_duration(self, e: ast.Binary) -> bool:
        """Whether a duration is multiplied by a float or divided by a number, which rounds to whole nanoseconds."""
        found, *sides = (self._typing.infer(self._over_attributes(part)) for part in (e, e.left, e.right))
        return (
            found is not None
            and found.kind is Kind.DURATION
            and (e.operator == "/" or any(side is not None and side.kind is Kind.FLOAT for side in sides))
        )

    def _fitting(self, e: ast.Expression, found: _Placed) -> _Placed:
        """What was computed, NULL where it is a time that does not fit 64 bits of nanoseconds."""
        type_ = self._typing.infer(self._over_attributes(e))
        if self._most == 2**63 - 1 or type_ is None or type_.kind not in _TIMES:
            return found
        self.made.code.append(Instruction(Op.FITS, found[0], _numbered(self.made.whole, self._most)))
        return len(self.made.code) - 1, found[1]

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
    """The kind as which a value is computed: times and durations are whole numbers."""
    found = typing.infer(e)
    if found is None:
        return Kind.FLOAT  # without a schema, nothing is run and nothing is refused for its type
    if found.kind.nested or pa.types.is_uint64(found.arrow):
        raise NoInstruction(e, f"values of type {found}")
    if typing.has_long_decimals(e):
        raise NoInstruction(e, "decimals of more than 15 digits")
    return Kind.INTEGER if found.kind in _TIMES else found.kind


def unit_of(loaded: Iterable[ast.Expression], schema: Schema | None) -> str:
    """The unit in which all times and durations among these values are whole numbers."""
    typing = Typing(schema)
    types = [type_ for e in loaded if (type_ := typing.infer(e)) is not None and type_.kind in _TIMES]
    return finest_unit(types) if types else "ns"


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
