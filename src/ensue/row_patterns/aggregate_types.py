"""The types of SQL's aggregates: what each takes, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from ensue.data.schema import BOOLEAN, FLOAT, INTEGER, STRING, Kind, ValueType
from ensue.language import ast
from ensue.logic.types import as_operand
from ensue.row_patterns.clause_ast import Aggregated
from ensue.row_patterns.sql_words import AGGREGATES

#: Tells of a problem: where it is, what it is, and a hint.
Refuse = Callable[[ast.Node, str, str | None], None]


def takes_arguments(e: Aggregated, refuse: Refuse) -> bool:
    """Whether the aggregate has as many arguments as it takes."""
    least, most = AGGREGATES[e.function]
    given = len(e.arguments)
    if least <= given <= most:
        return True
    wanted = f"{least} argument{'' if least == 1 else 's'}" if least == most else f"{least} or {most} arguments"
    refuse(e, f"{e.function} takes {wanted}, not {given}", None)
    return False


def type_of_aggregate(e: Aggregated, types: Sequence[ValueType], refuse: Refuse) -> ValueType:
    """The type of an aggregate of values of these types."""
    if e.distinct and not e.arguments:
        refuse(e, "count(DISTINCT *) has no meaning here", "name a column: count(DISTINCT A.x)")
    if e.function == "count" or not types:
        return INTEGER
    found = types[0]
    operand = as_operand(found) or found
    unknown = found.kind is Kind.NULL
    match e.function:
        case "sum" | "avg":
            if not operand.kind.numeric and not unknown:
                refuse(e, f"{e.function} takes numbers, but this is of type {found}", None)
            return INTEGER if e.function == "sum" and operand.kind is Kind.INTEGER else FLOAT
        case "min" | "max" if found.kind.nested:
            refuse(e, f"{e.function} cannot order values of type {found}", None)
        case "min_by" | "max_by" if types[1].kind.nested:
            refuse(e, f"{e.function} cannot order values of type {types[1]}", None)
        case "bool_and" | "bool_or":
            if found.kind is not Kind.BOOLEAN and not unknown:
                refuse(e, f"{e.function} takes a value of type boolean, but this is of type {found}", None)
            return BOOLEAN
        case "string_agg":
            for type_, argument in zip(types, e.arguments, strict=True):
                if type_.kind not in (Kind.STRING, Kind.NULL):
                    refuse(argument, f"{e.function} takes a value of type string, not {type_}", "CAST(x AS varchar)")
            if len(types) > 1 and not isinstance(e.arguments[1], ast.Literal):
                refuse(e.arguments[1], "the separator is a string as it is: string_agg(x, ', ')", None)
            return STRING
        case "collect":
            if e.distinct and found.kind.nested:
                refuse(e, f"DISTINCT cannot compare values of type {found}", None)
            return ValueType(Kind.LIST, pa.list_(operand.arrow))
    return operand
