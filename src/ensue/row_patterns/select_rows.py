"""Evaluates the SQL around the clause: FROM, WHERE, groups, the items, ORDER BY and LIMIT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ensue.data.events import integers, one_chunk
from ensue.data.partitions import key_codes
from ensue.data.schema import value_type
from ensue.errors import Problem, ProblemKind, QueryError, listed
from ensue.language import ast
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.from_tables import FromTables, Recognize
from ensue.row_patterns.grouping import Groups, is_grouped, one_chunk_of
from ensue.row_patterns.match_terms import NO_COLUMNS, OrderKey
from ensue.row_patterns.ordered_rows import Integers, ranks_of
from ensue.row_patterns.outer_expressions import OuterScope


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
        scope = FromTables(self.text, tables, self.recognize, inner.select).scope(select)
        if select.where is not None:
            scope = scope.filtered(scope.condition(select.where))
        if is_grouped(select):
            scope, select = Groups(self.text, scope, select).grouped()
            if select.having is not None:
                scope = scope.filtered(scope.condition(select.having, "HAVING"))
        found = self._items(select, scope)
        order = self._order(select, scope, found)
        if order is not None:
            found = found.take(integers(order))
        union = select.source.table
        if select.distinct or (isinstance(union, rows.UnionOf) and union.distinct):
            found = self._distinct(select, found)
        length = len(found) if select.limit is None else select.limit
        return found.slice(select.offset, length)

    # -- items, order

    def _items(self, select: rows.Select, scope: OuterScope) -> pa.Table:
        names: list[str] = []
        columns: list[pa.Array | pa.ChunkedArray] = []
        for item in select.items:
            if item.expression is None:
                for name, own in scope.stars(item.star_of, item):
                    names.append(name)
                    columns.append(scope.table.column(own))
            else:
                names.append(item.alias or scope.name_of(item.expression))
                columns.append(scope.value(item.expression))
        if not columns:
            return pa.table({NO_COLUMNS: pa.repeat(True, len(scope.table))})
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
        return ranks_of(one_chunk_of(column), OrderKey("", key.descending, bool(key.nulls_first)))

    def _distinct(self, select: rows.Select, found: pa.Table) -> pa.Table:
        nested = [f.name for f in found.schema if value_type(f.type).kind.nested]
        if nested:
            raise self._error(select.items[0], f"DISTINCT cannot compare the values of {listed(nested)}")
        if not len(found):
            return found
        codes = key_codes([one_chunk(c) for c in found.columns])
        first = np.sort(np.unique(codes, return_index=True)[1])
        return found.take(integers(first))

    def _error(self, where: ast.Node, message: str, hint: str | None = None) -> QueryError:
        return QueryError(self.text, [Problem(ProblemKind.SCOPE, message, where.span, hint)])
