"""The tree of an expression."""

from __future__ import annotations

from typing import Any as Anything

from lark import Token, Transformer_NonRecursive, v_args
from lark.tree import Meta

from ensue.errors import Span, did_you_mean, listed
from ensue.language import ast
from ensue.language.rule_support import Refused, span_of, token_span, unquoted, whole_number


@v_args(inline=True, meta=True)
class ExpressionRules(Transformer_NonRecursive):  # type: ignore[type-arg]
    """One method for each rule of section 4 of the language page."""

    def binary(self, meta: Meta, left: Anything, operator: Token, right: Anything) -> ast.Expression:
        symbol = {"!=": "<>"}.get(operator.value, operator.upper())
        return ast.Binary(symbol, left, right, span=span_of(meta))

    def unary(self, meta: Meta, operator: Token, operand: ast.Expression) -> ast.Expression:
        return ast.Unary(operator.upper(), operand, span=span_of(meta))

    def plus_sign(self, _meta: Meta, _plus: Token, operand: ast.Expression) -> ast.Expression:
        return operand

    def is_null(self, meta: Meta, operand: ast.Expression, *keywords: Token) -> ast.Expression:
        return ast.IsNull(operand, len(keywords) == 3, span=span_of(meta))

    def in_list(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        return ast.InList(operand, rest[-1], len(rest) == 3, span=span_of(meta))

    def between(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        *keywords, low, _and, high = rest
        return ast.Between(operand, low, high, len(keywords) == 2, span=span_of(meta))

    def like(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        return ast.Like(operand, rest[-1], len(rest) == 3, rest[-2].type == "ILIKE", span=span_of(meta))

    def rlike(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        found = ast.Call("regexp_matches", (operand, rest[-1]), span=span_of(meta))
        return ast.Unary("NOT", found, span=span_of(meta)) if len(rest) == 3 else found

    def integer(self, meta: Meta, token: Token) -> ast.Expression:
        return ast.Literal(whole_number(token), ast.LiteralType.INTEGER, span=span_of(meta))

    def decimal(self, meta: Meta, token: Token) -> ast.Expression:
        value = float(token)
        if value == float("inf"):
            raise Refused("the number does not fit a 64-bit float", token_span(token))
        return ast.Literal(value, ast.LiteralType.FLOAT, span=span_of(meta))

    def duration_literal(self, meta: Meta, duration: ast.Duration) -> ast.Expression:
        if duration.nanoseconds() >= 2**63:
            raise Refused("the duration does not fit 64 bits of nanoseconds, about 292 years", duration.span)
        if duration.nanoseconds().denominator != 1:
            raise Refused("a duration in an expression is a whole number of nanoseconds", duration.span)
        return ast.DurationLiteral(duration, span=span_of(meta))

    def string(self, meta: Meta, token: Token) -> ast.Expression:
        return ast.Literal(token[1:-1].replace("''", "'"), ast.LiteralType.STRING, span=span_of(meta))

    def true(self, meta: Meta, _t: Token) -> ast.Expression:
        return ast.Literal(True, ast.LiteralType.BOOLEAN, span=span_of(meta))

    def false(self, meta: Meta, _f: Token) -> ast.Expression:
        return ast.Literal(False, ast.LiteralType.BOOLEAN, span=span_of(meta))

    def null(self, meta: Meta, _n: Token) -> ast.Expression:
        return ast.Literal(None, ast.LiteralType.NULL, span=span_of(meta))

    def bare_name(self, meta: Meta, name: tuple[str, Span]) -> ast.Expression:
        return ast.Name(name[0], span=span_of(meta))

    def attribute(self, meta: Meta, *parts: Anything) -> Anything:
        # The rule `attribute` (a token after the dot) and the alternative of the same name share this method.
        if isinstance(parts[0], Token):
            return unquoted(parts[0])
        return ast.Attribute(parts[0][0], parts[1], span=span_of(meta))

    def last_of(self, meta: Meta, _l: Token, name: tuple[str, Span], attribute: str) -> ast.Expression:
        return ast.LastOf(name[0], attribute, span=span_of(meta))

    def running(self, meta: Meta, word: Token, aggregate: ast.Expression) -> ast.Expression:
        if not isinstance(aggregate, ast.Call):  # mod(a, b) is an operator
            raise Refused("RUNNING stands before an aggregate", token_span(word), "as in RUNNING sum(y.v)")
        return ast.Running(aggregate, span=span_of(meta))

    def each(self, meta: Meta, name: tuple[str, Span], condition: ast.Expression) -> ast.Expression:
        return ast.Each(name[0], over_attributes(condition), span=span_of(meta))

    def field(self, meta: Meta, of: ast.Expression, name: str) -> ast.Expression:
        return ast.Field(of, name, span=span_of(meta))

    def element(self, meta: Meta, of: ast.Expression, index: ast.Expression) -> ast.Expression:
        return ast.Element(of, index, span=span_of(meta))

    def call(self, meta: Meta, function: Token, *arguments: Anything) -> ast.Expression:
        given = arguments[0] if arguments else ()
        if function.lower() == "mod":
            if len(given) != 2:
                message = f"mod takes 2 arguments, not {len(given)}"
                raise Refused(message, span_of(meta), "mod(x.v, 3) is the same as x.v % 3")
            return ast.Binary("%", *given, span=span_of(meta))
        return ast.Call(function.lower(), given, span=span_of(meta))

    def of_matches(self, meta: Meta, function: Token, star: Token) -> ast.Expression:
        if function.lower() != "count":
            hint = "count(*) is the number of matches; other aggregates take an attribute, sum(y.v)"
            raise Refused(f"{function.lower()} takes no *", token_span(star), hint)
        return ast.Call("count", (ast.AllMatches(span=token_span(star)),), span=span_of(meta))

    def distinct(self, meta: Meta, function: Token, word: Token, argument: ast.Expression) -> ast.Expression:
        if function.lower() != "count":
            hint = "DISTINCT goes with count, as in count(DISTINCT x.v); a name is written `distinct`"
            raise Refused(f"{function.lower()} takes no DISTINCT", token_span(word), hint)
        return ast.Call(ast.COUNT_DISTINCT, (argument,), span=span_of(meta))

    def case(self, meta: Meta, _case: Token, *parts: Anything) -> ast.Expression:
        operand = parts[0] if isinstance(parts[0], ast.Expression) else None
        branches = [p for p in parts if isinstance(p, tuple) and len(p) == 2]
        otherwise = next((p[0] for p in parts if isinstance(p, tuple) and len(p) == 1), None)
        return ast.Case(operand, tuple(e for branch in branches for e in branch), otherwise, span=span_of(meta))

    def branch(
        self, _meta: Meta, _when: Token, condition: ast.Expression, _then: Token, result: ast.Expression
    ) -> tuple[ast.Expression, ...]:
        return condition, result

    def otherwise(self, _meta: Meta, _else: Token, result: ast.Expression) -> tuple[ast.Expression, ...]:
        return (result,)

    def cast(self, meta: Meta, _cast: Token, operand: ast.Expression, _as: Token, name: Token) -> ast.Expression:
        return ast.Cast(operand, _type_of_cast(name), span=span_of(meta))

    def typed(self, meta: Meta, operand: ast.Expression, _as: Token, name: Token) -> ast.Expression:
        return ast.Cast(operand, _type_of_cast(name), span=span_of(meta))

    def extract(self, meta: Meta, _e: Token, field: Token, _from: Token, time: ast.Expression) -> ast.Expression:
        function = _FIELDS.get(field.lower())
        if function is None:
            hint = did_you_mean(field, _FIELDS) or f"the fields are {listed(dict.fromkeys(_FIELDS.values()), 20)}"
            if field.lower() in ("dow", "dayofweek"):
                hint = "weekday counts from 1 for Monday to 7 for Sunday"
            raise Refused(f"unknown field of a time '{field}'", token_span(field), hint)
        return ast.Call(function, (time,), span=span_of(meta))

    def at_time_zone(
        self, meta: Meta, time: ast.Expression, _at: Token, word: Token, other: Token, zone: Token
    ) -> ast.Expression:
        if (word.upper(), other.upper()) != ("TIME", "ZONE"):
            wrong = other if word.upper() == "TIME" else word
            raise Refused(f"'{wrong}' cannot stand here", token_span(wrong), "write t AT TIME ZONE 'Europe/Madrid'")
        return ast.AtTimeZone(time, zone[1:-1].replace("''", "'"), span=span_of(meta))

    def expressions(self, _meta: Meta, *expressions: ast.Expression) -> tuple[ast.Expression, ...]:
        return expressions


def over_attributes(e: ast.Expression) -> ast.Expression:
    """The expression as it is meant where bare names are attributes: `user.id` is a field, `tags[1]` an element.

    Read before it was known where it stands, the same text is attribute `id` of a variable `user`, and `x[...]`.
    """

    def named(part: ast.Expression) -> ast.Expression | None:
        match part:
            case ast.Attribute():
                return ast.Field(_name_before(part), part.name, span=part.span)
            case ast.Each():
                return ast.Element(_name_before(part), part.condition, span=part.span)
        return None

    return ast.replaced(e, named)


def _name_before(part: ast.Attribute | ast.Each) -> ast.Name:
    """The name with which the text of the part begins."""
    start = part.span.start
    return ast.Name(part.variable, span=Span(start, start + len(part.variable)))


#: What `extract(field FROM t)` may name, and the function of that meaning.
_FIELDS: dict[str, str] = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "epoch")},
    **dict.fromkeys(("weekday", "isodow"), "weekday"),
    **dict.fromkeys(("day_of_year", "doy"), "day_of_year"),
}
#: Types of other systems, and what to write instead.
_OTHER_TYPES = {
    "date": "a day is a time at midnight: write date(t)",
    **dict.fromkeys(("decimal", "numeric", "real", "number"), "write float"),
    **dict.fromkeys(("interval", "duration"), "write 1 s * x, with the unit of x"),
    **dict.fromkeys(("smallint", "tinyint", "short", "byte"), "write integer"),
    "time": "write timestamp, or extract(hour FROM t)",
}


def _type_of_cast(name: Token) -> str:
    known = ast.CAST_TYPES.get(name.lower())
    if known is not None:
        return known
    hint = _OTHER_TYPES.get(name.lower()) or did_you_mean(name, ast.CAST_TYPES)
    hint = hint or f"the types are {listed(dict.fromkeys(ast.CAST_TYPES.values()))}"
    raise Refused(f"unknown type '{name}'", token_span(name), hint)
