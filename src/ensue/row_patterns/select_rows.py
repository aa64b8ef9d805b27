"""Evaluates the SQL around the clause: the table, the clause, WHERE, the items, ORDER BY and LIMIT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import as_type, plain
from ensue.data.events import integers, one_chunk
from ensue.data.partitions import key_codes
from ensue.data.schema import Kind, value_type
from ensue.errors import Problem, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.logic.functions import common_type
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.check_clause import check_clause
from ensue.row_patterns.match_terms import CheckedClause, OrderKey
from ensue.row_patterns.ordered_rows import Integers, ranks_of
from ensue.row_patterns.outer_expressions import OuterScope

#: Gives the rows of a checked clause over a table.
Recognize = Callable[[CheckedClause, pa.Table], pa.Table]


@dataclass(frozen=True)
class Selecting:
    """Evaluates the queries of one text. `tables` are those that were given, by their names in capitals."""

    text: str
    tables: Mapping[str, pa.Table]
    recognize: Recognize

    def select(self, select: rows.Select) -> pa.Table:
        """The rows of a query."""
        tables = dict(self.tables)
        for name, query in select.named:
            tables[name.upper()] = Selecting(self.text, tables, self.recognize).select(query)
        inner = Selecting(self.text, tables, self.recognize)
        table, names = inner._source(select.source)
        scope = OuterScope(self.text, table, names)
        if select.where is not None:
            kept = table.filter(scope.condition(select.where))
            scope = OuterScope(self.text, kept, names)
        found = self._items(select, scope)
        order = self._order(select, scope, found)
        if order is not None:
            found = found.take(integers(order))
        if select.distinct:
            found = self._distinct(select, found)
        length = len(found) if select.limit is None else select.limit
        return found.slice(select.offset, length)

    # -- FROM

    def _source(self, source: rows.Source) -> tuple[pa.Table, list[str]]:
        """The rows of FROM, and the names by which the table may be called."""
        table = self._renamed(source, self._table(source.table), source.columns)
        names = [source.table.name] if isinstance(source.table, rows.NamedTable) else []
        names = [source.alias] if source.alias is not None else names
        if source.clause is None:
            return table, names
        alias = names[0] if names else None
        checked = check_clause(source.clause, self.text, table.schema, alias=alias, nulls_first=False)
        found = self._renamed(source, self.recognize(checked, table), source.result_columns)
        return found, [source.result] if source.result is not None else names

    def _renamed(self, source: rows.Source, table: pa.Table, columns: tuple[str, ...]) -> pa.Table:
        if not columns:
            return table
        if len(columns) != table.num_columns:
            message = f"{len(columns)} names for {table.num_columns} columns"
            raise self._error(source, message, f"the columns are {listed(table.column_names)}")
        return table.rename_columns(list(columns))

    def _table(self, table: rows.NamedTable | rows.ValuesTable | rows.Select) -> pa.Table:
        if isinstance(table, rows.Select):
            return self.select(table)
        if isinstance(table, rows.ValuesTable):
            return self._values(table)
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
        one = OuterScope(self.text, pa.table({"\0": pa.nulls(1)}), ())
        columns = {}
        for i in range(width):
            given = [row.values[i] for row in written]
            parts = [one_chunk_of(one.value(e)) for e in given]
            kinds = {value_type(p.type).kind for p in parts} - {Kind.NULL}
            if len(kinds) > 1 and not all(k.numeric for k in kinds):
                raise self._error(given[0], f"the values of one column are of type {listed(sorted(kinds))}")
            type_ = common_type([value_type(p.type) for p in parts]).arrow
            column = pa.concat_arrays([as_type(plain(p), type_) for p in parts])
            columns[f"col{i + 1}"] = as_type(column, pa.date32()) if all(map(_is_date, given)) else column
        return pa.table(columns)

    # -- items, order

    def _items(self, select: rows.Select, scope: OuterScope) -> pa.Table:
        names: list[str] = []
        columns: list[pa.Array | pa.ChunkedArray] = []
        for item in select.items:
            if item.expression is None:
                if item.star_of is not None and not scope.is_table(item.star_of):
                    raise scope.unknown_table(item.star_of, item)
                names.extend(scope.table.column_names)
                columns.extend(scope.table.columns)
            else:
                names.append(item.alias or scope.name_of(item.expression))
                columns.append(scope.value(item.expression))
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            hint = "name one of them otherwise with AS"
            raise self._error(select.items[0], f"two columns of the result are named {listed(twice)}", hint)
        return pa.Table.from_arrays(columns, names=names)

    def _order(self, select: rows.Select, scope: OuterScope, found: pa.Table) -> Integers | None:
        if not select.order:
            return None
        keys = [self._order_key(key, scope, found) for key in select.order]
        return np.lexsort(keys[::-1])

    def _order_key(self, key: rows.SortKey, scope: OuterScope, found: pa.Table) -> Integers:
        e = key.expression
        shown = {name.lower(): name for name in found.column_names}
        if isinstance(e, ast.Literal) and isinstance(e.value, int) and not isinstance(e.value, bool):
            if not 1 <= e.value <= found.num_columns:
                raise self._error(key, f"there is no item {e.value}", f"the items are 1 to {found.num_columns}")
            column = found.column(e.value - 1)
        elif isinstance(e, ast.Name) and e.name.lower() in shown:
            column = found.column(shown[e.name.lower()])
        else:
            column = scope.value(e)
        if value_type(column.type).kind.nested:
            raise self._error(key, f"rows cannot be ordered by values of type {column.type}")
        nulls_first = bool(key.nulls_first)
        return ranks_of(one_chunk_of(column), OrderKey("", key.descending, nulls_first))

    def _distinct(self, select: rows.Select, found: pa.Table) -> pa.Table:
        nested = [f.name for f in found.schema if value_type(f.type).kind.nested]
        if nested:
            raise self._error(select.items[0], f"DISTINCT cannot compare the values of {listed(nested)}")
        codes = key_codes([one_chunk(c) for c in found.columns])
        first = np.sort(np.unique(codes, return_index=True)[1])
        return found.take(integers(first))

    def _error(
        self, where: ast.Node, message: str, hint: str | None = None, kind: ProblemKind = ProblemKind.SCOPE
    ) -> QueryError:
        return QueryError(self.text, [Problem(kind, message, where.span, hint)])


def one_chunk_of(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return one_chunk(column) if isinstance(column, pa.ChunkedArray) else column


def _is_date(e: ast.Expression) -> bool:
    """Whether this is DATE '2020-01-31', or NULL."""
    if isinstance(e, ast.Literal):
        return e.value is None
    return isinstance(e, ast.Call) and e.function == "date"
