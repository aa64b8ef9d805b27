"""Reads the SQL around the clause: items, one table, rows or a query, WHERE, ORDER BY and LIMIT."""

from __future__ import annotations

from ensue.errors import ProblemKind
from ensue.language import ast
from ensue.language.parser import decode
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.clause_reader import ClauseReader
from ensue.row_patterns.sql_expressions import variable_of
from ensue.row_patterns.sql_words import NO_ALIAS

_ELSEWHERE = "take the rows of the clause to DuckDB or Polars for that: ensue.sql(...).to_arrow()"
#: What follows a FROM in other systems, and not here.
_NOT_HERE = {
    **dict.fromkeys(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", ","), "joins"),
    "GROUP": "GROUP BY",
    "HAVING": "HAVING",
    **dict.fromkeys(("UNION", "EXCEPT", "INTERSECT"), "sets of queries"),
    "WINDOW": "windows",
    "QUALIFY": "QUALIFY",
}


def parse_select(text: str | bytes) -> tuple[str, rows.Select]:
    """The text as it was understood, and its tree.

    >>> _, select = parse_select("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY v PATTERN (A B+?) DEFINE B AS v > A.v)")
    >>> select.source.clause.pattern.parts[1]
    Quantified(body=Variable(name='B'), low=1, high=None, greedy=False)
    """
    text = decode(text)
    reader = SelectReader(text)
    select = reader.select()
    reader.took(";")
    if reader.here.kind != "end":
        reader.refuse_rest()
    return text, select


class SelectReader(ClauseReader):
    """Reads a whole query."""

    def select(self) -> rows.Select:
        start = self.here
        named: list[tuple[str, rows.Select]] = []
        if self.took("WITH"):
            named.extend(self.several(self._named_query))
        self._nested += 4
        if self._nested > 40:
            self.refuse("the queries nest too deep here", start.span, kind=ProblemKind.UNSUPPORTED)
        self.take("SELECT", hint="a query reads SELECT * FROM t MATCH_RECOGNIZE (... PATTERN (A B+) ...)")
        distinct = self.took("DISTINCT")
        items = self.several(self._item)
        self.take("FROM")
        source = self._source()
        where = self.expression() if self.took("WHERE") else None
        if self.here.word in _NOT_HERE:
            self.refuse_rest()
        order: tuple[rows.SortKey, ...] = ()
        if self.took("ORDER"):
            self.take("BY")
            order = self.several(self.sort_key)
        limit = self._number() if self.took("LIMIT") else None
        offset = self._number() if self.took("OFFSET") else 0
        self._nested -= 4
        return rows.Select(
            items, source, where, order, limit, offset, distinct, tuple(named), span=self.span_from(start)
        )

    def refuse_rest(self) -> None:
        """Refuses what stands here: by its name, if SQL has it."""
        what = _NOT_HERE.get(self.here.word)
        if what is None:
            self.unexpected("the end of the query")
        message = f"{what} around MATCH_RECOGNIZE are left to other engines" if what.islower() else f"{what} is left to"
        message = message if what.islower() else f"{what} around MATCH_RECOGNIZE is left to other engines"
        self.refuse(message, self.here.span, _ELSEWHERE, ProblemKind.UNSUPPORTED)

    def _named_query(self) -> tuple[str, rows.Select]:
        name = self.name("the name of a query")
        self.take("AS", "(")
        query = self.select()
        self.take(")")
        return variable_of(name), query

    def _number(self) -> int:
        if self.here.kind != "integer":
            self.unexpected("a whole number")
        literal = self._integer()
        assert isinstance(literal, ast.Literal)
        assert isinstance(literal.value, int)
        return literal.value

    def _item(self) -> rows.Item:
        start = self.here
        if self.took("*"):
            return rows.Item(None, span=start.span)
        if start.is_name and self.ahead().word == "." and self.ahead(2).word == "*":
            table = variable_of(self.step())
            self.take(".", "*")
            return rows.Item(None, star_of=table, span=self.span_from(start))
        expression = self.expression()
        alias = None
        if self.took("AS") or (self.here.is_name and self.here.word not in NO_ALIAS):
            alias = self.name().value
        return rows.Item(expression, alias, span=self.span_from(start))

    def _source(self) -> rows.Source:
        start = self.here
        table = self._table()
        alias, columns = self._alias()
        clause = self.clause() if self.sees("MATCH_RECOGNIZE") else None
        result, result_columns = self._alias() if clause is not None else (None, ())
        if self.here.word in _NOT_HERE and self.here.word not in ("GROUP", "HAVING"):
            self.refuse_rest()
        if self.sees("MATCH_RECOGNIZE"):
            self.refuse(
                "a second clause on one table", self.here.span, "put the first one into a query: FROM (SELECT ...)"
            )
        return rows.Source(table, alias, columns, clause, result, result_columns, span=self.span_from(start))

    def _table(self) -> rows.NamedTable | rows.ValuesTable | rows.Select:
        start = self.here
        if not self.took("("):
            name = self.name("a table, (VALUES ...) or (SELECT ...)")
            return rows.NamedTable(name.value, span=name.span)
        if self.took("VALUES"):
            values = rows.ValuesTable(self.several(self._row), span=self.span_from(start))
            self.take(")")
            return values
        if self.sees("SELECT") or self.sees("WITH"):
            query = self.select()
            self.take(")")
            return query
        inner = self._table()
        self.take(")")
        return inner

    def _row(self) -> rows.ValuesRow:
        start = self.here
        if not self.took("("):
            return rows.ValuesRow((self.expression(),), span=self.span_from(start))
        values = self.several(self.expression)
        self.take(")")
        return rows.ValuesRow(values, span=self.span_from(start))

    def _alias(self) -> tuple[str | None, tuple[str, ...]]:
        if not self.took("AS") and not (self.here.is_name and self.here.word not in NO_ALIAS):
            return None, ()
        alias = variable_of(self.name("an alias"))
        if not self.took("("):
            return alias, ()
        columns = self.several(lambda: self.name("a column").value)
        self.take(")")
        return alias, columns
