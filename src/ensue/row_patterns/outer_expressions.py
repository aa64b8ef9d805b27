"""The expressions around the clause, over the columns of a table: items, WHERE, ORDER BY, and the values of rows."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ensue.columns.conversions import as_type
from ensue.columns.evaluation import evaluated
from ensue.data.events import one_chunk
from ensue.data.schema import Kind, Schema, ValueType
from ensue.errors import Problem, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.logic.types import Typing
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.column_names import ColumnNames


class OuterScope:
    """A table, the names by which its columns may be called, and the values of expressions over it."""

    def __init__(self, text: str, table: pa.Table, tables: Iterable[str]) -> None:
        self.table = table
        self.names = ColumnNames(table.column_names)
        self._text = text
        self._tables = {t.upper() for t in tables}
        self._schema = Schema.of(table.schema)

    def is_table(self, name: str) -> bool:
        return name.upper() in self._tables

    def unknown_table(self, name: str, where: ast.Node) -> QueryError:
        hint = did_you_mean(name, self._tables) or (f"the table is {listed(self._tables)}" if self._tables else None)
        return QueryError(self._text, [Problem(ProblemKind.NAME, f"unknown table '{name}'", where.span, hint)])

    def value(self, e: ast.Expression) -> pa.Array | pa.ChunkedArray:
        """The expression at each row; a column as it is."""
        over = self._over_columns(e)
        if isinstance(over, ast.Name):
            return self.table.column(over.name)
        type_ = self._type(over)
        names = {n.name for n in ast.find(over, ast.Name)}
        columns = {n: one_chunk(self.table.column(n)) for n in names}
        return as_type(evaluated(over, columns, len(self.table)), type_.arrow)

    def condition(self, e: ast.Expression) -> pa.Array:
        """The expression as TRUE, FALSE or NULL at each row."""
        over = self._over_columns(e)
        found = self._type(over)
        if found.kind not in (Kind.BOOLEAN, Kind.NULL):
            message = f"WHERE is TRUE or FALSE, but this is of type {found}"
            raise QueryError(self._text, [Problem(ProblemKind.TYPE, message, e.span)])
        names = {n.name for n in ast.find(over, ast.Name)}
        columns = {n: one_chunk(self.table.column(n)) for n in names}
        return as_type(evaluated(over, columns, len(self.table)), pa.bool_())

    def name_of(self, e: ast.Expression) -> str:
        """What a column is called that has no alias: as the column that it is, else as it is written."""
        over = self._over_columns(e)
        if isinstance(over, ast.Name):
            return over.name
        return " ".join(self._text[e.span.start : e.span.end].split())

    def _type(self, over: ast.Expression) -> ValueType:
        typing = Typing(self._schema)
        found = typing.infer(over)
        if typing.problems or found is None:
            raise QueryError(self._text, typing.problems)
        return found

    def _over_columns(self, e: ast.Expression) -> ast.Expression:
        problems: list[Problem] = []

        def named(name: str, part: ast.Expression) -> ast.Expression:
            column = self.names.find(name)
            if column is None:
                problems.append(self.names.problem(name, part.span))
            return ast.Name(column or name, span=part.span)

        def by(part: ast.Expression) -> ast.Expression | None:
            match part:
                case ast.Name():
                    return named(part.name, part)
                case ast.Attribute() if self.is_table(part.variable):
                    return named(part.name, part)
                case ast.Attribute():
                    written = self._text[part.span.start :][: len(part.variable)]
                    if self.names.find(written) is not None:
                        return ast.Field(named(written, part), part.name, span=part.span)
                    problems.extend(self.unknown_table(part.variable, part).problems)
                    return ast.Literal(None, ast.LiteralType.NULL)
                case rows.Aggregated():
                    hint = (
                        "an aggregate of a match stands in MEASURES; for one of many rows take them to another engine"
                    )
                    problems.append(_refused(part, f"{part.function} cannot stand here", hint))
                    return ast.Literal(None, ast.LiteralType.NULL)
                case rows.Navigate() | rows.Classifier() | rows.MatchNumber():
                    hint = "make it a measure: MEASURES CLASSIFIER() AS variable"
                    problems.append(_refused(part, "what speaks of a match stands in MEASURES and DEFINE", hint))
                    return ast.Literal(None, ast.LiteralType.NULL)
            return None

        over = ast.replaced(e, by)
        if problems:
            raise QueryError(self._text, problems)
        return over


def _refused(part: ast.Expression, message: str, hint: str) -> Problem:
    return Problem(ProblemKind.SCOPE, message, part.span, hint)
