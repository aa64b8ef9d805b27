"""Checks conditions and measures, and takes them apart into terms that speak of the match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from ensue.data.schema import INTEGER, NULL, STRING, Kind, Schema, ValueType
from ensue.errors import Problem, ProblemKind, did_you_mean, listed
from ensue.language import ast
from ensue.logic.types import Typing
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.aggregate_types import takes_arguments, type_of_aggregate
from ensue.row_patterns.column_names import ColumnNames
from ensue.row_patterns.match_terms import (
    LABEL,
    NUMBER,
    Aggregate,
    Formula,
    Navigation,
    NumberOfMatch,
    PartitionFrame,
    RowValue,
    Term,
    ValueOrder,
)

_PHYSICAL = ("PREV", "NEXT")
#: The search keeps so many rows of each way through the pattern for FIRST(x, n) and LAST(x, n), and no more.
MOST_KEPT = 1_000


class TermChecker:
    """Checks the expressions of one clause over a table; `problems` holds all that is wrong."""

    def __init__(
        self,
        text: str,
        table: Schema,
        unions: Mapping[str, frozenset[str]],
        *,
        alias: str | None = None,
        nulls_first: bool = False,
    ) -> None:
        self.problems: list[Problem] = []
        self._alias = alias
        self._null_is_least = nulls_first
        self._text = text
        self._table = table
        self._columns = ColumnNames(table.attributes)
        self._unions = unions
        self._row = Schema({**table.attributes, LABEL: STRING, NUMBER: INTEGER})
        self.frames: list[PartitionFrame] = []

    def condition(self, e: ast.Expression) -> Formula | None:
        """A condition of DEFINE: TRUE or FALSE, and of the match so far."""
        self._in_define = True
        formula = self._formula(e)
        if formula is not None and formula.type.kind not in (Kind.BOOLEAN, Kind.NULL):
            self._refuse(e, f"a condition is TRUE or FALSE, but this is of type {formula.type}")
        return formula

    def measure(self, e: ast.Expression) -> Formula | None:
        self._in_define = False
        return self._formula(e)

    # -- formulas

    def _formula(self, written: ast.Expression) -> Formula | None:
        e = self._without_table(written)
        before = len(self.problems)
        terms: dict[str, Term] = {}

        def by(part: ast.Expression) -> ast.Expression | None:
            found = self._term(part)
            if found is None:
                return self._struct_field(part, by)
            return ast.Name(self._named(part, found, terms), span=part.span)

        expression = ast.replaced(e, by)
        if len(self.problems) > before:
            return None
        if isinstance(expression, ast.Name):  # a value as it is keeps its own type, even a decimal
            type_: ValueType | None = terms[expression.name].type
        else:
            typing = Typing(Schema({name: term.type for name, term in terms.items()}))
            type_ = typing.infer(expression)
            self.problems.extend(typing.problems)
        if type_ is None:
            return None
        text = self._text[written.span.start : written.span.end]
        return Formula(expression, terms, type_, text, written.span)

    def _without_table(self, e: ast.Expression) -> ast.Expression:
        """The expression with `x` for `t.x`, where `t` is the table, and no variable."""

        def by(part: ast.Expression) -> ast.Expression | None:
            if not isinstance(part, ast.Attribute) or self._alias is None or part.variable in self._unions:
                return None
            is_table = part.variable.upper() == self._alias.upper()
            return ast.Name(part.name, span=part.span) if is_table else None

        return ast.replaced(e, by)

    def _named(self, part: ast.Expression, term: Term, terms: dict[str, Term]) -> str:
        """The name of a term: as it is written, so that what is said of its type can be read."""
        known = next((name for name, other in terms.items() if other == term), None)
        name = known or " ".join(self._text[part.span.start : part.span.end].split())
        while terms.get(name, term) != term:
            name += "'"
        terms[name] = term
        return name

    def _term(self, e: ast.Expression) -> Term | None:
        """The term that this part is, or None if it is an operation on others."""
        match e:
            case rows.MatchNumber():
                return NumberOfMatch(INTEGER)
            case rows.Classifier():
                of, value = self._row_value(e, e)
                return Navigation(value, of)
            case ast.Name() | rows.Framed():
                of, value = self._row_value(e, e)
                return Navigation(value, of)
            case ast.Attribute() if self._is_variable(e):
                of, value = self._row_value(e, e)
                return Navigation(value, of)
            case rows.Navigate():
                return self._navigation(e)
            case rows.Aggregated():
                return self._aggregate(e)
        return None

    def _is_variable(self, e: ast.Attribute) -> bool:
        """Whether this is a column of a variable, and not a field of a column that holds structs."""
        if e.variable in self._unions:
            return True
        column = self._columns.find(self._text[e.span.start :][: len(e.variable)])
        return column is None or not pa.types.is_struct(self._table.attributes[column].arrow)

    def _struct_field(self, e: ast.Expression, by: object) -> ast.Expression | None:
        if not isinstance(e, ast.Attribute):
            return None
        place = ast.Name(self._text[e.span.start :][: len(e.variable)], span=e.span)
        return ast.Field(by(place), e.name, span=e.span)  # type: ignore[operator]

    # -- navigation

    def _navigation(self, e: rows.Navigate) -> Navigation | None:
        inner = e.argument
        if e.function in _PHYSICAL:
            step = self._offset(e, 1) * (-1 if e.function == "PREV" else 1)
            if isinstance(inner, rows.Navigate) and inner.function not in _PHYSICAL:
                found = self._logical(inner)
            else:
                of, value = self._row_value(inner, e)
                found = Navigation(value, of)
            return Navigation(found.value, found.of, found.final, found.from_first, found.offset, step)
        return self._logical(e)

    def _logical(self, e: rows.Navigate) -> Navigation:
        of, value = self._row_value(e.argument, e)
        offset = self._offset(e, 0)
        if offset > MOST_KEPT and self._in_define:
            message = f"the second argument of {e.function} is at most {MOST_KEPT:,} in DEFINE"
            hint = "for each way through the pattern, so many rows are kept; PREV(x, n) has no such bound"
            self._refuse(e, message, hint, ProblemKind.UNSUPPORTED)
        return Navigation(value, of, self._is_final(e, e.semantics), e.function == "FIRST", offset)

    def _offset(self, e: rows.Navigate, otherwise: int) -> int:
        offset = e.offset
        if offset is None:
            return otherwise
        if isinstance(offset, ast.Literal) and isinstance(offset.value, int) and not isinstance(offset.value, bool):
            return offset.value
        self._refuse(
            offset, f"the second argument of {e.function} is a whole number, from 0 on", f"write {e.function}(x, 1)"
        )
        return otherwise

    def _is_final(self, e: ast.Expression, semantics: rows.Semantics | None) -> bool:
        final = semantics is rows.Semantics.FINAL
        if final and self._in_define:
            hint = "a condition of DEFINE knows the match as far as the current row: leave FINAL out"
            self._refuse(e, "FINAL cannot stand in DEFINE", hint, ProblemKind.SCOPE)
        return final

    # -- aggregates

    def _aggregate(self, e: rows.Aggregated) -> Aggregate | None:
        if e.rows_of is not None:
            if e.function != "count":
                self._refuse(e, f"only count takes {e.rows_of}.*")
            return Aggregate("count", (), INTEGER, self._union(e.rows_of, e), self._is_final(e, e.semantics))
        if not takes_arguments(e, self._refuse):
            return None
        # The order of its values matters to these alone.
        order = e.order if e.function in ("collect", "string_agg") else ()
        expressions = (*e.arguments, *(k.expression for k in order))
        of, values = self._row_values(expressions, e, needs_column=False)
        arguments, by = values[: len(e.arguments)], values[len(e.arguments) :]
        type_ = type_of_aggregate(e, [v.type for v in arguments], self._refuse)
        if order and self._in_define:
            hint = "its values are those of the rows so far, in their order"
            self._refuse(e, "ORDER BY cannot stand in an aggregate in DEFINE", hint, ProblemKind.SCOPE)
        for key, value in zip(order, by, strict=True):
            if value.type.kind.nested:
                self._refuse(key, f"values of type {value.type} have no order")
        orders = tuple(
            ValueOrder(value, key.descending, self._nulls_first(key)) for key, value in zip(order, by, strict=True)
        )
        return Aggregate(e.function, arguments, type_, of, self._is_final(e, e.semantics), e.distinct, orders)

    def _nulls_first(self, key: rows.SortKey) -> bool:
        if key.nulls_first is None:
            return self._null_is_least and not key.descending
        return key.nulls_first

    # -- one row

    def _row_value(self, e: ast.Expression, where: ast.Expression) -> tuple[frozenset[str] | None, RowValue]:
        of, (value,) = self._row_values((e,), where, needs_column=True)
        return of, value

    def _row_values(
        self, expressions: tuple[ast.Expression, ...], where: ast.Expression, *, needs_column: bool
    ) -> tuple[frozenset[str] | None, tuple[RowValue, ...]]:
        """The expressions as expressions of one row, and the rows they speak of, which all must be the same."""
        speak_of: dict[str | None, ast.Expression] = {}
        before = len(self.problems)
        over_row = [ast.replaced(e, lambda part: self._of_row(part, speak_of, where)) for e in expressions]
        if len(speak_of) > 1:
            one, two = (name or "all rows" for name in list(speak_of)[:2])
            hint = "take the values apart: one call for each variable, or a SUBSET of both"
            message = f"the columns in one call are of one variable, but these are of {one} and {two}"
            self._refuse(where, message, hint, ProblemKind.SCOPE)
        if needs_column and not speak_of and len(self.problems) == before:
            self._refuse(where, "this goes to no row: it names no column", "write LAST(A.x)", ProblemKind.SCOPE)
        variable = next(iter(speak_of), None)
        values = tuple(RowValue(e, self._type(e) if len(self.problems) == before else NULL) for e in over_row)
        return (None if variable is None else self._unions.get(variable)), values

    def _type(self, e: ast.Expression) -> ValueType:
        if isinstance(e, ast.Name):
            return self._row.attributes[e.name]
        typing = Typing(self._row)
        found = typing.infer(e)
        self.problems.extend(typing.problems)
        return found or NULL

    def _of_row(
        self, e: ast.Expression, speak_of: dict[str | None, ast.Expression], where: ast.Expression
    ) -> ast.Expression | None:
        match e:
            case ast.Name():
                speak_of.setdefault(None, e)
                return self._column(e, e.name)
            case ast.Attribute() if self._is_variable(e):
                self._union(e.variable, e)
                speak_of.setdefault(e.variable, e)
                return self._column(e, e.name)
            case ast.Attribute():
                place = ast.Name(self._text[e.span.start :][: len(e.variable)], span=e.span)
                speak_of.setdefault(None, e)
                return ast.Field(self._column(place, place.name), e.name, span=e.span)
            case rows.Classifier():
                if e.variable is not None:
                    self._union(e.variable, e)
                speak_of.setdefault(e.variable, e)
                return ast.Name(LABEL, span=e.span)
            case rows.MatchNumber():
                return ast.Name(NUMBER, span=e.span)
            case rows.Framed():
                speak_of.setdefault(None, e)
                return ast.Name(self._framed(e), span=e.span)
            case rows.Navigate() | rows.Aggregated():
                self._refuse_nesting(e, where)
                return ast.Literal(None, ast.LiteralType.NULL, span=e.span)
        return None

    def _framed(self, e: rows.Framed) -> str:
        """The name of the column that an aggregate over a frame of rows becomes."""
        written = rows.Aggregated(e.function, e.arguments, span=e.span)
        arguments: tuple[RowValue, ...] = ()
        if takes_arguments(written, self._refuse):
            arguments = tuple(self._of_partition(a, e) for a in e.arguments)
        type_ = type_of_aggregate(written, [a.type for a in arguments], self._refuse)
        frame = PartitionFrame("", Aggregate(e.function, arguments, type_), e.low, e.high)
        for known in self.frames:
            if replace(known, name="") == frame:
                return known.name
        name = f"\0frame {len(self.frames)}"
        self.frames.append(replace(frame, name=name))
        self._row = Schema({**self._row.attributes, name: type_})
        return name

    def _of_partition(self, e: ast.Expression, where: ast.Expression) -> RowValue:
        """An expression over the columns of a row, which may be of no match."""
        for part in ast.walk(e):
            speaks = isinstance(
                part, rows.Navigate | rows.Aggregated | rows.Classifier | rows.MatchNumber | rows.Framed
            )
            if speaks or (isinstance(part, ast.Attribute) and part.variable in self._unions):
                hint = "its rows are those of the partition: name columns without a variable"
                self._refuse(where, "what OVER (ROWS ...) is of cannot speak of the match", hint, ProblemKind.SCOPE)
                return RowValue(ast.Literal(None, ast.LiteralType.NULL), NULL)
        _, (value,) = self._row_values((e,), where, needs_column=False)
        return value

    def _refuse_nesting(self, e: ast.Expression, where: ast.Expression) -> None:
        def called(part: ast.Expression) -> str:
            return part.function if isinstance(part, rows.Navigate | rows.Aggregated) else "this"

        hint = "FIRST and LAST may stand in PREV and NEXT, alone: PREV(FIRST(A.x), 1)"
        if isinstance(where, rows.Aggregated):
            hint = "an aggregate is over the values of single rows"
        message = f"{called(e)} cannot stand inside of {called(where)}"
        self._refuse(e, message, hint, ProblemKind.SCOPE)

    def _column(self, e: ast.Expression, name: str) -> ast.Expression:
        column = self._columns.find(name)
        if column is None:
            self.problems.append(self._columns.problem(name, e.span))
            return ast.Literal(None, ast.LiteralType.NULL, span=e.span)
        return ast.Name(column, span=e.span)

    def _union(self, variable: str, e: ast.Expression) -> frozenset[str] | None:
        found = self._unions.get(variable)
        if found is None:
            known = list(self._unions)
            hint = did_you_mean(variable, known) or f"the variables are {listed(known)}"
            self._refuse(e, f"unknown variable '{variable}'", hint, ProblemKind.NAME)
        return found

    def _refuse(
        self, where: ast.Node, message: str, hint: str | None = None, kind: ProblemKind = ProblemKind.TYPE
    ) -> None:
        self.problems.append(Problem(kind, message, where.span, hint))
