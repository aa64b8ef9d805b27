"""Parses query text into an AST. No object or error of the parser library leaves the package `language`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from decimal import Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any as Anything

from lark import Lark, Token, Transformer_NonRecursive, Tree, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError
from lark.tree import Meta

from ensue.errors import Problem, ProblemKind, QueryError, Span, did_you_mean, listed
from ensue.language import ast
from ensue.language.syntax_errors import KEYWORDS, WORDS_IN_PLACE, explain_character, explain_token

#: The maximum nesting of a query: far above what a person writes, far below what would overflow Python's stack.
MAX_DEPTH = 200
_HERE = Path(__file__).parent
_OPENING = frozenset(("LPAR", "LSQB", "LBRACE"))
_CLOSING = frozenset(("RPAR", "RSQB", "RBRACE"))


def parse_query(text: str | bytes) -> ast.Query:
    """The AST of a whole query.

    >>> parse_query("SELECT * FROM S WHERE A AS x ; B").pattern
    Sequence(left=As(body=Type(name='A'), variable='x'), right=Type(name='B'), link=<Link.THEN: ';'>, gap=None)
    """
    node = _parse(text, "query_text")
    assert isinstance(node, ast.Query)
    return node


def parse_pattern(text: str | bytes) -> ast.Pattern:
    """The AST of a lone pattern."""
    node = _parse(text, "pattern_text")
    assert isinstance(node, ast.Pattern)
    return node


def parse_expression(text: str | bytes) -> ast.Expression:
    """The AST of a lone expression, as in a filter."""
    node = _parse(text, "expression_text")
    assert isinstance(node, ast.Expression)
    return node


def parse_interval(text: str | bytes) -> ast.Interval:
    """The AST of a lone time interval with its brackets, such as `[<= 5 s]`."""
    node = _parse(text, "interval_text")
    assert isinstance(node, ast.Interval)
    return node


def decode(text: str | bytes) -> str:
    """The text as a string, without a byte order mark; bytes must be UTF-8."""
    if isinstance(text, bytes):
        try:
            return text.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as e:
            shown = text.decode("utf-8", errors="replace")
            at = len(text[: e.start].decode("utf-8"))
            message = f"the text is not UTF-8: byte 0x{text[e.start]:02x} at offset {e.start}"
            raise QueryError(
                shown, [Problem(ProblemKind.SYNTAX, message, Span(at, at + 1), "save the file as UTF-8")]
            ) from None
    text = text.removeprefix("\ufeff")
    for at, character in enumerate(text):
        if "\ud800" <= character <= "\udfff":
            shown = text.encode("utf-8", errors="replace").decode("utf-8")
            message = f"the text is not valid Unicode: a lone surrogate U+{ord(character):04X}"
            raise QueryError(shown, [Problem(ProblemKind.SYNTAX, message, Span(at, at + 1))])
    return text


def _parse(text: str | bytes, start: str) -> ast.Node:
    text = decode(text)
    if not text.strip():
        what = start.removesuffix("_text")
        problem = Problem(
            ProblemKind.SYNTAX,
            f"the {what} is empty",
            Span(0, 0),
            "a query reads SELECT * FROM stream WHERE pattern" if start == "query_text" else None,
        )
        raise QueryError(text, [problem])
    parser = _lark(start)
    try:
        _check_nesting(parser, text)
        tree = parser.parse(text, start=start)
    except UnexpectedToken as e:
        raise QueryError(text, [explain_token(parser, text, e)]) from None
    except UnexpectedCharacters as e:
        raise QueryError(text, [explain_character(text, e)]) from None
    try:
        node = _ToAst().transform(tree)
    except VisitError as e:
        if isinstance(e.orig_exc, _Refused):
            raise QueryError(text, [e.orig_exc.problem]) from None
        raise e.orig_exc from None
    assert isinstance(node, ast.Node)
    _check_depth(text, node)
    return node


@cache
def _lark(start: str) -> Lark:
    """The parser for a start symbol, made when it is first needed: whole queries need only a third of all tables."""
    return Lark(
        (_HERE / "grammar.lark").read_text(encoding="utf-8"),
        cache=str(_kept_tables(start)),
        parser="lalr",
        lexer="basic",
        start=start,
        propagate_positions=True,
        maybe_placeholders=False,
        lexer_callbacks={"NAME": _keyword},
    )


def _kept_tables(start: str) -> Path:
    """The file that caches the parser's tables, beside the compiled Python files; making them takes 0.14 s."""
    folder = _HERE / "__pycache__"
    with suppress(OSError):  # if the folder cannot be written, Lark makes the tables each time, without an error
        folder.mkdir(exist_ok=True)
    return folder / f"grammar.{start}.lark"


def _keyword(token: Token) -> Token:
    """Turns a name token into a keyword token if it is a keyword; keywords are case-insensitive."""
    upper = token.upper()
    known = upper in KEYWORDS or upper in WORDS_IN_PLACE
    return Token.new_borrow_pos(upper, token.value, token) if known else token


def _too_deep(span: Span, hint: str | None = None) -> Problem:
    return Problem(ProblemKind.UNSUPPORTED, f"the query nests more than {MAX_DEPTH} deep here", span, hint)


def _check_nesting(parser: Lark, text: str) -> None:
    depth = 0
    for token in parser.lex(text):
        depth += (token.type in _OPENING) - (token.type in _CLOSING)
        if depth > MAX_DEPTH:
            at = token.start_pos or 0
            raise QueryError(text, [_too_deep(Span(at, at + 1))])


def _check_depth(text: str, root: ast.Node) -> None:
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.children(node)]
        if not level:
            return
    long_sequence = isinstance(level[0], ast.Sequence)
    hint = "iterations such as p{300} say in one step what a very long sequence spells out" if long_sequence else None
    raise QueryError(text, [_too_deep(level[0].span, hint)])


class _Refused(Exception):
    """Raised for a construct that the grammar accepts and the language does not."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        self.problem = Problem(ProblemKind.SYNTAX, message, span, hint)
        super().__init__(message)


def _span(meta: Meta) -> Span:
    return Span(meta.start_pos, meta.end_pos)


def _token_span(token: Token) -> Span:
    start = token.start_pos or 0
    return Span(start, start + len(token))


@v_args(inline=True, meta=True)
class _ToAst(Transformer_NonRecursive):  # type: ignore[type-arg]
    """Builds the AST, with one method for each grammar rule; it does not recurse, so deep trees are harmless."""

    # -- queries

    def query(self, meta: Meta, *parts: Anything) -> ast.Query:
        selector = ast.Selector.ALL
        _, *rest = parts
        if isinstance(rest[0], ast.Selector):
            selector, *rest = rest
        items, _from, streams, *rest = rest
        pattern, *clauses = rest[1:] if isinstance(rest[0], Token) else rest
        places = {"items": Span(parts[0].start_pos, _from.start_pos)}
        places |= {f"stream {i}": span for i, (_, span) in enumerate(streams)}
        places |= {name: span for name, span, _, _ in clauses}
        found: dict[str, Anything] = {}
        for name, span, value, suffixes in clauses:
            if name in found:
                raise _Refused(f"a second {name} clause", span, "a query has each clause once")
            found[name] = value
            for kind, suffix in suffixes:
                pattern = kind(pattern, suffix, span=pattern.span.join(suffix.span))
        return ast.Query(
            items=items,
            streams=tuple(name for name, _ in streams),
            pattern=pattern,
            selector=selector,
            partition=tuple(ast.PartitionKey(n, span=s) for n, s in found.get("PARTITION BY", ())),
            consume=found.get("CONSUME BY", ast.Consume.NONE),
            limit=found.get("LIMIT"),
            places=places,
            span=_span(meta),
        )

    def selector(self, _meta: Meta, keyword: Token) -> ast.Selector:
        return ast.Selector(keyword.upper())

    def star(self, _meta: Meta, _star: Token) -> None:
        return None

    def items(self, _meta: Meta, *items: ast.Item) -> tuple[ast.Item, ...]:
        return items

    def item(self, meta: Meta, expression: ast.Expression, *alias: Anything) -> ast.Item:
        return ast.Item(expression, alias[1][0] if alias else None, span=_span(meta))

    def names(self, _meta: Meta, *names: tuple[str, Span]) -> tuple[tuple[str, Span], ...]:
        return names

    def partition(self, meta: Meta, _p: Token, _by: Token, names: Anything) -> Anything:
        return "PARTITION BY", _span(meta), names, ()

    def consume(self, meta: Meta, _c: Token, _by: Token, policy: Token) -> Anything:
        policies = [p.value for p in ast.Consume]
        if policy.upper() not in policies:
            hint = did_you_mean(policy, policies) or f"one of {listed(policies)}"
            raise _Refused(f"unknown consumption policy '{policy}'", _token_span(policy), hint)
        return "CONSUME BY", _span(meta), ast.Consume(policy.upper()), ()

    def limit(self, meta: Meta, _l: Token, count: Token) -> Anything:
        return "LIMIT", _span(meta), _integer(count), ()

    def late_filter(self, _meta: Meta, clause: Anything, _f: Token, condition: ast.Expression) -> Anything:
        name, span, value, suffixes = clause
        return name, span, value, (*suffixes, (ast.Filter, condition))

    def late_within(self, _meta: Meta, clause: Anything, _w: Token, window: Anything) -> Anything:
        name, span, value, suffixes = clause
        return name, span, value, (*suffixes, (ast.Within, window))

    # -- windows

    def windows(self, meta: Meta, _w: Token, name: tuple[str, Span], _as: Token, defined: ast.Pattern) -> ast.Pattern:
        return ast.SpanOf(defined, name[0], span=_span(meta))

    def pair(self, meta: Meta, *parts: Anything) -> ast.Pattern:
        *after, _is, pattern = parts
        return ast.After(pattern, after[1][0], span=_span(meta)) if after else pattern

    def past(self, _meta: Meta, *pattern: ast.Pattern) -> tuple[ast.Pattern | None]:
        return (pattern[0] if pattern else None,)

    # -- patterns

    def filter(self, meta: Meta, body: ast.Pattern, _f: Token, condition: ast.Expression) -> ast.Pattern:
        return ast.Filter(body, condition, span=_span(meta))

    def within(self, meta: Meta, body: ast.Pattern, _w: Token, window: Anything) -> ast.Pattern:
        return ast.Within(body, window, span=_span(meta))

    def unless_(self, meta: Meta, body: ast.Pattern, _u: Token, absent: ast.Pattern) -> ast.Pattern:
        return ast.Unless(body, absent, span=_span(meta))

    def after_(self, meta: Meta, body: ast.Pattern, _a: Token, *past: ast.Pattern) -> ast.Pattern:
        return ast.After(body, past[0] if past else None, span=_span(meta))

    def or_(self, meta: Meta, left: ast.Pattern, _o: Token, right: ast.Pattern) -> ast.Pattern:
        return ast.Or(left, right, span=_span(meta))

    def and_(self, meta: Meta, left: ast.Pattern, _a: Token, right: ast.Pattern) -> ast.Pattern:
        return ast.And(left, right, span=_span(meta))

    def all_(self, meta: Meta, left: ast.Pattern, _a: Token, right: ast.Pattern) -> ast.Pattern:
        return ast.All(left, right, span=_span(meta))

    def then(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        return self._sequence(meta, left, ast.Link.THEN, rest)

    def directly(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        return self._sequence(meta, left, ast.Link.DIRECTLY, rest)

    def next_(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        return self._sequence(meta, left, ast.Link.NEXT, rest)

    def _sequence(self, meta: Meta, left: ast.Pattern, link: ast.Link, rest: Anything) -> ast.Pattern:
        *gap, right = rest
        return ast.Sequence(left, right, link, gap[0] if gap else None, span=_span(meta))

    def not_between(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        *between, right = rest
        absent = [part for part in between if isinstance(part, ast.Pattern)]
        gap = between[-1] if len(between) > len(absent) else None
        return ast.NotBetween(left, _neither(absent), right, gap, span=_span(meta))

    def not_before(self, meta: Meta, *parts: Anything) -> ast.Pattern:
        _not, absent, _within, deadline, body = parts
        _check_deadline(deadline)
        return ast.NotBefore(absent, deadline, body, span=_span(meta))

    def not_after(self, meta: Meta, left: ast.Pattern, *rest: Anything) -> ast.Pattern:
        *before, _not, last, _within, deadline = rest
        _check_deadline(deadline)
        return ast.NotAfter(left, _neither([*before, last]), deadline, span=_span(meta))

    def absent(self, _meta: Meta, _not: Token, pattern: ast.Pattern) -> ast.Pattern:
        return pattern

    def as_(self, meta: Meta, body: ast.Pattern, _as: Token, name: tuple[str, Span]) -> ast.Pattern:
        return ast.As(body, name[0], span=_span(meta))

    def optional(self, meta: Meta, body: ast.Pattern) -> ast.Pattern:
        return ast.Optional(body, span=_span(meta))

    def star_(self, meta: Meta, body: ast.Pattern, _star: Token, *gap: Anything) -> ast.Pattern:
        return ast.Optional(self.plus(meta, body, *gap), span=_span(meta))

    def star_directly(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Optional(self.plus_directly(meta, body, *gap), span=_span(meta))

    def plus(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Iteration(body, gap=gap[-1] if gap else None, span=_span(meta))

    def plus_directly(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Iteration(body, link=ast.Link.DIRECTLY, gap=gap[-1] if gap else None, span=_span(meta))

    def plus_next(self, meta: Meta, body: ast.Pattern, *gap: Anything) -> ast.Pattern:
        return ast.Iteration(body, link=ast.Link.NEXT, gap=gap[-1] if gap else None, span=_span(meta))

    def repeat(self, meta: Meta, body: ast.Pattern, times: Anything, *gap: Anything) -> ast.Pattern:
        return self._repeat(meta, body, times, gap, ast.Link.THEN)

    def repeat_directly(self, meta: Meta, body: ast.Pattern, times: Anything, *gap: Anything) -> ast.Pattern:
        return self._repeat(meta, body, times, gap, ast.Link.DIRECTLY)

    def repeat_next(self, meta: Meta, body: ast.Pattern, times: Anything, *gap: Anything) -> ast.Pattern:
        return self._repeat(meta, body, times, gap, ast.Link.NEXT)

    def _repeat(self, meta: Meta, body: ast.Pattern, times: Anything, gap: Anything, link: ast.Link) -> ast.Pattern:
        low, high, where = times
        if high is not None and (high < low or high == 0):
            message = "an iteration of no rounds" if high == 0 else f"an iteration of at least {low} and at most {high}"
            raise _Refused(f"{message} matches nothing", where)
        span = _span(meta)
        node = ast.Iteration(body, max(low, 1), high, link, gap[0] if gap else None, span=span)
        return node if low else ast.Optional(node, span=span)

    def exactly(self, meta: Meta, count: Token) -> Anything:
        return _integer(count), _integer(count), _span(meta)

    def at_least(self, meta: Meta, count: Token) -> Anything:
        return _integer(count), None, _span(meta)

    def from_to(self, meta: Meta, low: Token, high: Token) -> Anything:
        return _integer(low), _integer(high), _span(meta)

    def type(self, meta: Meta, name: tuple[str, Span]) -> ast.Pattern:
        return ast.Type(name[0], span=_span(meta))

    def any(self, meta: Meta, _any: Token) -> ast.Pattern:
        return ast.Any(span=_span(meta))

    def satisfying(self, meta: Meta, event: Anything, condition: ast.Expression) -> ast.Pattern:
        span = _token_span(event) if isinstance(event, Token) else event[1]
        body = ast.Any(span=span) if isinstance(event, Token) else ast.Type(event[0], span=span)
        return ast.Satisfying(body, _over_attributes(condition), span=_span(meta))

    def span_of(self, meta: Meta, _s: Token, body: ast.Pattern, _as: Token, name: tuple[str, Span]) -> ast.Pattern:
        return ast.SpanOf(body, name[0], span=_span(meta))

    def group(self, _meta: Meta, inner: ast.Node) -> ast.Node:
        return inner

    def select(self, meta: Meta, keyword: Token, body: ast.Pattern) -> ast.Pattern:
        return ast.Select(ast.Selector(keyword.upper()), body, span=_span(meta))

    def project(self, meta: Meta, _p: Token, names: Anything, body: ast.Pattern) -> ast.Pattern:
        return ast.Project(tuple(n for n, _ in names), body, span=_span(meta))

    def project_nothing(self, meta: Meta, _p: Token, body: ast.Pattern) -> ast.Pattern:
        return ast.Project((), body, span=_span(meta))

    # -- intervals

    def up_to(self, meta: Meta, *parts: Token) -> ast.Interval | ast.EventCount:
        span = _span(meta)
        number, unit = parts[:2]
        if len(parts) == 2 and unit.lower() in ("event", "events"):
            if number.type != "INTEGER":
                raise _Refused("a number of events is a whole number", _token_span(number))
            return ast.EventCount(_integer(number), span=span)
        return ast.Interval(None, ast.Bound(_duration(parts, span), True, span=span), span=span)

    def window_interval(self, _meta: Meta, interval: ast.Interval) -> ast.Interval:
        return interval

    def bounds(self, meta: Meta, *bounds: tuple[str, ast.Duration]) -> ast.Interval:
        low: ast.Bound | None = None
        high: ast.Bound | None = None
        for operator, duration in bounds:
            bound = ast.Bound(duration, operator in ("<=", ">=", "="), span=duration.span)
            if operator in (">", ">=", "="):
                if low is not None:
                    raise _Refused("a second lower bound in the interval", duration.span)
                low = bound
            if operator in ("<", "<=", "="):
                if high is not None:
                    raise _Refused("a second upper bound in the interval", duration.span)
                high = bound
        return ast.Interval(low, high, span=_span(meta))

    def closed(self, meta: Meta, low: ast.Duration, high: ast.Duration) -> ast.Interval:
        bounds = (ast.Bound(low, True, span=low.span), ast.Bound(high, True, span=high.span))
        return ast.Interval(*bounds, span=_span(meta))

    def bound(self, _meta: Meta, operator: Token, duration: ast.Duration) -> tuple[str, ast.Duration]:
        return operator.value, duration

    def duration(self, meta: Meta, *parts: Token) -> ast.Duration:
        return _duration(parts, _span(meta))

    def number(self, _meta: Meta, token: Token) -> Token:
        return token

    # -- expressions

    def binary(self, meta: Meta, left: Anything, operator: Token, right: Anything) -> ast.Expression:
        symbol = {"!=": "<>"}.get(operator.value, operator.upper())
        return ast.Binary(symbol, left, right, span=_span(meta))

    def unary(self, meta: Meta, operator: Token, operand: ast.Expression) -> ast.Expression:
        return ast.Unary(operator.upper(), operand, span=_span(meta))

    def plus_sign(self, _meta: Meta, _plus: Token, operand: ast.Expression) -> ast.Expression:
        return operand

    def is_null(self, meta: Meta, operand: ast.Expression, *keywords: Token) -> ast.Expression:
        return ast.IsNull(operand, len(keywords) == 3, span=_span(meta))

    def in_list(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        return ast.InList(operand, rest[-1], len(rest) == 3, span=_span(meta))

    def between(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        *keywords, low, _and, high = rest
        return ast.Between(operand, low, high, len(keywords) == 2, span=_span(meta))

    def like(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        return ast.Like(operand, rest[-1], len(rest) == 3, rest[-2].type == "ILIKE", span=_span(meta))

    def rlike(self, meta: Meta, operand: ast.Expression, *rest: Anything) -> ast.Expression:
        found = ast.Call("regexp_matches", (operand, rest[-1]), span=_span(meta))
        return ast.Unary("NOT", found, span=_span(meta)) if len(rest) == 3 else found

    def integer(self, meta: Meta, token: Token) -> ast.Expression:
        return ast.Literal(_integer(token), ast.LiteralType.INTEGER, span=_span(meta))

    def decimal(self, meta: Meta, token: Token) -> ast.Expression:
        value = float(token)
        if value == float("inf"):
            raise _Refused("the number does not fit a 64-bit float", _token_span(token))
        return ast.Literal(value, ast.LiteralType.FLOAT, span=_span(meta))

    def duration_literal(self, meta: Meta, duration: ast.Duration) -> ast.Expression:
        if duration.nanoseconds() >= 2**63:
            raise _Refused("the duration does not fit 64 bits of nanoseconds, about 292 years", duration.span)
        if duration.nanoseconds().denominator != 1:
            raise _Refused("a duration in an expression is a whole number of nanoseconds", duration.span)
        return ast.DurationLiteral(duration, span=_span(meta))

    def string(self, meta: Meta, token: Token) -> ast.Expression:
        return ast.Literal(token[1:-1].replace("''", "'"), ast.LiteralType.STRING, span=_span(meta))

    def true(self, meta: Meta, _t: Token) -> ast.Expression:
        return ast.Literal(True, ast.LiteralType.BOOLEAN, span=_span(meta))

    def false(self, meta: Meta, _f: Token) -> ast.Expression:
        return ast.Literal(False, ast.LiteralType.BOOLEAN, span=_span(meta))

    def null(self, meta: Meta, _n: Token) -> ast.Expression:
        return ast.Literal(None, ast.LiteralType.NULL, span=_span(meta))

    def bare_name(self, meta: Meta, name: tuple[str, Span]) -> ast.Expression:
        return ast.Name(name[0], span=_span(meta))

    def attribute(self, meta: Meta, *parts: Anything) -> Anything:
        # The rule `attribute` (a token after the dot) and the alternative of the same name share this method.
        if isinstance(parts[0], Token):
            return _unquote(parts[0])
        return ast.Attribute(parts[0][0], parts[1], span=_span(meta))

    def last_of(self, meta: Meta, _l: Token, name: tuple[str, Span], attribute: str) -> ast.Expression:
        return ast.LastOf(name[0], attribute, span=_span(meta))

    def each(self, meta: Meta, name: tuple[str, Span], condition: ast.Expression) -> ast.Expression:
        return ast.Each(name[0], _over_attributes(condition), span=_span(meta))

    def field(self, meta: Meta, of: ast.Expression, name: str) -> ast.Expression:
        return ast.Field(of, name, span=_span(meta))

    def element(self, meta: Meta, of: ast.Expression, index: ast.Expression) -> ast.Expression:
        return ast.Element(of, index, span=_span(meta))

    def call(self, meta: Meta, function: Token, *arguments: Anything) -> ast.Expression:
        given = arguments[0] if arguments else ()
        if function.lower() == "mod":
            if len(given) != 2:
                message = f"mod takes 2 arguments, not {len(given)}"
                raise _Refused(message, _span(meta), "mod(x.v, 3) is the same as x.v % 3")
            return ast.Binary("%", *given, span=_span(meta))
        return ast.Call(function.lower(), given, span=_span(meta))

    def case(self, meta: Meta, _case: Token, *parts: Anything) -> ast.Expression:
        operand = parts[0] if isinstance(parts[0], ast.Expression) else None
        branches = [p for p in parts if isinstance(p, tuple) and len(p) == 2]
        otherwise = next((p[0] for p in parts if isinstance(p, tuple) and len(p) == 1), None)
        return ast.Case(operand, tuple(e for branch in branches for e in branch), otherwise, span=_span(meta))

    def branch(
        self, _meta: Meta, _when: Token, condition: ast.Expression, _then: Token, result: ast.Expression
    ) -> tuple[ast.Expression, ...]:
        return condition, result

    def otherwise(self, _meta: Meta, _else: Token, result: ast.Expression) -> tuple[ast.Expression, ...]:
        return (result,)

    def cast(self, meta: Meta, _cast: Token, operand: ast.Expression, _as: Token, name: Token) -> ast.Expression:
        return ast.Cast(operand, _type_of_cast(name), span=_span(meta))

    def typed(self, meta: Meta, operand: ast.Expression, _as: Token, name: Token) -> ast.Expression:
        return ast.Cast(operand, _type_of_cast(name), span=_span(meta))

    def extract(self, meta: Meta, _e: Token, field: Token, _from: Token, time: ast.Expression) -> ast.Expression:
        function = _FIELDS.get(field.lower())
        if function is None:
            hint = did_you_mean(field, _FIELDS) or f"the fields are {listed(dict.fromkeys(_FIELDS.values()), 20)}"
            if field.lower() in ("dow", "dayofweek"):
                hint = "weekday counts from 1 for Monday to 7 for Sunday"
            raise _Refused(f"unknown field of a time '{field}'", _token_span(field), hint)
        return ast.Call(function, (time,), span=_span(meta))

    def at_time_zone(
        self, meta: Meta, time: ast.Expression, _at: Token, word: Token, other: Token, zone: Token
    ) -> ast.Expression:
        if (word.upper(), other.upper()) != ("TIME", "ZONE"):
            wrong = other if word.upper() == "TIME" else word
            raise _Refused(f"'{wrong}' cannot stand here", _token_span(wrong), "write t AT TIME ZONE 'Europe/Madrid'")
        return ast.AtTimeZone(time, zone[1:-1].replace("''", "'"), span=_span(meta))

    def expressions(self, _meta: Meta, *expressions: ast.Expression) -> tuple[ast.Expression, ...]:
        return expressions

    def name(self, _meta: Meta, token: Token) -> tuple[str, Span]:
        return _unquote(token), _token_span(token)

    def __default__(self, data: str, children: list[Anything], meta: Meta) -> Tree[Token]:
        raise AssertionError(f"the grammar's rule {data} has no AST")


def _over_attributes(e: ast.Expression) -> ast.Expression:
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


def _neither(absent: list[ast.Pattern]) -> ast.Pattern:
    """Combines `NOT q1 ; NOT q2`, which excludes both, into `NOT (q1 OR q2)`."""
    one, *more = absent
    for other in more:
        one = ast.Or(one, other, span=one.span.join(other.span))
    return one


def _check_deadline(window: ast.Interval | ast.EventCount) -> None:
    if not (isinstance(window, ast.Interval) and window.low is None and window.high is not None):
        hint = "write NOT q WITHIN 10 min, or WITHIN [< 10 min]"
        raise _Refused("the deadline of an absence is an upper bound in time", window.span, hint)


def _integer(token: Token) -> int:
    # The digits are counted first: Python refuses to convert thousands of them.
    digits = token.lstrip("0") or "0"
    if len(digits) > 19 or int(digits) >= 2**63:
        raise _Refused("the number does not fit 64 bits", _token_span(token))
    return int(digits)


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
    raise _Refused(f"unknown type '{name}'", _token_span(name), hint)


#: Each unit of time that a text may have, as so many of a unit that the AST has: a week is seven days.
_UNITS: dict[str, tuple[int, str]] = {
    **{name: (1, unit) for name, unit in ast.UNITS.items()},
    **dict.fromkeys(("w", "week", "weeks"), (7, "d")),
}
_NO_FIXED_LENGTH = ("mon", "month", "months", "y", "yr", "year", "years")
#: Enough digits for every sum of parts.
_EXACT = Context(prec=100)


def _duration(parts: Sequence[Token], span: Span) -> ast.Duration:
    """The length `1 h 30 min`, in the smallest of its units: 90 min."""
    total, unit = Decimal(0), ""
    before: Token | None = None
    for number, name in zip(parts[::2], parts[1::2], strict=True):
        count, unit = _unit(name)
        if before is not None and _nanoseconds(name) >= _nanoseconds(before):
            hint = f"{name} is not smaller than {before}: write 1 h 30 min"
            raise _Refused("the parts of a duration go from the largest unit to the smallest", _token_span(name), hint)
        if before is not None:
            total = _EXACT.multiply(total, Decimal(_nanoseconds(before) // _nanoseconds(name)))
        total = _EXACT.add(total, _amount(number))
        before = name
    amount = _EXACT.multiply(total, Decimal(count))
    if amount.adjusted() > 18:
        raise _Refused("a duration has at most 19 digits before the point", span)
    return ast.Duration(amount, unit, span=span)


def _unit(name: Token) -> tuple[int, str]:
    known = _UNITS.get(name.lower())
    if known is not None:
        return known
    hint = did_you_mean(name, _UNITS) or "units are ns, us, ms, s, min, h, d and w"
    if name.lower() in _NO_FIXED_LENGTH:
        hint = "months and years have no fixed length: write days, such as 30 d"
    elif any(c.isdigit() for c in name):
        hint = "write the parts of a duration apart: 1 h 30 min"
    raise _Refused(f"unknown unit of time '{name}'", _token_span(name), hint)


def _nanoseconds(name: Token) -> int:
    count, unit = _unit(name)
    return count * ast.NANOSECONDS[unit]


def _amount(number: Token) -> Decimal:
    # Durations are exact, so 1e999999999 s would be a number of a thousand million digits.
    _, _, exponent = number.value.lower().partition("e")
    amount = Decimal(number.value) if len(exponent) <= 4 else Decimal("Infinity")
    if not amount.is_finite() or amount.adjusted() > 18 or int(amount.as_tuple().exponent) < -18:
        message = "a duration has at most 19 digits before the point and 18 after it"
        raise _Refused(message, _token_span(number))
    return amount


def _unquote(token: Token) -> str:
    return token[1:-1].replace("``", "`") if token.type == "QUOTED" else token.value
