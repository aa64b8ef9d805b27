"""Reads what is called: functions, casts, navigation and aggregates, with what SQL writes around them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from math import inf

from ensue.errors import ProblemKind, did_you_mean, listed
from ensue.language import ast
from ensue.logic.functions import FUNCTIONS
from ensue.row_patterns import clause_ast as rows
from ensue.row_patterns.sql_tokens import Token, TokenReader, variable_of
from ensue.row_patterns.sql_words import (
    AGGREGATES,
    FIELDS,
    FRAMED,
    LISTS_TO_TEXTS,
    NAVIGATION,
    OTHER_NAMES,
    SHORTENED,
    TYPES,
)


class CallReader(TokenReader):
    """Reads calls; what stands in them is read by `expression`."""

    @abstractmethod
    def expression(self) -> ast.Expression:
        """The expression that begins here."""

    @abstractmethod
    def _column(self) -> ast.Expression:
        """The column, or the column of a variable, that begins here."""

    def sort_key(self) -> rows.SortKey:
        start = self.here
        expression = self.expression()
        descending = self.took("DESC")
        if not descending:
            self.took("ASC")
        nulls_first = None
        if self.took("NULLS"):
            nulls_first = self.took("FIRST")
            if not nulls_first:
                self.take("LAST", hint="write NULLS FIRST or NULLS LAST")
        return rows.SortKey(expression, descending, nulls_first, span=self.span_from(start))

    # -- navigation and functions

    def _with_semantics(self) -> ast.Expression:
        start = self.step()
        called = self.here
        found = self._call() if self.ahead().word == "(" else self._column()
        semantics = rows.Semantics(start.word)
        span = self.span_from(start)
        if isinstance(found, rows.Aggregated):
            return replace(found, semantics=semantics, span=span)
        if isinstance(found, rows.Navigate) and found.function in ("FIRST", "LAST"):
            return replace(found, semantics=semantics, span=span)
        hint = "it stands before FIRST, LAST and aggregates"
        if isinstance(found, ast.Attribute | ast.Name):
            hint = f"write {start.word} LAST({self.text[called.span.start : span.end]})"
        self.refuse(f"{start.word} cannot stand before this", span, hint)

    def _call(self) -> ast.Expression:
        start = self.here
        word = start.word
        if word in ("CAST", "TRY_CAST"):
            return self._cast_call()
        if word == "EXTRACT":
            return self._extract()
        self.step()
        self.take("(")
        if word == "MATCH_NUMBER":
            self.take(")")
            return rows.MatchNumber(span=self.span_from(start))
        if word == "MATCH_SEQUENCE_NUMBER":  # Snowflake's
            self.take(")")
            return rows.Aggregated("count", semantics=rows.Semantics.RUNNING, span=self.span_from(start))
        if word == "MATCH_ROWTIME":  # Flink's
            self.take(")")
            return rows.MatchTime(span=self.span_from(start))
        if word == "CLASSIFIER":
            variable = None if self.sees(")") else variable_of(self.name("a variable"))
            self.take(")")
            return rows.Classifier(variable, span=self.span_from(start))
        if word in NAVIGATION:
            argument = self.expression()
            offset = self.expression() if self.took(",") else None
            self.take(")")
            self._refuse_window()
            return rows.Navigate(NAVIGATION[word], argument, offset, span=self.span_from(start))
        function = OTHER_NAMES.get(start.text.lower(), start.text.lower())
        if function in AGGREGATES:
            found = self._with_separator(self._aggregate(start, function), word)
            return self._framed(found, start) if self.sees("OVER") else found
        arguments = () if self.sees(")") else self.several(self.expression)
        self.take(")")
        self._refuse_window()
        return self._function(start, function, arguments)

    def _function(self, start: Token, function: str, arguments: tuple[ast.Expression, ...]) -> ast.Expression:
        span = self.span_from(start)
        if function in LISTS_TO_TEXTS and len(arguments) == 2:
            gathered, separator = arguments[:: LISTS_TO_TEXTS[function]]
            if isinstance(gathered, rows.Aggregated) and gathered.function == "collect":
                return replace(gathered, function="string_agg", arguments=(*gathered.arguments, separator), span=span)
        if function == "mod":
            if len(arguments) != 2:
                self.refuse(f"mod takes 2 arguments, not {len(arguments)}", span)
            return ast.Binary("%", arguments[0], arguments[1], span=span)
        if function not in FUNCTIONS and function != "timestamp":
            known = [*FUNCTIONS, *AGGREGATES, *OTHER_NAMES, *(n.lower() for n in NAVIGATION), "classifier"]
            hint = did_you_mean(function, known) or f"functions are {listed(FUNCTIONS, 60)}"
            self.refuse(f"unknown function '{start.text}'", span, hint, ProblemKind.NAME)
        return ast.Call(function, arguments, span=span)

    # -- aggregates

    @staticmethod
    def _with_separator(e: rows.Aggregated, word: str) -> rows.Aggregated:
        """A text without a separator has that of the system whose word it is."""
        if e.function != "string_agg" or len(e.arguments) != 1:
            return e
        separator = ast.Literal("" if word == "LISTAGG" else ",", ast.LiteralType.STRING, span=e.span)
        return replace(e, arguments=(*e.arguments, separator))

    def _aggregate(self, start: Token, function: str) -> rows.Aggregated:
        distinct = self.took("DISTINCT")
        rows_of: str | None = None
        arguments: tuple[ast.Expression, ...] = ()
        if self.here.is_name and self.ahead().word == "." and self.ahead(2).word == "*":
            rows_of = variable_of(self.step())
            self.take(".", "*")
        elif not self.took("*") and not self.sees(")"):
            arguments = self.several(self.expression)
        order = self._order()
        self.take(")")
        if self.took("WITHIN", "GROUP"):
            self.take("(")
            order = self._order() or self.unexpected("ORDER")
            self.take(")")
        found = rows.Aggregated(function, arguments, distinct, rows_of, order=order, span=self.span_from(start))
        return self._filtered(found, start) if self.sees("FILTER", "(") else found

    def _order(self) -> tuple[rows.SortKey, ...]:
        if not self.took("ORDER"):
            return ()
        self.take("BY")
        return self.several(self.sort_key)

    def _filtered(self, e: rows.Aggregated, start: Token) -> rows.Aggregated:
        """The aggregate of the values of some rows: NULL stands for the others, which aggregates leave out."""
        place = self.take("FILTER")
        self.take("(", "WHERE")
        condition = self.expression()
        self.take(")")
        span = self.span_from(start)
        if e.function == "collect":
            hint = "CASE WHEN ... THEN ... END gives NULL for the other rows"
            self.refuse("FILTER is not known behind array_agg", place.span, hint, ProblemKind.UNSUPPORTED)
        if e.rows_of is not None:
            hint = f"name a column: count({e.rows_of}.x) FILTER (WHERE ...)"
            self.refuse(f"FILTER is not known behind count({e.rows_of}.*)", place.span, hint, ProblemKind.UNSUPPORTED)
        counted: ast.Expression = ast.Literal(1, ast.LiteralType.INTEGER, span=e.span)
        value = e.arguments[0] if e.arguments else counted
        kept = ast.Case(None, (condition, value), None, span=span)
        return replace(e, arguments=(kept, *e.arguments[1:]), span=span)

    def _framed(self, e: rows.Aggregated, start: Token) -> ast.Expression:
        """The aggregate over a frame of rows, which Snowflake has in conditions; other windows are refused."""
        if not self.sees("OVER", "(", "ROWS"):
            self._refuse_window()
        place = self.take("OVER", "(", "ROWS")
        high = 0.0
        if self.took("BETWEEN"):
            low = self._bound()
            self.take("AND")
            high = self._bound()
        else:
            low = self._bound()
        self.take(")")
        span = self.span_from(start)
        if low > high or low == inf or high == -inf:
            self.refuse("the frame ends before it begins", self.span_from(place))
        if e.function not in FRAMED or e.distinct or e.rows_of is not None:
            hint = f"{listed(FRAMED)} of columns can, without DISTINCT"
            self.refuse("this cannot stand before OVER (ROWS ...)", span, hint, ProblemKind.UNSUPPORTED)
        bounds = [None if abs(bound) == inf else int(bound) for bound in (low, high)]
        return rows.Framed(e.function, e.arguments, *bounds, span=span)

    def _bound(self) -> float:
        """The first or the last row of a frame, counted from the current row."""
        if self.took("CURRENT", "ROW"):
            return 0
        size = inf
        if not self.took("UNBOUNDED"):
            if self.here.kind != "integer" or len(self.here.text) > 9:
                self.unexpected("UNBOUNDED, CURRENT ROW or a number of rows")
            size = int(self.step().text)
        if self.took("PRECEDING"):
            return -size
        self.take("FOLLOWING", hint="write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")
        return size

    def _refuse_window(self) -> None:
        if self.sees("OVER"):
            hint = "MATCH_RECOGNIZE stands behind a table in FROM; its form in OVER (... PATTERN ...) is not there"
            self.refuse("window functions, and row patterns in windows, are not supported", self.here.span, hint)

    # -- types and parts of times

    def _cast_call(self) -> ast.Expression:
        start = self.step()
        self.take("(")
        operand = self.expression()
        self.take("AS")
        found = self._cast(operand, start)
        self.take(")")
        return found

    def _cast(self, operand: ast.Expression, start: Token) -> ast.Expression:
        token = self.name("a type")
        word = token.text.lower()
        if word == "double":
            self.took("PRECISION")
        length = self._length_of_type()
        if word == "date":
            instant = ast.Cast(operand, "timestamp", span=self.span_from(start))
            return ast.Call("date", (instant,), span=instant.span)
        known = TYPES.get(word)
        if known is None:
            hint = did_you_mean(word, TYPES) or f"the types are {listed(dict.fromkeys(TYPES.values()))}"
            self.refuse(f"unknown type '{token.text}'", token.span, hint, ProblemKind.TYPE)
        found = ast.Cast(operand, known, span=self.span_from(start))
        if length is None or word not in SHORTENED:
            return found
        one = ast.Literal(1, ast.LiteralType.INTEGER, span=found.span)
        return ast.Call("substr", (found, one, length), span=found.span)

    def _length_of_type(self) -> ast.Expression | None:
        """The first number in parentheses behind a type."""
        if not self.took("("):
            return None
        if self.here.kind != "integer":
            self.unexpected("a number")
        first = self.expression()
        while self.took(","):
            self.expression()
        self.take(")")
        return first

    def _extract(self) -> ast.Expression:
        start = self.step()
        self.take("(")
        field = self.name("a part of a time")
        function = FIELDS.get(field.value.lower())
        if function is None:
            hint = did_you_mean(field.value, FIELDS) or f"the parts are {listed(dict.fromkeys(FIELDS.values()), 20)}"
            self.refuse(f"unknown part of a time '{field.text}'", field.span, hint, ProblemKind.NAME)
        self.take("FROM")
        time = self.expression()
        self.take(")")
        return ast.Call(function, (time,), span=self.span_from(start))
