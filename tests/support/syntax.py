"""Arbitrary syntax, to test printing and parsing: any AST that a text can have, whether or not it has a meaning.

As in `strategies`, each function takes a `random.Random`, and the Hypothesis strategies at the end wrap them.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import strategies as st

from ensue.language import ast
from ensue.language.query_rules import partition_key
from ensue.language.syntax_errors import KEYWORDS, WORDS_IN_PLACE

_PLAIN = ("x", "T", "value_2", "_", "été", "名前", "s", "events", "count")
# Keywords in lower and upper case, letters whose upper case makes a keyword, and texts that no lexer takes for a name.
_ODD = (
    *sorted(KEYWORDS),
    *sorted(WORDS_IN_PLACE),
    "end",
    "select",
    "Max",
    "lıke",
    "ſelect",
    "two words",
    " ",
    "2nd",
    "a-b",
    "--",
    "/*",
    "a`b",
    "``",
    "'",
    "a.b",
    "x[",
    "line\nbreak",
    "²",
    "🙂",
)
_STRINGS = ("", "a", "it's", "''", "--", "/* */", "two\nlines", "`", "\\", "%_", "名前🙂")
_FLOATS = (0.0, 0.5, 1.0, 1e16, 1e-05, 1.7976931348623157e308, 5e-324, 0.1, 123456.789)
_INTEGERS = (0, 1, 7, 2**31, 2**63 - 1)
_AMOUNTS = ("0", "1", "5", "1.5", "0.001", "1E+3", "1E-7", "10.50", "98765.432109876543210987")
_FUNCTIONS = ("count", "max", "last", "prev", "sum", "abs", "first", "no_such_function")
_BINARY = ("=", "<>", "<", "<=", ">", ">=", "+", "-", "||", "*", "/", "%", "AND", "OR")


def _key(rng: Random) -> ast.PartitionKey:
    e = ast.Name(random_name(rng)) if _flag(rng) else random_expression(rng, 2, bare=True)
    return partition_key(e, random_name(rng) if _flag(rng) else None, ast.NOWHERE)


def _flag(rng: Random) -> bool:
    return rng.randrange(2) == 1


def random_name(rng: Random) -> str:
    return rng.choice(_ODD if rng.randrange(3) == 2 else _PLAIN)


def _names(rng: Random, least: int) -> tuple[str, ...]:
    return tuple(random_name(rng) for _ in range(rng.randrange(least, 4)))


# ---------------------------------------------------------------- expressions


def random_expression(rng: Random, depth: int = 4, *, bare: bool = False) -> ast.Expression:
    """Any expression, typed or not; with `bare`, one that stands inside x[...], where names are attributes."""

    def some() -> ast.Expression:
        return random_expression(rng, depth - 1, bare=bare)

    match rng.randrange(16) if depth else 0:
        case 0 | 1:
            return _value(rng, bare)
        case 2 | 3 | 4:
            return ast.Binary(rng.choice(_BINARY), some(), some())
        case 5:
            return ast.Unary(rng.choice(("-", "NOT")), some())
        case 6:
            name, inner = random_name(rng), random_expression(rng, depth - 1, bare=True)
            return ast.Element(ast.Name(name), inner) if bare else ast.Each(name, inner)
        case 11:
            return ast.Field(_read_from(some(), bare), random_name(rng))
        case 12:
            return ast.Element(_read_from(some(), bare), some())
        case 7:
            return ast.IsNull(some(), _flag(rng)) if _flag(rng) else ast.Like(some(), some(), _flag(rng), _flag(rng))
        case 8:
            return ast.InList(some(), tuple(some() for _ in range(rng.randrange(1, 4))), _flag(rng))
        case 9:
            return ast.Between(some(), some(), some(), _flag(rng))
        case 10:
            parts = tuple(some() for _ in range(2 * rng.randrange(1, 3)))
            return ast.Case(some() if _flag(rng) else None, parts, some() if _flag(rng) else None)
        case 13 if _flag(rng):
            return ast.AtTimeZone(some(), rng.choice(_STRINGS))
        case 13:
            return ast.Cast(some(), rng.choice(tuple(ast.CAST_TYPES.values())))
        case 14:
            return ast.Call(ast.COUNT_DISTINCT, (some(),))
    return ast.Call(rng.choice(_FUNCTIONS), tuple(some() for _ in range(rng.randrange(3))))


def _read_from(e: ast.Expression, bare: bool) -> ast.Expression:
    """What fields and elements can be read out of: outside of x[...], `a.b` is an attribute, and `a[b]` is x[...]."""
    return ast.Call("abs", (e,)) if isinstance(e, ast.Name) and not bare else e


def _value(rng: Random, bare: bool) -> ast.Expression:
    match rng.randrange(10):
        case 0:
            return ast.Name(random_name(rng))
        case 9:
            x, a = random_name(rng), random_name(rng)
            of: ast.Expression = ast.Field(ast.Name(x), a) if bare else ast.Attribute(x, a)
            return ast.Running(ast.Call(rng.choice(_FUNCTIONS), (of,)))
        case 8:
            return ast.LastOf(random_name(rng), random_name(rng))
        case 1:
            x, a = random_name(rng), random_name(rng)
            return ast.Field(ast.Name(x), a) if bare else ast.Attribute(x, a)
        case 2:
            return ast.Literal(rng.choice(_INTEGERS), ast.LiteralType.INTEGER)
        case 3:
            return ast.Literal(rng.choice(_FLOATS), ast.LiteralType.FLOAT)
        case 4:
            return ast.Literal(rng.choice(_STRINGS), ast.LiteralType.STRING)
        case 5:
            return ast.Literal(_flag(rng), ast.LiteralType.BOOLEAN)
        case 6:
            return ast.Literal(None, ast.LiteralType.NULL)
    duration = _duration(rng)
    whole = duration.nanoseconds().denominator == 1
    return ast.DurationLiteral(duration if whole else ast.Duration(Decimal(1), "ns"))


# ---------------------------------------------------------------- patterns


def _duration(rng: Random) -> ast.Duration:
    return ast.Duration(Decimal(rng.choice(_AMOUNTS)), rng.choice(tuple(ast.NANOSECONDS)))


def random_interval(rng: Random) -> ast.Interval:
    """Any interval, also one that is empty."""
    low, high = ast.Bound(_duration(rng), _flag(rng)), ast.Bound(_duration(rng), _flag(rng))
    return ast.Interval(*rng.choice(((None, high), (low, None), (low, high), (low, low))))


def random_syntax_pattern(rng: Random, depth: int = 4) -> ast.Pattern:
    """Any pattern, well-formed or not."""

    def some() -> ast.Pattern:
        return random_syntax_pattern(rng, depth - 1)

    gap = random_interval(rng) if _flag(rng) else None
    match rng.randrange(21) if depth else rng.randrange(3):
        case 0:
            return ast.Type(random_name(rng))
        case 1:
            return ast.Any()
        case 2:
            event = ast.Any() if _flag(rng) else ast.Type(random_name(rng))
            return ast.Satisfying(event, random_expression(rng, 2, bare=True))
        case 17:
            return ast.As(some(), random_name(rng))
        case 18:
            return ast.SpanOf(some(), random_name(rng))
        case 19:
            return ast.After(some(), some() if _flag(rng) else None)
        case 3:
            return ast.Filter(some(), random_expression(rng, 2))
        case 4 | 5:
            return ast.Sequence(some(), some(), rng.choice(tuple(ast.Link)), gap)
        case 6 | 7:
            low = rng.randrange(1, 12)
            high = low + rng.randrange(3) if _flag(rng) else None
            return ast.Iteration(some(), low, high, rng.choice(tuple(ast.Link)), gap)
        case 8:
            return ast.Optional(some())
        case 9:
            return ast.NotBetween(some(), some(), some(), gap)
        case 10:
            return ast.Or(some(), some())
        case 11:
            return ast.And(some(), some())
        case 12:
            return ast.All(some(), some())
        case 13:
            return ast.Unless(some(), some())
        case 14:
            return ast.Within(some(), random_interval(rng) if _flag(rng) else ast.EventCount(rng.randrange(1000)))
        case 15:
            return ast.NotAfter(some(), some(), ast.Interval(None, ast.Bound(_duration(rng), _flag(rng))))
        case 16:
            return ast.NotBefore(some(), ast.Interval(None, ast.Bound(_duration(rng), _flag(rng))), some())
    if _flag(rng):
        return ast.Project(_names(rng, 0), some())
    return ast.Select(rng.choice(tuple(ast.Selector)[1:]), some())


# ---------------------------------------------------------------- queries


def random_syntax_query(rng: Random) -> ast.Query:
    """Any query, well-formed or not."""
    items = tuple(
        ast.Item(random_expression(rng, 2), random_name(rng) if _flag(rng) else None) for _ in range(rng.randrange(4))
    )
    limited = _flag(rng)
    return ast.Query(
        items=items or None,
        streams=_names(rng, 1),
        pattern=random_syntax_pattern(rng, 3),
        selector=rng.choice(tuple(ast.Selector)),
        partition=tuple(_key(rng) for _ in range(rng.randrange(3))),
        consume=rng.choice(tuple(ast.Consume)),
        limit=rng.randrange(100) if limited else None,
        per=rng.choice(tuple(ast.Per)) if limited else ast.Per.RESULT,
        order=tuple(
            ast.SortKey(random_expression(rng, 2), _flag(rng), _flag(rng)) for _ in range(rng.choice((0, 0, 1, 2)))
        ),
    )


# ---------------------------------------------------------------- the same for Hypothesis

_generators: st.SearchStrategy[Any] = st.randoms(use_true_random=False)
expressions = _generators.map(random_expression)
intervals = _generators.map(random_interval)
syntax_patterns = _generators.map(random_syntax_pattern)
syntax_queries = _generators.map(random_syntax_query)
