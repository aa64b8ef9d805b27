"""Reads the expressions of SQL into the expressions of the language, with the parts that speak of a match."""

from __future__ import annotations

from decimal import Decimal

from ensue.errors import ProblemKind, did_you_mean
from ensue.language import ast
from ensue.row_patterns.sql_calls import CallReader
from ensue.row_patterns.sql_tokens import Token, variable_of
from ensue.row_patterns.sql_words import NO_FIXED_LENGTH, RESERVED

#: How deep parentheses may nest, and how deep an expression may be.
MOST_NESTED, DEEPEST = 60, 200
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POSTFIX = range(1, 9)
_INFIX = {
    "OR": _OR,
    "AND": _AND,
    **dict.fromkeys(("=", "<>", "!=", "<", "<=", ">", ">=", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "BETWEEN"), _COMPARE),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
    **dict.fromkeys(("::", "["), _POSTFIX),
}
_AFTER_NOT = ("IN", "LIKE", "ILIKE", "RLIKE", "BETWEEN")
_FALSE = ast.Literal(False, ast.LiteralType.BOOLEAN)


class ExpressionReader(CallReader):
    """Reads expressions by their precedence, the loosest first: OR, AND, NOT, comparisons, sums, products, signs."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nested = 0

    def expression(self) -> ast.Expression:
        found = self._above(_OR)
        level: list[ast.Node] = [found]
        for _ in range(DEEPEST):
            level = [child for node in level for child in ast.children(node)]
            if not level:
                return found
        self.refuse(f"the expression nests more than {DEEPEST} deep here", level[0].span, kind=ProblemKind.UNSUPPORTED)

    def _above(self, least: int) -> ast.Expression:
        start = self.here
        self._nested += 1
        if self._nested > MOST_NESTED:
            message = f"the expression nests more than {MOST_NESTED} deep here"
            self.refuse(message, start.span, kind=ProblemKind.UNSUPPORTED)
        left = self._prefix()
        while True:
            negated = self.here.word == "NOT" and self.ahead().word in _AFTER_NOT
            word = self.ahead().word if negated else self.here.word
            power = _INFIX.get(word)
            if self.sees("AT", "TIME", "ZONE"):
                word, power = "AT", _POSTFIX
            if power is None or power < least:
                self._nested -= 1
                return left
            if negated:
                self.step()
            left = self._infix(left, word, power, negated, start)

    def _prefix(self) -> ast.Expression:
        start = self.here
        if self.took("NOT"):
            return ast.Unary("NOT", self._above(_NOT), span=self.span_from(start))
        if self.took("-"):
            return ast.Unary("-", self._above(_SIGN), span=self.span_from(start))
        if self.took("+"):
            return self._above(_SIGN)
        return self._value()

    def _infix(self, left: ast.Expression, word: str, power: int, negated: bool, start: Token) -> ast.Expression:
        if word == "AT":
            self.take("AT", "TIME", "ZONE")
            zone = self.step() if self.here.kind == "string" else self.unexpected("a time zone as a string")
            return ast.AtTimeZone(left, zone.value, span=self.span_from(start))
        self.step()
        match word:
            case "IS":
                return self._is(left, start)
            case "IN":
                self.take("(")
                options = (self._selected(),) if self.sees("SELECT") else self.several(self.expression)
                self.take(")")
                return ast.InList(left, options, negated, span=self.span_from(start))
            case "BETWEEN":
                low = self._above(_SUM)
                self.take("AND", hint="write x BETWEEN 1 AND 2")
                return ast.Between(left, low, self._above(_SUM), negated, span=self.span_from(start))
            case "LIKE" | "ILIKE":
                pattern = self._above(_SUM)
                return ast.Like(left, pattern, negated, word == "ILIKE", span=self.span_from(start))
            case "RLIKE":
                found = ast.Call("regexp_matches", (left, self._above(_SUM)), span=self.span_from(start))
                return ast.Unary("NOT", found, span=found.span) if negated else found
            case "::":
                return self._cast(left, start)
            case "[":
                index = self.expression()
                self.take("]")
                return ast.Element(left, index, span=self.span_from(start))
        symbol = "<>" if word == "!=" else word
        return ast.Binary(symbol, left, self._above(power + 1), span=self.span_from(start))

    def _is(self, left: ast.Expression, start: Token) -> ast.Expression:
        negated = self.took("NOT")
        if self.took("NULL"):
            return ast.IsNull(left, negated, span=self.span_from(start))
        if self.sees_one_of(("TRUE", "FALSE")):
            condition = left if self.step().word == "TRUE" else ast.Unary("NOT", left, span=left.span)
            found: ast.Expression = ast.Call("coalesce", (condition, _FALSE), span=self.span_from(start))
        else:
            self.take("DISTINCT", "FROM", hint="IS is followed by NULL, TRUE, FALSE or DISTINCT FROM")
            right, negated = self._above(_SUM), not negated
            span = self.span_from(start)
            equal = ast.Call("coalesce", (ast.Binary("=", left, right, span=span), _FALSE), span=span)
            both = ast.Binary(
                "AND", ast.IsNull(left, False, span=left.span), ast.IsNull(right, False, span=right.span), span=span
            )
            found = ast.Binary("OR", equal, both, span=span)
        return ast.Unary("NOT", found, span=found.span) if negated else found

    # -- values

    def _value(self) -> ast.Expression:
        start = self.here
        match start.kind:
            case "integer":
                return self._integer()
            case "decimal":
                self.step()
                return ast.Literal(float(start.text), ast.LiteralType.FLOAT, span=start.span)
            case "string":
                self.step()
                return ast.Literal(start.value, ast.LiteralType.STRING, span=start.span)
        if self.took("("):
            found = self._selected() if self.sees("SELECT") else self.expression()
            if self.sees(","):
                self.unexpected("')'", "rows are no values here")
            self.take(")")
            return found
        if start.kind == "name":
            special = self._special(start)
            if special is not None:
                return special
        if not start.is_name or start.word in RESERVED:
            self.unexpected("an expression")
        if start.kind == "name" and self.ahead().word == "(":
            return self._call()
        return self._column()

    def _selected(self) -> ast.Expression:
        """The one value of a query without a table, which is always one row."""
        self.take("SELECT")
        found = self.expression()
        if self.sees("FROM"):
            hint = "join the table around the clause, or give the value as a column"
            self.refuse("a query over a table is no value here", self.here.span, hint, ProblemKind.UNSUPPORTED)
        return found

    def _integer(self) -> ast.Expression:
        token = self.step()
        digits = token.text.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) >= 2**63:
            self.refuse("the number does not fit 64 bits", token.span)
        return ast.Literal(int(digits), ast.LiteralType.INTEGER, span=token.span)

    def _special(self, start: Token) -> ast.Expression | None:
        """A value that begins with a keyword, if this is one."""
        if start.word in ("TRUE", "FALSE"):
            self.step()
            return ast.Literal(start.word == "TRUE", ast.LiteralType.BOOLEAN, span=start.span)
        if start.word == "NULL":
            self.step()
            return ast.Literal(None, ast.LiteralType.NULL, span=start.span)
        if start.word == "CASE":
            return self._case()
        if start.word == "EXISTS" and self.ahead().word == "(":
            self.take("EXISTS", "(")
            self._selected()
            self.take(")")
            return ast.Literal(True, ast.LiteralType.BOOLEAN, span=self.span_from(start))
        if start.word in ("DATE", "TIMESTAMP") and self.ahead().kind == "string":
            return self._instant(start)
        if start.word == "INTERVAL" and self.ahead().kind in ("string", "integer", "decimal"):
            return self._interval()
        if start.word in ("RUNNING", "FINAL") and self.ahead().kind == "name":
            return self._with_semantics()
        return None

    def _column(self) -> ast.Expression:
        start = self.step()
        if not (self.sees(".") and self.ahead().is_name):
            return ast.Name(start.value, span=start.span)
        self.step()
        found: ast.Expression = ast.Attribute(variable_of(start), self.step().value, span=self.span_from(start))
        while self.sees(".") and self.ahead().is_name:
            self.step()
            found = ast.Field(found, self.step().value, span=self.span_from(start))
        return found

    def _case(self) -> ast.Expression:
        start = self.take("CASE")
        operand = None if self.sees("WHEN") else self.expression()
        parts: list[ast.Expression] = []
        while not parts or self.sees("WHEN"):
            self.take("WHEN")
            parts.append(self.expression())
            self.take("THEN")
            parts.append(self.expression())
        otherwise = self.expression() if self.took("ELSE") else None
        self.take("END")
        return ast.Case(operand, tuple(parts), otherwise, span=self.span_from(start))

    def _instant(self, start: Token) -> ast.Expression:
        self.step()
        text = self.step()
        literal = ast.Literal(text.value, ast.LiteralType.STRING, span=text.span)
        found = ast.Call("timestamp", (literal,), span=self.span_from(start))
        return ast.Call("date", (found,), span=found.span) if start.word == "DATE" else found

    def _interval(self) -> ast.Expression:
        start = self.step()
        return ast.DurationLiteral(self._length(start), span=self.span_from(start))

    def _length(self, start: Token) -> ast.Duration:
        """The length behind INTERVAL: '1' HOUR, 1 HOUR, '1 hour 30 minutes'."""
        token = self.step()
        words = token.value.split()
        if len(words) == 1:
            unit = self.name("a unit of time")
            words.append(unit.value)
            if self.sees("TO"):
                self.refuse("an interval has one unit here", self.here.span, "write INTERVAL '90' MINUTE")
        total = 0
        if len(words) % 2 or not words:
            self.refuse(f"'{token.value}' is no interval", token.span, "write INTERVAL '90' MINUTE")
        for amount, unit_name in zip(words[::2], words[1::2], strict=True):
            unit_word = unit_name.lower()
            if unit_word in NO_FIXED_LENGTH:
                hint = "write days: INTERVAL '30' DAY"
                self.refuse("months and years have no fixed length", self.span_from(start), hint)
            per_unit = {**ast.UNITS, "week": "w", "weeks": "w"}.get(unit_word)
            if per_unit is None:
                hint = did_you_mean(unit_word, ast.UNITS) or "units are second, minute, hour, day and week"
                self.refuse(f"unknown unit of time '{unit_name}'", self.span_from(start), hint)
            try:
                exact = Decimal(amount) * (7 * ast.NANOSECONDS["d"] if per_unit == "w" else ast.NANOSECONDS[per_unit])
                whole = int(exact)
            except (ArithmeticError, ValueError):
                self.refuse(f"'{token.value}' is no interval", token.span, "write INTERVAL '90' MINUTE")
            if whole != exact or abs(whole) >= 2**63:
                self.refuse("an interval is of whole nanoseconds, and of 64 bits", token.span)
            total += whole
        largest = next(u for u in ("d", "h", "min", "s", "ms", "us", "ns") if total % ast.NANOSECONDS[u] == 0)
        return ast.Duration(Decimal(total // ast.NANOSECONDS[largest]), largest, span=self.span_from(start))
