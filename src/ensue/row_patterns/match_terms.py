"""What a checked condition or measure is made of: terms that speak of the match, and an expression of them.

    A.price > PREV(LAST(B.price), 1) + 5        is the expression  t1 > t2 + 5  of two terms

A term goes to one row of the match and takes a value there (`Navigation`), or computes something of many rows
(`Aggregate`), or is the number of the match. What it takes at a row is an expression of that row alone (`RowValue`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ensue.data.schema import Schema, ValueType
from ensue.errors import Span
from ensue.language import ast
from ensue.row_patterns.clause_ast import RowPattern, RowsPerMatch, Skip

#: What stands in the expression of a row for its variable and for the number of its match; no column has such a name.
LABEL, NUMBER = "\0variable", "\0match number"


@dataclass(frozen=True)
class RowValue:
    """An expression over the columns of one row, its variable (`LABEL`) and the number of its match (`NUMBER`)."""

    expression: ast.Expression
    type: ValueType

    @property
    def columns(self) -> frozenset[str]:
        names = {n.name for n in ast.find(self.expression, ast.Name)}
        return frozenset(names - {LABEL, NUMBER})

    @property
    def uses_label(self) -> bool:
        return any(n.name == LABEL for n in ast.find(self.expression, ast.Name))

    @property
    def uses_number(self) -> bool:
        return any(n.name == NUMBER for n in ast.find(self.expression, ast.Name))


@dataclass(frozen=True)
class Navigation:
    """The value at a row: the n-th row, from the first or the last one, of those with a variable in `of`; then `step`.

    `of` is None for all rows of the match. A running one looks at the rows as far as the current one. `step` goes on
    over the rows of the partition, backward where it is negative.
    """

    value: RowValue
    of: frozenset[str] | None = None
    final: bool = False
    from_first: bool = False
    offset: int = 0
    step: int = 0

    @property
    def type(self) -> ValueType:
        return self.value.type


@dataclass(frozen=True)
class ValueOrder:
    """`ORDER BY e DESC` in an aggregate."""

    value: RowValue
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over the rows with a variable in `of`; without arguments, it counts them.

    Its values come in the order of the rows, or in that of `order`.
    """

    function: str
    arguments: tuple[RowValue, ...]
    type: ValueType
    of: frozenset[str] | None = None
    final: bool = False
    distinct: bool = False
    order: tuple[ValueOrder, ...] = ()

    @property
    def values(self) -> tuple[RowValue, ...]:
        """What it needs of each row: its arguments without a separator, and then what they are ordered by."""
        arguments = self.arguments[:1] if self.function == "string_agg" else self.arguments
        return (*arguments, *(o.value for o in self.order))

    @property
    def separator(self) -> str:
        """What string_agg puts between the values."""
        literal = self.arguments[1].expression
        assert isinstance(literal, ast.Literal)
        return str(literal.value or "")


@dataclass(frozen=True)
class NumberOfMatch:
    """`MATCH_NUMBER()`"""

    type: ValueType


Term = Navigation | Aggregate | NumberOfMatch


@dataclass(frozen=True)
class Formula:
    """An expression over the names of terms; `text` and `span` are what the user wrote."""

    expression: ast.Expression
    terms: Mapping[str, Term]
    type: ValueType
    text: str
    span: Span

    @property
    def schema(self) -> Schema:
        return Schema({name: term.type for name, term in self.terms.items()})


@dataclass(frozen=True)
class OrderKey:
    column: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class CheckedMeasure:
    name: str
    formula: Formula


@dataclass(frozen=True)
class PartitionFrame:
    """A column that is computed from rows around each row: `low` to `high`, None for the end of the partition."""

    name: str
    aggregate: Aggregate
    low: int | None
    high: int | None


#: A measure of results that have no columns, since a table without columns has no rows. Nobody sees it.
NO_COLUMNS = "\0match"


@dataclass(frozen=True)
class CheckedClause:
    """The clause over a known table: every name found, every type known."""

    pattern: RowPattern
    variables: tuple[str, ...]  # those of the pattern, in its order
    unions: Mapping[str, frozenset[str]]  # each subset, and each variable as a subset of itself
    conditions: Mapping[str, Formula]  # a variable without one holds for every row
    partition: tuple[str, ...]
    order: tuple[OrderKey, ...]
    measures: tuple[CheckedMeasure, ...]
    rows: RowsPerMatch
    skip: Skip
    within: int | None  # the last row comes at most so many nanoseconds after the first
    columns: tuple[str, ...]  # those of the table that the result shows behind the measures
    shown_first: tuple[str, ...]  # and those that it shows before them
    text: str
    frames: tuple[PartitionFrame, ...] = ()  # columns that conditions and measures read beside those of the table

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of the result, in order."""
        return (*self.shown_first, *(m.name for m in self.measures), *self.columns)
