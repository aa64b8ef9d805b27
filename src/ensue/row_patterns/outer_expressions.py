"""The expressions around the clause, over the columns of tables: items, WHERE, ORDER BY, and the values of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
from ensue.row_patterns.match_terms import NO_COLUMNS


@dataclass(frozen=True)
class Part:
    """One of the tables in FROM: what it may be called, its columns, and how their names begin in the joined table."""

    names: frozenset[str]  # in capitals
    columns: ColumnNames
    prefix: str = ""

    @classmethod
    def of(cls, names: Iterable[str], columns: Iterable[str], prefix: str = "") -> Part:
        return cls(frozenset(n.upper() for n in names), ColumnNames(c for c in columns if c != NO_COLUMNS), prefix)


class OuterScope:
    """A table, the tables that it is made of, and the values of expressions over it."""

    def __init__(self, text: str, table: pa.Table, parts: Sequence[Part]) -> None:
        self.table = table
        self.parts = tuple(parts)
        self._text = text
        self._schema = Schema.of(table.schema)

    def filtered(self, kept: pa.Array) -> OuterScope:
        """The same over the rows for which this is TRUE."""
        return OuterScope(self._text, self.table.filter(kept), self.parts)

    def stars(self, of: str | None, where: ast.Node) -> list[tuple[str, str]]:
        """The columns of `*`, or of `t.*`: what each is called, and its name in the table."""
        parts = [p for p in self.parts if of is None or of.upper() in p.names]
        if not parts:
            raise self._unknown_table(str(of), where)
        return [(name, p.prefix + name) for p in parts for name in p.columns.names]

    def value(self, e: ast.Expression) -> pa.Array | pa.ChunkedArray:
        """The expression at each row; a column as it is."""
        over = self.over_columns(e)
        if isinstance(over, ast.Name):
            return self.table.column(over.name)
        return as_type(evaluated(over, self._columns_of(over), len(self.table)), self._type(over).arrow)

    def condition(self, e: ast.Expression, where: str = "WHERE") -> pa.Array:
        """The expression as TRUE, FALSE or NULL at each row."""
        over = self.over_columns(e)
        found = self._type(over)
        if found.kind not in (Kind.BOOLEAN, Kind.NULL):
            message = f"{where} is TRUE or FALSE, but this is of type {found}"
            raise QueryError(self._text, [Problem(ProblemKind.TYPE, message, e.span)])
        return as_type(evaluated(over, self._columns_of(over), len(self.table)), pa.bool_())

    def name_of(self, e: ast.Expression) -> str:
        """What a column is called that has no alias: as the column that it is, else as it is written."""
        if isinstance(e, ast.Name | ast.Attribute):
            over = self.over_columns(e)
            if isinstance(over, ast.Name):
                prefix = next(p.prefix for p in self.parts if over.name.startswith(p.prefix))
                return over.name.removeprefix(prefix)
        return " ".join(self._text[e.span.start : e.span.end].split())

    def _columns_of(self, e: ast.Expression) -> dict[str, pa.Array]:
        return {n: one_chunk(self.table.column(n)) for n in {n.name for n in ast.find(e, ast.Name)}}

    def _type(self, over: ast.Expression) -> ValueType:
        typing = Typing(self._schema)
        found = typing.infer(over)
        if typing.problems or found is None:
            raise QueryError(self._text, typing.problems)
        return found

    # -- names

    def over_columns(self, e: ast.Expression) -> ast.Expression:
        """The expression over the columns of the table, by the names that they have there."""
        problems: list[Problem] = []

        def by(part: ast.Expression) -> ast.Expression | None:
            match part:
                case ast.Name():
                    return self._column(part.name, part, self.parts, problems)
                case ast.Attribute():
                    return self._attribute(part, problems)
                case rows.Aggregated():
                    hint = "an aggregate stands in the items, in HAVING and in ORDER BY"
                    problems.append(_refused(part, f"{part.function} cannot stand here", hint))
                    return _NULL
                case rows.Framed():
                    hint = "in MEASURES and DEFINE it can: the frame is one of the partition's rows"
                    problems.append(_refused(part, f"{part.function} OVER (...) cannot stand here", hint))
                    return _NULL
                case rows.Navigate() | rows.MatchTime() | rows.Classifier() | rows.MatchNumber():
                    hint = "make it a measure: MEASURES CLASSIFIER() AS variable"
                    problems.append(_refused(part, "what speaks of a match stands in MEASURES and DEFINE", hint))
                    return _NULL
            return None

        over = ast.replaced(e, by)
        if problems:
            raise QueryError(self._text, problems)
        return over

    def _attribute(self, part: ast.Attribute, problems: list[Problem]) -> ast.Expression:
        named = [p for p in self.parts if part.variable.upper() in p.names]
        if named:
            return self._column(part.name, part, named, problems)
        written = self._text[part.span.start :][: len(part.variable)]
        if any(p.columns.find(written) is not None for p in self.parts):
            return ast.Field(self._column(written, part, self.parts, problems), part.name, span=part.span)
        problems.extend(self._unknown_table(part.variable, part).problems)
        return _NULL

    def _column(
        self, name: str, where: ast.Expression, parts: Sequence[Part], problems: list[Problem]
    ) -> ast.Expression:
        if name in self.table.column_names and name.startswith("\0"):
            return ast.Name(name, span=where.span)  # a column that was made for this query
        found = [(p, column) for p in parts if (column := p.columns.find(name)) is not None]
        if len(found) == 1:
            part, column = found[0]
            return ast.Name(part.prefix + column, span=where.span)
        if found:
            tables = " or ".join(f"{min(p.names, default='?')}.{column}" for p, column in found)
            hint = "write the name of its table before it"
            problems.append(Problem(ProblemKind.NAME, f"'{name}' may be {tables}", where.span, hint))
        else:
            every = parts[0].columns if len(parts) == 1 else ColumnNames(n for p in parts for n in p.columns.names)
            problems.append(every.problem(name, where.span))
        return ast.Name(name, span=where.span)

    def _unknown_table(self, name: str, where: ast.Node) -> QueryError:
        tables = sorted(n for p in self.parts for n in p.names)
        known = f"the table is {listed(tables)}" if len(tables) == 1 else f"the tables are {listed(tables)}"
        hint = did_you_mean(name, tables) or (known if tables else None)
        return QueryError(self._text, [Problem(ProblemKind.NAME, f"unknown table '{name}'", where.span, hint)])


_NULL = ast.Literal(None, ast.LiteralType.NULL)


def _refused(part: ast.Expression, message: str, hint: str) -> Problem:
    return Problem(ProblemKind.SCOPE, message, part.span, hint)
