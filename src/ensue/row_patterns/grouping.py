"""Aggregates around the clause: `SELECT k, count(*) ... GROUP BY k HAVING count(*) > 1`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ensue.columns.conversions import plain
from ensue.data.events import integers, one_chunk
from ensue.data.partitions import key_codes
from ensue.data.schema import value_type
from ensue.errors import Problem, ProblemKind, QueryError
from ensue.language import ast
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.aggregate_types import takes_arguments, type_of_aggregate
from ensue.row_patterns.aggregates_of_rows import aggregates_of
from ensue.row_patterns.match_terms import Aggregate, RowValue, ValueOrder
from ensue.row_patterns.outer_expressions import OuterScope, Part

_KEY, _AGGREGATE = "\0group ", "\0aggregate "


def is_grouped(select: rows.Select) -> bool:
    """Whether the query has groups, or aggregates over all rows."""
    expressions = [i.expression for i in select.items if i.expression is not None]
    parts = [*expressions, *(k.expression for k in select.order)]
    return bool(select.group) or select.having is not None or any(map(_has_aggregate, parts))


def _has_aggregate(e: ast.Expression) -> bool:
    return any(True for _ in ast.find(e, rows.Aggregated))


@dataclass
class Groups:
    """The groups of some rows, and what is asked of them."""

    text: str
    scope: OuterScope
    select: rows.Select

    def __post_init__(self) -> None:
        self._keys = [self._key(e) for e in self.select.group]
        self._aggregates: dict[rows.Aggregated, str] = {}
        columns = [one_chunk_of(self.scope.value(k)) for k in self._keys]
        length = len(self.scope.table)
        codes = key_codes(columns) if columns and length else np.zeros(length, dtype=np.int64)
        self._order = np.argsort(codes, kind="stable")
        ordered = codes[self._order]
        cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        begins = np.concatenate([[0], cuts]) if length else np.zeros(0 if columns else 1)
        self._offsets = np.append(begins, length).astype(np.int64)
        firsts = integers(self._order[self._offsets[:-1]]) if length else integers(np.zeros(0, dtype=np.int64))
        self._columns: dict[str, pa.Array] = {f"{_KEY}{i}": c.take(firsts) for i, c in enumerate(columns)}

    def grouped(self) -> tuple[OuterScope, rows.Select]:
        """One row for each group, in the order in which they first come, and the query over these rows."""
        select = self.select
        named = [i if i.expression is None else replace(i, alias=i.alias or self._named(i)) for i in select.items]
        star = next((i for i in named if i.expression is None), None)
        if star is not None:
            raise self._error(star, "* cannot stand beside groups", "name the columns and aggregates")
        items = tuple(replace(i, expression=self._over_groups(_known(i.expression))) for i in named)
        having = None if select.having is None else self._over_groups(select.having)
        shown = {i.alias.lower() for i in named if i.alias is not None}
        order = tuple(
            k if _is_shown(k, shown) else replace(k, expression=self._over_groups(k.expression)) for k in select.order
        )
        size = len(self._offsets) - 1
        columns = self._columns or {"\0row": pa.nulls(size)}
        table = pa.table(columns)
        if len(self._order):
            first = np.minimum.reduceat(self._order, self._offsets[:-1])
            table = table.take(integers(np.argsort(first, kind="stable")))
        over = replace(select, items=items, having=having, order=order, group=())
        return OuterScope(self.text, table, [Part.of((), ())]), over

    def _named(self, item: rows.Item) -> str:
        e = _known(item.expression)
        if isinstance(e, ast.Name | ast.Attribute):
            return self.scope.name_of(e)
        return " ".join(self.text[e.span.start : e.span.end].split())

    def _key(self, e: ast.Expression) -> ast.Expression:
        """A key of GROUP BY: an expression, the number of an item, or the name of one."""
        items = self.select.items
        if isinstance(e, ast.Literal) and isinstance(e.value, int) and not isinstance(e.value, bool):
            if not 1 <= e.value <= len(items) or items[e.value - 1].expression is None:
                raise self._error(e, f"there is no item {e.value}", f"the items are 1 to {len(items)}")
            return _known(items[e.value - 1].expression)
        if isinstance(e, ast.Name) and all(p.columns.find(e.name) is None for p in self.scope.parts):
            named = [i.expression for i in items if i.alias is not None and i.alias.lower() == e.name.lower()]
            if len(named) == 1:
                return _known(named[0])
        return e

    def _over_groups(self, e: ast.Expression) -> ast.Expression:
        """The expression over the columns of the groups."""
        keys = [self.scope.over_columns(k) for k in self._keys]
        loose: list[ast.Expression] = []

        def by(part: ast.Expression) -> ast.Expression | None:
            if isinstance(part, rows.Aggregated):
                return ast.Name(self._aggregated(part), span=part.span)
            if not _has_aggregate(part) and not isinstance(part, ast.Literal):
                over = self.scope.over_columns(part)
                if over in keys:
                    return ast.Name(f"{_KEY}{keys.index(over)}", span=part.span)
            if isinstance(part, ast.Name | ast.Attribute):
                loose.append(part)
                return ast.Literal(None, ast.LiteralType.NULL, span=part.span)
            return None

        found = ast.replaced(e, by)
        if loose:
            name = self.text[loose[0].span.start : loose[0].span.end]
            hint = f"GROUP BY {name}, or max({name})"
            raise self._error(loose[0], f"'{name}' is one value for each row of a group, not for the group", hint)
        return found

    def _aggregated(self, e: rows.Aggregated) -> str:
        """The name of the column with an aggregate of each group."""
        if e in self._aggregates:
            return self._aggregates[e]
        name = self._aggregates[e] = f"{_AGGREGATE}{len(self._aggregates)}"
        if e.semantics is not None or e.rows_of is not None:
            raise self._error(e, "what speaks of a match stands in MEASURES and DEFINE", "make it a measure")
        problems: list[Problem] = []

        def refuse(where: ast.Node, message: str, hint: str | None) -> None:
            problems.append(Problem(ProblemKind.TYPE, message, where.span, hint))

        self._columns[name] = pa.nulls(len(self._offsets) - 1)
        if takes_arguments(e, refuse):
            self._columns[name] = self._column(e, refuse)
        if problems:
            raise QueryError(self.text, problems)
        return name

    def _column(self, e: rows.Aggregated, refuse: Callable[[ast.Node, str, str | None], None]) -> pa.Array:
        order = e.order if e.function in ("collect", "string_agg") else ()
        expressions = (*e.arguments, *(k.expression for k in order))
        given = [one_chunk_of(self.scope.value(a)) for a in expressions]
        values = [RowValue(a, value_type(v.type)) for a, v in zip(expressions, given, strict=True)]
        type_ = type_of_aggregate(e, [v.type for v in values[: len(e.arguments)]], refuse)
        if not e.arguments:
            return integers(np.diff(self._offsets))
        by = tuple(
            ValueOrder(v, k.descending, bool(k.nulls_first))
            for k, v in zip(order, values[len(e.arguments) :], strict=True)
        )
        term = Aggregate(e.function, tuple(values[: len(e.arguments)]), type_, distinct=e.distinct, order=by)
        needed = [v for i, v in enumerate(given) if not (e.function == "string_agg" and i == 1)]
        index = integers(self._order)
        return aggregates_of(term, [plain(v).take(index) for v in needed], self._offsets)

    def _error(self, where: ast.Node, message: str, hint: str | None = None) -> QueryError:
        return QueryError(self.text, [Problem(ProblemKind.SCOPE, message, where.span, hint)])


def one_chunk_of(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return one_chunk(column) if isinstance(column, pa.ChunkedArray) else column


def _known(e: ast.Expression | None) -> ast.Expression:
    assert e is not None
    return e


def _is_shown(key: rows.SortKey, shown: set[str]) -> bool:
    """Whether the key is the name or the number of an item."""
    e = key.expression
    return isinstance(e, ast.Literal) or (isinstance(e, ast.Name) and e.name.lower() in shown)
