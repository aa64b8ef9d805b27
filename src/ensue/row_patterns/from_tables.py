"""What FROM gives: tables, VALUES, queries and pairs of their rows, with the rows of the clause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type, plain
from ensue.data.events import integers
from ensue.data.schema import Kind, value_type
from ensue.errors import Problem, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.logic.functions import common_type
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.check_clause import COMPUTED, check_clause
from ensue.row_patterns.grouping import one_chunk_of
from ensue.row_patterns.match_terms import CheckedClause
from ensue.row_patterns.outer_expressions import OuterScope, Part

#: Gives the rows of a checked clause over a table.
Recognize = Callable[[CheckedClause, pa.Table], pa.Table]
#: The most pairs of rows that a join looks at.
MOST_PAIRS = 1 << 26


@dataclass(frozen=True)
class FromTables:
    """Evaluates FROM. `tables` are those that were given, by their names in capitals; `select` evaluates a query."""

    text: str
    tables: Mapping[str, pa.Table]
    recognize: Recognize
    select: Callable[[rows.Select], pa.Table]

    def scope(self, select: rows.Select) -> OuterScope:
        """The rows of FROM, and by which names their columns may be called."""
        if not select.joins:
            table, names = self._source(select.source)
            return OuterScope(self.text, table, [Part.of(names, table.column_names)])
        parts: list[Part] = []
        joined: pa.Table | None = None
        for i, join in enumerate((rows.Join(select.source), *select.joins)):
            table, names = self._source(join.source)
            parts.append(Part.of(names, table.column_names, f"\0{i}."))
            table = table.rename_columns([f"\0{i}.{c}" for c in table.column_names])
            joined = table if joined is None else self._pairs(joined, table, join)
            if join.condition is not None:
                scope = OuterScope(self.text, joined, parts)
                joined = scope.filtered(scope.condition(join.condition, "ON")).table
        assert joined is not None
        return OuterScope(self.text, joined, parts)

    def _pairs(self, left: pa.Table, right: pa.Table, join: rows.Join) -> pa.Table:
        if len(left) * len(right) > MOST_PAIRS:
            message = (
                f"the join looks at {len(left) * len(right):,} pairs of rows, and at most {MOST_PAIRS:,} are tried"
            )
            hint = "take the rows of the clause to DuckDB or Polars for that: ensue.sql(...).to_arrow()"
            raise self._error(join, message, hint, ProblemKind.UNSUPPORTED)
        one = integers(np.repeat(np.arange(len(left)), len(right)))
        other = integers(np.tile(np.arange(len(right)), len(left)))
        columns = [*left.take(one).columns, *right.take(other).columns]
        return pa.Table.from_arrays(columns, names=[*left.column_names, *right.column_names])

    # -- one source

    def _source(self, source: rows.Source) -> tuple[pa.Table, list[str]]:
        """The rows, and the names by which the table may be called."""
        table = self._renamed(source, self._table(source.table), source.columns)
        names = [source.table.name] if isinstance(source.table, rows.NamedTable) else []
        names = [source.alias] if source.alias is not None else names
        if source.clause is None:
            return table, names
        alias = names[0] if names else None
        clause, table = self._with_keys(source.clause, table, names)
        checked = check_clause(clause, self.text, table.schema, alias=alias, nulls_first=False)
        found = self._renamed(source, self.recognize(checked, table), source.result_columns)
        return found, [source.result] if source.result is not None else names

    def _with_keys(
        self, clause: rows.MatchRecognize, table: pa.Table, names: list[str]
    ) -> tuple[rows.MatchRecognize, pa.Table]:
        """The clause with columns for the keys that are computed, and the table with these columns."""
        scope = OuterScope(self.text, table, [Part.of(names, table.column_names)])

        def column(e: ast.Expression, name: str) -> ast.Expression:
            nonlocal table
            table = table.append_column(name, scope.value(e))
            return ast.Name(name, span=e.span)

        partition = tuple(
            e if is_column(e) else column(e, " ".join(self.text[e.span.start : e.span.end].split()))
            for e in clause.partition
        )
        order = tuple(
            k if is_column(k.expression) else replace(k, expression=column(k.expression, f"{COMPUTED}{i}"))
            for i, k in enumerate(clause.order)
        )
        return replace(clause, partition=partition, order=order), table

    def _renamed(self, source: rows.Source, table: pa.Table, columns: tuple[str, ...]) -> pa.Table:
        if not columns:
            return table
        if len(columns) != table.num_columns:
            message = f"{len(columns)} names for {table.num_columns} columns"
            raise self._error(source, message, f"the columns are {listed(table.column_names)}")
        return table.rename_columns(list(columns))

    def _table(self, table: rows.Table | rows.Select) -> pa.Table:
        match table:
            case rows.Select():
                return self.select(table)
            case rows.ValuesTable():
                return self._values(table)
            case rows.UnionOf():
                return self._union(table)
        found = self.tables.get(table.name.upper())
        if found is None:
            hint = did_you_mean(table.name, self.tables) or f"give it: ensue.sql(text, {table.name}=events)"
            raise self._error(table, f"no table '{table.name}' was given", hint, ProblemKind.NAME)
        return found

    def _values(self, table: rows.ValuesTable) -> pa.Table:
        """VALUES as a table, whose columns are named col1, col2, ..."""
        written = [row for row in table.rows if isinstance(row, rows.ValuesRow)]
        width = len(written[0].values)
        for row in written:
            if len(row.values) != width:
                raise self._error(row, f"this row has {len(row.values)} values, and the first one {width}")
        one = OuterScope(self.text, pa.table({"\0": pa.nulls(1)}), [Part.of((), ())])
        columns = {}
        for i in range(width):
            given = [row.values[i] for row in written]
            column = self._joined([one_chunk_of(one.value(e)) for e in given], given[0])
            columns[f"col{i + 1}"] = as_type(column, pa.date32()) if all(map(_is_date, given)) else column
        return pa.table(columns)

    def _union(self, union: rows.UnionOf) -> pa.Table:
        """The rows of several queries, by the place of their columns, under the names of the first."""
        found = [self.select(part) for part in union.parts]
        for part, table in zip(union.parts, found, strict=True):
            if table.num_columns != found[0].num_columns:
                message = f"this query has {table.num_columns} columns, and the first one {found[0].num_columns}"
                raise self._error(part, message)
        names = found[0].column_names
        columns = [self._joined([one_chunk_of(t.column(i)) for t in found], union) for i in range(len(names))]
        return pa.Table.from_arrays(columns, names=names)

    def _joined(self, arrays: list[pa.Array], where: ast.Node) -> pa.Array:
        """Columns one behind the other, in the type that holds all of them."""
        if len({a.type for a in arrays}) == 1:
            return plain(pa.concat_arrays(arrays)) if pa.types.is_integer(arrays[0].type) else pa.concat_arrays(arrays)
        kinds = {value_type(a.type).kind for a in arrays} - {Kind.NULL}
        if len(kinds) > 1 and not all(k.numeric for k in kinds):
            raise self._error(where, f"the values of one column are of type {listed(sorted(kinds))}")
        type_ = common_type([value_type(a.type) for a in arrays]).arrow
        return pa.concat_arrays([as_type(plain(a), type_) for a in arrays])

    def _error(
        self, where: ast.Node, message: str, hint: str | None = None, kind: ProblemKind = ProblemKind.SCOPE
    ) -> QueryError:
        return QueryError(self.text, [Problem(kind, message, where.span, hint)])


def is_column(e: ast.Expression) -> bool:
    """Whether the key is a column as it is."""
    return isinstance(e, ast.Name | ast.Attribute)


def _is_date(e: ast.Expression) -> bool:
    """Whether this is DATE '2020-01-31', or NULL."""
    if isinstance(e, ast.Literal):
        return e.value is None
    return isinstance(e, ast.Call) and e.function == "date"
