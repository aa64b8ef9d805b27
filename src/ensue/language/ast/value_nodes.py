"""Expressions: section 4 of the language page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ensue.language.ast.durations import Duration
from ensue.language.ast.nodes import Node
from ensue.language.own import Own


class LiteralType(StrEnum):
    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    STRING = "string"


@dataclass(frozen=True)
class Expression(Node):
    pass


@dataclass(frozen=True)
class Literal(Expression):
    """A constant. The type is a field because 1, 1.0 and TRUE are equal in Python but must differ here."""

    value: bool | int | float | str | None
    type: LiteralType


@dataclass(frozen=True)
class DurationLiteral(Expression):
    duration: Duration


@dataclass(frozen=True)
class Parameter(Expression):
    """`$name`, in what the builder makes; a query that was read has values in the places of its parameters."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True)
class Name(Expression):
    """A bare name: an attribute inside `x[...]`, a whole variable in items and in `count(x)`."""

    name: str


@dataclass(frozen=True)
class InRegister(Expression):
    """What a field of the register of an automaton holds when a match of it ends; in a text it is a bare name."""

    name: str
    type: LiteralType


@dataclass(frozen=True)
class Attribute(Expression):
    """`x.a`"""

    variable: str
    name: str


@dataclass(frozen=True)
class LastOf(Expression):
    """`LASTOF(y).a`: attribute `a` of the event that `y` marked in the previous round of the enclosing iteration."""

    variable: str
    name: str


@dataclass(frozen=True)
class Field(Expression):
    """`e.a`: field `a` of a struct, as in `x.user.id`."""

    of: Expression
    name: str


@dataclass(frozen=True)
class Element(Expression):
    """`e[i]`: an element of a list, counted from 1, or the value of a key of a map."""

    of: Expression
    index: Expression


@dataclass(frozen=True)
class Each(Expression):
    """`x[g]`: every event of `x` satisfies `g`."""

    variable: str
    condition: Expression


@dataclass(frozen=True)
class Unary(Expression):
    """`-e` or `NOT e`."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """Arithmetic, comparison, `||`, `AND`, `OR`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class IsNull(Expression):
    operand: Expression
    negated: bool


@dataclass(frozen=True)
class InList(Expression):
    operand: Expression
    options: tuple[Expression, ...]
    negated: bool


@dataclass(frozen=True)
class Between(Expression):
    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True)
class Like(Expression):
    """`e LIKE p`, and `e ILIKE p`, which takes small and capital letters as the same."""

    operand: Expression
    pattern: Expression
    negated: bool
    any_case: bool = False


@dataclass(frozen=True)
class Case(Expression):
    """`CASE WHEN c THEN r ... ELSE o END`, and `CASE e WHEN v THEN r ... END` where `operand` is `e`."""

    operand: Expression | None
    parts: tuple[Expression, ...]  # a condition, its result, the next condition, ...
    otherwise: Expression | None

    @property
    def branches(self) -> list[tuple[Expression, Expression]]:
        """Each condition (with an operand, the value it is compared with) with its result."""
        return list(zip(self.parts[::2], self.parts[1::2], strict=True))


#: Every spelling of a type in CAST, and the type it stands for.
CAST_TYPES: dict[str, str] = {
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("integer", "int", "bigint", "long"), "integer"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("string", "text", "varchar"), "string"),
    **dict.fromkeys(("timestamp", "datetime"), "timestamp"),
    "timestamptz": "timestamptz",
}


@dataclass(frozen=True)
class Cast(Expression):
    """`CAST(e AS type)` and `e::type`; the type is one of the values of `CAST_TYPES`."""

    operand: Expression
    type: str


@dataclass(frozen=True)
class AtTimeZone(Expression):
    """`e AT TIME ZONE 'Europe/Madrid'`"""

    operand: Expression
    zone: str


@dataclass(frozen=True)
class AllMatches(Expression):
    """The `*` of `count(*)`."""


#: The name of `count(DISTINCT e)`, which no text of a query can have.
COUNT_DISTINCT = "count distinct"


@dataclass(frozen=True)
class Call(Expression):
    """A function, a look-back `PREV(x.a, k)` or an aggregate. The name is in lower case.

    `own` is the function or aggregate of the user's own that the name stands for, once that is known.
    """

    function: str
    arguments: tuple[Expression, ...]
    own: Own | None = None

    @property
    def shown(self) -> str:
        """The name of the function as messages show it."""
        return "count(DISTINCT)" if self.function == COUNT_DISTINCT else self.function


@dataclass(frozen=True)
class Running(Expression):
    """`RUNNING sum(y.a)`: the aggregate over the rounds so far of an iteration, this one included."""

    aggregate: Call


@dataclass(frozen=True)
class EachRound(Expression):
    """A condition that every round of an iteration has to satisfy, as it is judged on whole matches. No text has it.

    Each of the variables marks one event in every round. The condition may also speak of a set, event by event: its
    events of a round come before the one that `behind` marks.
    """

    condition: Expression
    variables: tuple[str, ...]
    set_: str = ""
    behind: str = ""
