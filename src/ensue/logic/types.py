"""Infers the types of expressions from a schema. Without a schema, a type is None and no expression is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

import pyarrow as pa

from ensue.data.schema import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    NULL,
    STRING,
    Kind,
    Schema,
    ValueType,
    is_short_decimal,
    is_zone,
    timestamp_literal,
    value_type,
)
from ensue.errors import Problem, ProblemKind, did_you_mean, listed
from ensue.language import ast
from ensue.language.printer import print_expression, print_name
from ensue.logic.cast_types import can_be_cast, has_zone, instead_of_cast, type_of_cast
from ensue.logic.functions import AGGREGATES, FUNCTIONS, OF_NUMBERS, SPECIAL, UNITS, common_type, finest_unit
from ensue.logic.other_functions import INSTEAD
from ensue.logic.own_aggregates import OwnAggregate
from ensue.logic.own_functions import OwnFunction

_LITERALS = {
    ast.LiteralType.NULL: NULL,
    ast.LiteralType.BOOLEAN: BOOLEAN,
    ast.LiteralType.INTEGER: INTEGER,
    ast.LiteralType.FLOAT: FLOAT,
    ast.LiteralType.STRING: STRING,
}


#: A part of a duration, rounded to a whole number of these.
_NANOSECONDS = ValueType(Kind.DURATION, pa.duration("ns"))


class Typing:
    """Infers types and collects type errors. Each query has one instance; `problems` holds all problems found."""

    def __init__(self, schema: Schema | None, variables: Collection[str] = ()) -> None:
        self.schema = schema
        self._variables = variables
        self.problems: list[Problem] = []

    def condition(self, e: ast.Expression) -> None:
        """Checks `e` as a filter: it must be a boolean."""
        found = self.infer(e)
        if found is not None and found.kind not in (Kind.BOOLEAN, Kind.NULL):
            self._refuse(e, f"a filter is TRUE or FALSE, but this is of type {found}")

    def has_long_decimals(self, e: ast.Expression) -> bool:
        """Whether an attribute in `e` holds decimals with more digits than a float can represent."""
        if self.schema is None:
            return False
        names = {n.name for n in ast.find(e, ast.Name)}
        names |= {a.name for a in ast.find(e, ast.Attribute)} | {a.name for a in ast.find(e, ast.LastOf)}
        return any(_is_long(self.schema.attributes[n].arrow) for n in names & self.schema.attributes.keys())

    def infer(self, e: ast.Expression) -> ValueType | None:
        """The type of `e`; None if it is not known."""
        match e:
            case ast.Literal() | ast.InRegister() | ast.AllMatches():
                return None if isinstance(e, ast.AllMatches) else _LITERALS[e.type]
            case ast.DurationLiteral():
                return ValueType(Kind.DURATION, pa.duration(_coarsest(e)))
            case ast.Name():
                return self._attribute(e, e.name, None)
            case ast.Attribute() | ast.LastOf():
                return self._attribute(e, e.name, e.variable)
            case ast.Field():
                return as_operand(self._field(e))
            case ast.Element():
                return as_operand(self._element(e))
            case ast.Each():
                self.condition(e.condition)
                return BOOLEAN
            case ast.Unary(operator="NOT"):
                self._expect(e.operand, (Kind.BOOLEAN,), "NOT")
                return BOOLEAN
            case ast.Unary():
                found = self._expect(e.operand, (Kind.INTEGER, Kind.FLOAT, Kind.DURATION), "-")
                return self._arithmetic_result(found, found)
            case ast.Binary(operator="AND" | "OR"):
                self._expect(e.left, (Kind.BOOLEAN,), e.operator)
                self._expect(e.right, (Kind.BOOLEAN,), e.operator)
                return BOOLEAN
            case ast.Binary(operator="||"):
                self._expect(e.left, (Kind.STRING,), "||")
                self._expect(e.right, (Kind.STRING,), "||")
                return STRING
            case ast.Binary(operator="+" | "-" | "*" | "/" | "%"):
                return self._arithmetic(e)
            case ast.Binary():
                self._comparable(e, e.operator, (e.left, e.right))
                return BOOLEAN
            case ast.IsNull():
                self.infer(e.operand)
                return BOOLEAN
            case ast.InList():
                self._comparable(e, "IN", (e.operand, *e.options))
                return BOOLEAN
            case ast.Between():
                self._comparable(e, "BETWEEN", (e.operand, e.low, e.high))
                return BOOLEAN
            case ast.Like():
                self._expect(e.operand, (Kind.STRING,), "ILIKE" if e.any_case else "LIKE")
                self._expect(e.pattern, (Kind.STRING,), "ILIKE" if e.any_case else "LIKE")
                return BOOLEAN
            case ast.Call() | ast.Running():
                return self._call(e.aggregate if isinstance(e, ast.Running) else e)
            case ast.Case():
                return self._case(e)
            case ast.Cast():
                return self._cast(e)
            case ast.AtTimeZone():
                return self._at_time_zone(e)
        raise AssertionError(e)

    # -- the parts

    def _refuse(self, where: ast.Node, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(ProblemKind.TYPE, message, where.span, hint))

    def _attribute(self, where: ast.Node, name: str, variable: str | None) -> ValueType | None:
        if self.schema is None:
            return None
        known = self.schema.attributes
        if name not in known:
            hint = did_you_mean(name, known) or f"the attributes are {listed(known)}"
            owner = f" of {variable}" if variable else ""
            self.problems.append(Problem(ProblemKind.NAME, f"unknown attribute '{name}'{owner}", where.span, hint))
            return None
        return as_operand(known[name])

    def _is_variable(self, e: ast.Expression) -> bool:
        """Whether a bare name inside x[...] can only be that of a variable."""
        unknown = self.schema is not None and isinstance(e, ast.Name) and e.name not in self.schema.attributes
        return unknown and isinstance(e, ast.Name) and e.name in self._variables

    def _field(self, e: ast.Field) -> ValueType | None:
        if self._is_variable(e.of):
            text = print_expression(e)
            hint = f"write {print_name(e.name)}, or take {text} out of the brackets"
            self._refuse(e, f"x[...] takes bare attribute names, not {text}", hint)
            return None
        of = self.infer(e.of)
        if of is None or of.kind is Kind.NULL:
            return of
        if not pa.types.is_struct(of.arrow):
            self._refuse(e, f"{print_expression(e.of)} is of type {of}, so it has no fields", _hint_for_field(e, of))
            return None
        names = [f.name for f in of.arrow]
        if names.count(e.name) != 1:
            owner = print_expression(e.of)
            message = f"two fields of {owner} are named '{e.name}'"
            advice = None
            if e.name not in names:
                message = f"unknown field '{e.name}' of {owner}"
                advice = did_you_mean(e.name, names) or f"the fields are {listed(names)}"
            self.problems.append(Problem(ProblemKind.NAME, message, e.span, advice))
            return None
        return value_type(of.arrow.field(e.name).type)

    def _element(self, e: ast.Element) -> ValueType | None:
        if self._is_variable(e.of):
            self._refuse(e, "x[...] cannot be inside another x[...]")
            return None
        of, index = self.infer(e.of), self.infer(e.index)
        if of is None or index is None or of.kind is Kind.NULL:
            return of
        text = print_expression(e.of)
        if pa.types.is_map(of.arrow):
            key = value_type(of.arrow.key_type)
            if key.kind not in (Kind.STRING, Kind.INTEGER):
                self._refuse(e, f"the keys of {text} are of type {key}: only those of strings or integers can be read")
            elif index.kind not in (key.kind, Kind.NULL):
                self._refuse(e.index, f"the keys of {text} are of type {key}, but this is of type {index}")
            return value_type(of.arrow.item_type)
        if of.kind is not Kind.LIST:
            self._refuse(e, f"{text} is of type {of}, so it has no elements", _hint_for_element(e, of))
            return None
        if index.kind not in (Kind.INTEGER, Kind.NULL):
            self._refuse(e.index, f"an element of a list has a whole number, but this is of type {index}")
        elif isinstance(e.index, ast.Literal) and e.index.value == 0:
            self._refuse(e.index, "elements of a list are counted from 1", f"write {text}[1] for the first one")
        return value_type(of.arrow.value_type)

    def _expect(self, e: ast.Expression, kinds: tuple[Kind, ...], what: str) -> ValueType | None:
        found = self.infer(e)
        if found is not None and found.kind not in (*kinds, Kind.NULL):
            wanted = " or ".join(kinds)
            self._refuse(e, f"{what} takes a value of type {wanted}, but {print_expression(e)} is of type {found}")
            return None
        return found

    def _comparable(
        self, where: ast.Node, what: str, operands: tuple[ast.Expression, ...], hint: str | None = None
    ) -> None:
        types = [self.infer(e) for e in operands]
        known = [t for t in types if t is not None and t.kind is not Kind.NULL]
        for left, right in itertools.pairwise(known):
            if left.kind.nested or right.kind.nested:
                self._refuse(where, f"{what} cannot compare values of type {left} and {right}")
                return
            if left.kind != right.kind and not (left.kind.numeric and right.kind.numeric):
                if {left.kind, right.kind} == {Kind.TIMESTAMP, Kind.STRING}:
                    hint = "write timestamp('2024-01-31 12:00') for an instant"
                self._refuse(where, f"{what} cannot compare {left} with {right}", hint)
                return
            if left.kind is Kind.TIMESTAMP and (_zone(left) is None) != (_zone(right) is None):
                hint = "give the zone: timestamp('2024-01-31 12:00Z'), or store both columns with or without a zone"
                self._refuse(where, f"{what} cannot compare a time with a zone and a time without one", hint)
                return

    def _arithmetic(self, e: ast.Binary) -> ValueType | None:
        left, right = self.infer(e.left), self.infer(e.right)
        if left is None or right is None:
            return None
        kinds = (left.kind, right.kind)
        if Kind.NULL in kinds:
            return right if left.kind is Kind.NULL else left
        if all(k.numeric for k in kinds):
            return FLOAT if e.operator == "/" or Kind.FLOAT in kinds else INTEGER
        result = self._time_arithmetic(e.operator, left, right)
        if result is None:
            self._refuse(e, f"'{e.operator}' cannot take {left} and {right}")
        return result

    @staticmethod
    def _time_arithmetic(operator: str, left: ValueType, right: ValueType) -> ValueType | None:
        match (left.kind, operator, right.kind):
            case (Kind.TIMESTAMP, "-", Kind.TIMESTAMP) if (_zone(left) is None) == (_zone(right) is None):
                return ValueType(Kind.DURATION, pa.duration(finest_unit((left, right))))
            case (Kind.TIMESTAMP, "+" | "-", Kind.DURATION):
                return ValueType(Kind.TIMESTAMP, pa.timestamp(finest_unit((left, right)), _zone(left)))
            case (Kind.DURATION, "+", Kind.TIMESTAMP):
                return ValueType(Kind.TIMESTAMP, pa.timestamp(finest_unit((left, right)), _zone(right)))
            case (Kind.DURATION, "+" | "-", Kind.DURATION):
                return ValueType(Kind.DURATION, pa.duration(finest_unit((left, right))))
            case (Kind.DURATION, "*", Kind.INTEGER):
                return left
            case (Kind.INTEGER, "*", Kind.DURATION):
                return right
            case (Kind.DURATION, "*", Kind.FLOAT) | (Kind.FLOAT, "*", Kind.DURATION):
                return _NANOSECONDS
            case (Kind.DURATION, "/", Kind.INTEGER | Kind.FLOAT):
                return _NANOSECONDS
            case (Kind.DURATION, "/", Kind.DURATION):
                return FLOAT
        return None

    @staticmethod
    def _arithmetic_result(left: ValueType | None, right: ValueType | None) -> ValueType | None:
        if left is None or right is None or left.kind is Kind.DURATION:
            return left
        return common_type([left, right])

    def _call(self, e: ast.Call) -> ValueType | None:
        if e.function in AGGREGATES:
            return self._aggregate(e)
        if isinstance(e.own, OwnFunction):
            return self._own_function(e, e.own)
        if isinstance(e.own, OwnAggregate):
            return self._own_aggregate(e, e.own)
        if e.function == "prev":
            return self.infer(e.arguments[0]) if e.arguments else None
        if e.function == "timestamp":
            return self._timestamp(e)
        if e.function not in FUNCTIONS:
            known = (*FUNCTIONS, *(a for a in AGGREGATES if a != ast.COUNT_DISTINCT), *SPECIAL)
            others = (
                f"functions are {listed(known, 90)}; your own are registered with ensue.function or ensue.aggregate"
            )
            hint = INSTEAD.get(e.function) or did_you_mean(e.function, known) or others
            self.problems.append(Problem(ProblemKind.NAME, f"unknown function '{e.function}'", e.span, hint))
            return None
        function = FUNCTIONS[e.function]
        if not function.accepts(len(e.arguments)):
            self._refuse(e, f"{e.function} takes {function.arity()}, not {len(e.arguments)}")
            return None
        before = len(self.problems)
        types = [self.infer(a) for a in e.arguments]
        for i, (argument, found) in enumerate(zip(e.arguments, types, strict=True)):
            if found is not None and found.kind not in function.parameter(i):
                wanted = " or ".join(k for k in Kind if k in function.parameter(i) and k is not Kind.NULL)
                text = print_expression(argument)
                self._refuse(argument, f"{e.function} takes a value of type {wanted}, but {text} is of type {found}")
        if function.chosen:
            self._choose_word(e, function.chosen)
        if function.literal is not None:
            self._check_literal(e, function.literal)
        if e.function == "contains":
            self._can_contain(e, types)
        if function.same_kind or e.function == "if":
            self._comparable(e, e.function, e.arguments[1:] if e.function == "if" else e.arguments)
        known_types = [t for t in types if t is not None]
        if len(known_types) < len(types) or len(self.problems) > before:
            return None
        return function.result(known_types)

    def _own_function(self, e: ast.Call, function: OwnFunction) -> ValueType | None:
        wanted = function.takes
        if len(e.arguments) != len(wanted):
            counted = f"{len(wanted)} argument{'' if len(wanted) == 1 else 's'}"
            self._refuse(e, f"{e.function} takes {counted}, not {len(e.arguments)}")
            return None
        types = [self.infer(a) for a in e.arguments]
        for k, (argument, found) in enumerate(zip(e.arguments, types, strict=True)):
            if found is not None and not function.accepts(k, found):
                text, shown = print_expression(argument), wanted[k]
                of_one_kind = found.kind is shown.kind
                of = found.arrow if of_one_kind else found
                message = f"{e.function} takes a value of type {shown.arrow if of_one_kind else shown}"
                self._refuse(argument, f"{message}, but {text} is of type {of}")
        return None if any(t is None for t in types) else function.result

    def _own_aggregate(self, e: ast.Call, aggregate: OwnAggregate) -> ValueType | None:
        if len(e.arguments) != 1:
            self._refuse(e, f"{e.function} takes 1 argument, not {len(e.arguments)}")
            return None
        (argument,) = e.arguments
        found = None if isinstance(argument, ast.Name) else self.infer(argument)
        if found is None:
            return None
        if not aggregate.accepts(found):
            text = print_expression(argument)
            self._refuse(
                argument, f"{e.function} takes a value of type {aggregate.takes}, but {text} is of type {found}"
            )
            return None
        return aggregate.result

    def _case(self, e: ast.Case) -> ValueType | None:
        conditions, results = [c for c, _ in e.branches], [r for _, r in e.branches]
        if e.operand is not None:
            for c in conditions:
                self._comparable(c, "CASE", (e.operand, c))
        else:
            for c in conditions:
                self._expect(c, (Kind.BOOLEAN,), "WHEN")
        results += [] if e.otherwise is None else [e.otherwise]
        before = len(self.problems)
        self._comparable(e, "CASE", tuple(results), "the results of a CASE are of one type: CAST one as the other")
        types = [self.infer(r) for r in results]
        known = [t for t in types if t is not None]
        if len(known) < len(types) or len(self.problems) > before:
            return None
        return common_type(known if e.otherwise is not None else [*known, NULL])

    def _cast(self, e: ast.Cast) -> ValueType | None:
        found = self.infer(e.operand)
        if found is not None and found.kind is not Kind.NULL and not can_be_cast(found, e.type):
            text = print_expression(e.operand)
            with_zone = " with a zone" if has_zone(found) else ""
            message = f"CAST makes no {e.type} of {text}, which is of type {found}{with_zone}"
            self._refuse(e, message, instead_of_cast(found, e.type))
            return None
        return None if found is None else type_of_cast(found, e.type)

    def _choose_word(self, e: ast.Call, words: tuple[str, ...]) -> None:
        """The first argument must be one of the words."""
        word = e.arguments[0]
        if not (isinstance(word, ast.Literal) and isinstance(word.value, str)):
            self._refuse(word, f"{e.function} takes one of {listed(map(repr, words), 20)} as its first argument")
        elif word.value.lower() not in words:
            hint = did_you_mean(word.value.lower(), words) or f"one of {listed(words, 20)}"
            self._refuse(word, f"{e.function} knows no '{word.value}'", hint)

    def _check_literal(self, e: ast.Call, wrong: Callable[[str], str | None]) -> None:
        """The second argument must be a string that is written out."""
        text = e.arguments[1]
        if not (isinstance(text, ast.Literal) and isinstance(text.value, str)):
            self._refuse(text, f"{e.function} takes a literal string as its second argument")
        elif (problem := wrong(text.value)) is not None:
            self._refuse(text, problem)

    def _at_time_zone(self, e: ast.AtTimeZone) -> ValueType | None:
        if not is_zone(e.zone):
            hint = "zones are named as 'Europe/Madrid', 'UTC' or '+02:00'"
            self.problems.append(Problem(ProblemKind.NAME, f"unknown time zone '{e.zone}'", e.span, hint))
            return None
        found = self._expect(e.operand, (Kind.TIMESTAMP,), "AT TIME ZONE")
        if found is None or found.kind is Kind.NULL:
            return found
        return ValueType(Kind.TIMESTAMP, pa.timestamp(finest_unit((found,)), None if has_zone(found) else e.zone))

    def _can_contain(self, e: ast.Call, types: Sequence[ValueType | None]) -> None:
        """Texts contain texts, and lists what can be compared with their elements."""
        of, wanted = types
        if of is None or wanted is None or of.kind is Kind.NULL or wanted.kind is Kind.NULL:
            return
        part = as_operand(value_type(of.arrow.value_type)) if of.kind is Kind.LIST else STRING
        assert part is not None
        if part.kind.nested or (part.kind is not wanted.kind and not (part.kind.numeric and wanted.kind.numeric)):
            what = f"elements of type {part}" if of.kind is Kind.LIST else "a value of type string"
            text = print_expression(e.arguments[1])
            if part.kind.nested:
                self._refuse(e, f"contains cannot compare {what}")
            else:
                self._refuse(e.arguments[1], f"contains looks for {what} here, but {text} is of type {wanted}")

    def _timestamp(self, e: ast.Call) -> ValueType | None:
        match e.arguments:
            case (ast.Literal(type=ast.LiteralType.STRING, value=str(text)),):
                scalar = timestamp_literal(text)
                if scalar is None:
                    shown = text if len(text) <= 40 else text[:37] + "..."
                    self._refuse(e, f"'{shown}' is not a time", "write timestamp('2024-01-31 12:00:00')")
                    return None
                return ValueType(Kind.TIMESTAMP, scalar.type)
        self._refuse(e, "timestamp takes one string literal", "write timestamp('2024-01-31 12:00:00')")
        return None

    def _aggregate(self, e: ast.Call) -> ValueType | None:
        if len(e.arguments) != 1:
            self._refuse(e, f"{e.shown} takes 1 argument, not {len(e.arguments)}")
            return None
        argument = e.arguments[0]
        if isinstance(argument, ast.Name):  # the whole variable
            return INTEGER if e.function == "count" else None
        found = self.infer(argument)
        if e.function == "count":
            return INTEGER
        if found is None:
            return None
        if e.function in OF_NUMBERS and not found.kind.numeric and found.kind is not Kind.NULL:
            self._refuse(e, f"{e.function} takes numbers, but {print_expression(argument)} is of type {found}")
            return None
        if e.function in ("min", "max", ast.COUNT_DISTINCT) and found.kind.nested:
            verb = "compare" if e.function == ast.COUNT_DISTINCT else "order"
            self._refuse(e, f"{e.shown} cannot {verb} values of type {found}")
            return None
        if isinstance(argument, ast.Attribute) and self.schema is not None and e.function not in OF_NUMBERS:
            own = self.schema.attributes[argument.name]  # a value that is only chosen keeps its type, even a decimal
            found = own if pa.types.is_decimal(own.arrow) else found
        match e.function:
            case "avg" | "median" | "stddev":
                return FLOAT
            case ast.COUNT_DISTINCT:
                return INTEGER
            case "sum":
                return INTEGER if found.kind is Kind.INTEGER else FLOAT
            case "collect":
                return ValueType(Kind.LIST, pa.list_(found.arrow))
        return found


def as_operand(found: ValueType | None) -> ValueType | None:
    """The type as expressions compute with it: a column that is selected unchanged keeps its own."""
    if found is not None and pa.types.is_decimal(found.arrow):
        return FLOAT
    if found is not None and pa.types.is_dictionary(found.arrow):
        return ValueType(found.kind, found.arrow.value_type)
    return found


def _hint_for_field(e: ast.Field, of: ValueType) -> str | None:
    text = print_expression(e.of)
    if pa.types.is_map(of.arrow):
        return f"write {text}['{e.name}'] for the value of a key"
    return f"write {text}[1].{print_name(e.name)} for a field of its first element" if of.kind is Kind.LIST else None


def _hint_for_element(e: ast.Element, of: ValueType) -> str | None:
    text = print_expression(e.of)
    if pa.types.is_struct(of.arrow):
        named = e.index.value if isinstance(e.index, ast.Literal) else None
        return f"write {text}.{print_name(named if isinstance(named, str) else of.arrow.field(0).name)} for a field"
    return f"write substr({text}, 1, 1) for the first character" if of.kind is Kind.STRING else None


def _is_long(arrow: pa.DataType) -> bool:
    """Whether the type is, or holds, decimals with more digits than a float can represent."""
    if pa.types.is_decimal(arrow):
        return not is_short_decimal(arrow)
    if pa.types.is_dictionary(arrow):
        return _is_long(arrow.value_type)
    return any(_is_long(arrow.field(i).type) for i in range(arrow.num_fields))


def _zone(type_: ValueType) -> str | None:
    return type_.arrow.tz if pa.types.is_timestamp(type_.arrow) else None


def _coarsest(e: ast.DurationLiteral) -> str:
    """The coarsest Arrow unit that holds the duration without loss."""
    length = e.duration.nanoseconds()
    return next((u for u in UNITS if (length / ast.NANOSECONDS[u]).denominator == 1), "ns")
