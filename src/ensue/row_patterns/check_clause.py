"""Checks a clause over a table: every name, every type, and what the standard allows; all problems in one report."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from ensue.data.schema import BOOLEAN, Kind, Schema
from ensue.errors import Problem, ProblemKind, QueryError, did_you_mean, listed
from ensue.language import ast
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.check_terms import TermChecker
from ensue.row_patterns.column_names import ColumnNames
from ensue.row_patterns.match_terms import NO_COLUMNS, CheckedClause, CheckedMeasure, Formula, OrderKey


def check_clause(
    clause: rows.MatchRecognize, text: str, table: pa.Schema, *, alias: str | None, nulls_first: bool
) -> CheckedClause:
    """The clause over the table with these columns; raises a QueryError with all problems.

    `nulls_first` is where NULLs go in ascending order if the text does not say it and they are the smallest; else they
    are the last in either order.
    """
    return _ClauseChecker(clause, text, Schema.of(table), alias, nulls_first).checked()


#: How the names of columns begin that are computed for ORDER BY; the result does not show them.
COMPUTED = "\0key "


class _ClauseChecker:
    def __init__(
        self, clause: rows.MatchRecognize, text: str, table: Schema, alias: str | None, nulls_first: bool
    ) -> None:
        self._clause = clause
        self._text = text
        self._table = table
        self._alias = alias
        self._nulls_first = nulls_first
        self._columns = ColumnNames(table.attributes)
        self._problems: list[Problem] = []

    def checked(self) -> CheckedClause:
        clause = self._clause
        variables = tuple(dict.fromkeys(v.name for v in ast.find(clause.pattern, rows.Variable)))
        unions = self._unions(variables)
        partition = tuple(dict.fromkeys(self._key(e, "PARTITION BY") for e in clause.partition))
        order = tuple(self._order_key(k) for k in clause.order)
        terms = TermChecker(self._text, self._table, unions, alias=self._alias, nulls_first=self._nulls_first)
        conditions = {}
        for d in clause.definitions:
            self._check_defined(d, variables, clause.definitions)
            conditions[d.variable] = terms.condition(d.condition)
        measures = [(m.name, terms.measure(self._written_out(m))) for m in clause.measures]
        self._problems.extend(terms.problems)
        self._check_skip(unions)
        self._check_exclusion()
        self._check_within(order)
        before, behind = self._shown(partition, order)
        self._check_names(before, behind)
        if self._problems:
            raise QueryError(self._text, self._problems)
        checked = [CheckedMeasure(name, f) for name, f in measures if f is not None]
        if not checked and not before and not behind:
            checked = [
                CheckedMeasure(
                    NO_COLUMNS, Formula(ast.Literal(True, ast.LiteralType.BOOLEAN), {}, BOOLEAN, "", clause.span)
                )
            ]
        return CheckedClause(
            clause.pattern,
            variables,
            unions,
            {v: f for v, f in conditions.items() if f is not None},
            partition,
            order,
            tuple(checked),
            clause.rows,
            clause.skip,
            None if clause.within is None else int(clause.within.nanoseconds()),
            behind,
            before,
            self._text,
            tuple(terms.frames),
        )

    def _refuse(
        self, where: ast.Node, message: str, hint: str | None = None, kind: ProblemKind = ProblemKind.SCOPE
    ) -> None:
        self._problems.append(Problem(kind, message, where.span, hint))

    # -- variables

    def _unions(self, variables: tuple[str, ...]) -> dict[str, frozenset[str]]:
        found = {v: frozenset((v,)) for v in variables}
        for subset in self._clause.subsets:
            if subset.name in found:
                what = "a variable of the pattern" if subset.name in variables else "another subset"
                self._refuse(subset, f"the subset '{subset.name}' has the name of {what}")
            for v in subset.variables:
                if v.name not in variables:
                    hint = did_you_mean(v.name, variables) or f"the variables of the pattern are {listed(variables)}"
                    self._refuse(v, f"'{v.name}' is no variable of the pattern", hint, ProblemKind.NAME)
            found.setdefault(subset.name, frozenset(v.name for v in subset.variables))
        return found

    def _check_defined(self, d: rows.Definition, variables: tuple[str, ...], all_: tuple[rows.Definition, ...]) -> None:
        if d.variable not in variables:
            hint = did_you_mean(d.variable, variables) or f"the variables of the pattern are {listed(variables)}"
            if any(s.name == d.variable for s in self._clause.subsets):
                hint = "a subset is defined by its variables"
            self._refuse(d, f"DEFINE of '{d.variable}', which is no variable of the pattern", hint, ProblemKind.NAME)
        if any(other.variable == d.variable for other in all_[: all_.index(d)]):
            self._refuse(d, f"a second definition of '{d.variable}'", "join the conditions with AND")

    def _check_skip(self, unions: dict[str, frozenset[str]]) -> None:
        skip = self._clause.skip
        if skip.variable is not None and skip.variable not in unions:
            hint = did_you_mean(skip.variable, unions) or f"the variables are {listed(unions)}"
            self._refuse(skip, f"SKIP to '{skip.variable}', which is no variable", hint, ProblemKind.NAME)

    def _check_exclusion(self) -> None:
        if self._clause.rows is rows.RowsPerMatch.WITH_UNMATCHED:
            for e in ast.find(self._clause.pattern, rows.Exclusion):
                hint = "show the rows and tell them by CLASSIFIER(), or leave WITH UNMATCHED ROWS out"
                self._refuse(e, "an exclusion {- -} cannot go with WITH UNMATCHED ROWS", hint)

    def _check_within(self, order: tuple[OrderKey, ...]) -> None:
        length = self._clause.within
        if length is None:
            return
        column = self._table.attributes.get(order[0].column) if order else None
        if column is None or column.kind is not Kind.TIMESTAMP:
            hint = "begin ORDER BY with a column of type timestamp or date"
            self._refuse(length, "WITHIN needs a time to measure", hint)
        if length.nanoseconds() <= 0:
            self._refuse(length, "WITHIN takes a length of more than 0")

    # -- columns

    def _column(self, where: ast.Node, name: str, table: str | None) -> str:
        if table is not None and self._alias is not None and table.upper() != self._alias.upper():
            self._refuse(where, f"unknown table '{table}'", f"the table is {self._alias}", ProblemKind.NAME)
        found = self._columns.find(name)
        if found is None:
            self._problems.append(self._columns.problem(name, where.span))
            return name
        if self._table.attributes[found].kind.nested:
            message = f"rows cannot be ordered or divided by values of type {self._table.attributes[found]}"
            self._refuse(where, message, kind=ProblemKind.TYPE)
        return found

    def _key(self, e: ast.Expression, part: str) -> str:
        """The column by which rows are divided or ordered."""
        match e:
            case ast.Name():
                return self._column(e, e.name, None)
            case ast.Attribute():
                return self._column(e, e.name, e.variable)
        self._refuse(
            e, f"{part} takes columns here", f"compute it first: FROM (SELECT *, ... AS k FROM t) ... {part} k"
        )
        return ""

    def _order_key(self, key: rows.SortKey) -> OrderKey:
        first = key.nulls_first
        if first is None:
            first = self._nulls_first and not key.descending
        return OrderKey(self._key(key.expression, "ORDER BY"), key.descending, first)

    def _written_out(self, measure: rows.Measure) -> ast.Expression:
        """The measure, with the measures before it in the place of their names."""
        measures = self._clause.measures
        before = {m.name.lower(): m for m in measures[: measures.index(measure)]}

        def by(part: ast.Expression) -> ast.Expression | None:
            if isinstance(part, rows.Navigate | rows.Aggregated):
                return part
            if not isinstance(part, ast.Name) or self._columns.find(part.name) is not None:
                return None
            named = before.get(part.name.lower())
            return None if named is None else self._written_out(named)

        return ast.replaced(measure.expression, by)

    def _shown(
        self, partition: tuple[str, ...], order: tuple[OrderKey, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns before the measures and those behind them."""
        if self._clause.rows is rows.RowsPerMatch.ONE:
            return partition, ()
        before = tuple(dict.fromkeys((*partition, *(k.column for k in order))))
        shown = [c for c in (*before, *self._table.attributes) if not c.startswith(COMPUTED)]
        before = tuple(c for c in before if c in shown)
        return before, tuple(c for c in dict.fromkeys(shown) if c not in before)

    def _check_names(self, before: tuple[str, ...], behind: tuple[str, ...]) -> None:
        names = Counter(m.name.lower() for m in self._clause.measures)
        columns = {c.lower() for c in (*before, *behind)}
        for m in self._clause.measures:
            if names[m.name.lower()] > 1:
                self._refuse(m, f"two measures are named '{m.name}'", "each measure has a name of its own")
            elif m.name.lower() in columns:
                hint = f"the result shows the column itself: name the measure otherwise, such as match_{m.name}"
                self._refuse(m, f"the measure '{m.name}' has the name of a column of the result", hint)
