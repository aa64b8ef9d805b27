"""Reads the SQL around the clause: items, tables, rows or queries, WHERE, GROUP BY, ORDER BY, LIMIT and UNION."""

from __future__ import annotations

from dataclasses import replace

from ensue.errors import ProblemKind, Span
from ensue.language import ast
from ensue.language.parser import decode
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.clause_reader import ClauseReader
from ensue.row_patterns.sql_tokens import Token, variable_of
from ensue.row_patterns.sql_words import NO_ALIAS

_ELSEWHERE = "take the rows of the clause to DuckDB or Polars for that: ensue.sql(...).to_arrow()"
#: What other systems have here.
_NOT_HERE = {
    **dict.fromkeys(("LEFT", "RIGHT", "FULL", "NATURAL"), "outer and natural joins"),
    **dict.fromkeys(("EXCEPT", "INTERSECT"), "EXCEPT and INTERSECT"),
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


def _one_row(span: Span) -> rows.Source:
    """What a query without FROM is over."""
    nothing = rows.ValuesRow((ast.Literal(None, ast.LiteralType.NULL, span=span),), span=span)
    return rows.Source(rows.ValuesTable((nothing,), span=span), columns=("\0row",), span=span)


class SelectReader(ClauseReader):
    """Reads a whole query."""

    def select(self) -> rows.Select:
        """A query with what is named before it, or several with UNION between them."""
        start = self.here
        self._nested += 4
        if self._nested > 40:
            self.refuse("the queries nest too deep here", start.span, kind=ProblemKind.UNSUPPORTED)
        named = self._several_named() if self.took("WITH") else ()
        first = self._one()
        found = self._union(first, start) if self.sees("UNION") else first
        order: tuple[rows.SortKey, ...] = ()
        if self.took("ORDER"):
            self.take("BY")
            order = self.several(self.sort_key)
        limit = self._number() if self.took("LIMIT") else None
        offset = 0
        if self.took("OFFSET"):
            offset = self._number()
            self._took_rows()
        if self.took("FETCH"):
            limit = self._fetched()
        self._nested -= 4
        span = self.span_from(start)
        return replace(found, order=order, limit=limit, offset=offset, named=named, span=span)

    def _one(self) -> rows.Select:
        start = self.here
        if self.took("FROM"):  # as DuckDB writes it
            items: tuple[rows.Item, ...] = (rows.Item(None, span=start.span),)
            distinct = False
        else:
            self.take("SELECT", hint="a query reads SELECT * FROM t MATCH_RECOGNIZE (... PATTERN (A B+) ...)")
            distinct = self.took("DISTINCT")
            items = self.several(self._item)
            if not self.sees("FROM") and all(i.expression is not None for i in items):
                span = self.span_from(start)
                return rows.Select(items, _one_row(span), distinct=distinct, span=span)
            self.take("FROM")
        source = self._source()
        joins = self._joins()
        where = self.expression() if self.took("WHERE") else None
        group: tuple[ast.Expression, ...] = ()
        if self.took("GROUP"):
            self.take("BY")
            group = self.several(self.expression)
        having = self.expression() if self.took("HAVING") else None
        if self.here.word in _NOT_HERE:
            self.refuse_rest()
        span = self.span_from(start)
        return rows.Select(items, source, joins, where, group, having, distinct=distinct, span=span)

    def _union(self, first: rows.Select, start: Token) -> rows.Select:
        parts, distinct = [first], False
        while self.took("UNION"):
            distinct = not self.took("ALL")
            parts.append(self._one())
            if distinct and self.sees("UNION", "ALL"):
                self.refuse("UNION and UNION ALL in one query", self.here.span, "put one of them into parentheses")
        union = rows.UnionOf(tuple(parts), distinct, span=self.span_from(start))
        return rows.Select((rows.Item(None, span=start.span),), rows.Source(union, span=union.span), span=union.span)

    def refuse_rest(self) -> None:
        """Refuses what stands here: by its name, if SQL has it."""
        what = _NOT_HERE.get(self.here.word)
        if what is None:
            self.unexpected("the end of the query")
        verb = "is" if what.isupper() else "are"
        message = f"{what} around MATCH_RECOGNIZE {verb} left to other engines"
        self.refuse(message, self.here.span, _ELSEWHERE, ProblemKind.UNSUPPORTED)

    def _several_named(self) -> tuple[tuple[str, rows.Select], ...]:
        return self.several(self._named_query)

    def _named_query(self) -> tuple[str, rows.Select]:
        name = self.name("the name of a query")
        columns: tuple[str, ...] = ()
        if self.took("("):
            columns = self.several(lambda: self.name("a column").value)
            self.take(")")
        self.take("AS")
        start = self.here
        table = self._table()
        source = rows.Source(table, columns=columns, span=self.span_from(start))
        every = (rows.Item(None, span=start.span),)
        query = table if isinstance(table, rows.Select) and not columns else rows.Select(every, source, span=start.span)
        return variable_of(name), query

    def _fetched(self) -> int:
        """The number of rows of FETCH FIRST 3 ROWS ONLY, which is what LIMIT 3 is in the standard."""
        if not self.took("FIRST"):
            self.take("NEXT", hint="write FETCH FIRST 3 ROWS ONLY")
        found = self._number() if self.here.kind == "integer" else 1
        self._took_rows()
        self.take("ONLY")
        return found

    def _took_rows(self) -> bool:
        return self.took("ROWS") or self.took("ROW")

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

    # -- FROM

    def _source(self) -> rows.Source:
        start = self.here
        table = self._table()
        alias, columns = self._alias()
        source = rows.Source(table, alias, columns, span=self.span_from(start))
        while self.sees("MATCH_RECOGNIZE"):
            if source.clause is not None:  # a second clause is over the rows of the first
                inner = rows.Select((rows.Item(None, span=start.span),), source, span=source.span)
                source = rows.Source(inner, source.result, span=source.span)
            clause = self.clause()
            result, result_columns = self._alias()
            span = self.span_from(start)
            source = replace(source, clause=clause, result=result, result_columns=result_columns, span=span)
        return source

    def _joins(self) -> tuple[rows.Join, ...]:
        found = []
        while self.here.word in (",", "CROSS", "INNER", "JOIN"):
            start = self.step()
            if start.word in ("CROSS", "INNER"):
                self.take("JOIN")
            source = self._source()
            condition = None
            if start.word in ("INNER", "JOIN"):
                self.take("ON", hint="write JOIN t ON m.x = t.x")
                condition = self.expression()
            found.append(rows.Join(source, condition, span=self.span_from(start)))
        return tuple(found)

    def _table(self) -> rows.Table | rows.Select:
        start = self.here
        if not self.took("("):
            name = self.name("a table, (VALUES ...) or (SELECT ...)")
            return rows.NamedTable(name.value, span=name.span)
        if self.took("VALUES"):
            values = rows.ValuesTable(self.several(self._row), span=self.span_from(start))
            self.take(")")
            return values
        if self.here.word in ("SELECT", "WITH", "FROM"):
            query = self.select()
            self.take(")")
            return query
        inner = self._table()
        self.take(")")
        return inner

    def _row(self) -> rows.ValuesRow:
        start = self.here
        if self.sees("ROW", "("):
            self.step()
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
