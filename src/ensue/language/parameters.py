"""Parameters: `$name` in a text stands for a literal, which takes its place before the text is parsed.

So a parameter can stand wherever its value could be written: the grammar does not know of it, and nothing behind the
parser does. Errors show the text as the user wrote it, with the caret under `$name`.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AnySet
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Protocol

from lark import Token
from lark.lexer import TerminalDef
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ensue.errors import Problem, ProblemKind, QueryError, Span, did_you_mean
from ensue.language.ast import NANOSECONDS

#: What may hold a dollar sign that begins no parameter; and parameters, which have a name.
_PLACES = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|`(?:[^`]|``)*`|\$(?P<name>[^\W\d]\w*)", re.DOTALL)
_MICROSECOND = datetime.timedelta(microseconds=1)

#: The kind of a token with its text.
Word = tuple[str, str]
#: A list where no list can stand: no rule of the grammar takes such a token.
_MISPLACED: Word = ("$LIST", "a list")


class Parser(Protocol):
    """What reading a text, and explaining its errors, takes of the parser library."""

    def lex(self, text: str) -> Iterator[Token]: ...

    def parse_interactive(self, text: str | None = None, start: str | None = None) -> InteractiveParser: ...

    def get_terminal(self, name: str) -> TerminalDef: ...


class WithParameters:
    """A parser for a text whose parameters have these values."""

    def __init__(self, parser: Parser, values: Mapping[str, Any]) -> None:
        self._parser = parser
        self._values = values
        self.parse_interactive = parser.parse_interactive
        self.get_terminal = parser.get_terminal

    def lex(self, text: str) -> Iterator[Token]:
        """The tokens of a text, where those of its value stand in the place of each parameter."""
        in_list: list[bool] = []  # for each open parenthesis, whether it is that of an IN
        before = ""
        for token in self._lexed(text):
            if token.type == "LPAR":
                in_list.append(before == "IN")
            elif token.type == "RPAR" and in_list:
                in_list.pop()
            if token.type != _PARAMETER:
                yield token
            else:
                for kind, written in self._words(token.value, before == "IN", bool(in_list) and in_list[-1]):
                    yield Token(kind, written, token.start_pos, end_pos=token.end_pos)
            before = token.type

    def written(self, name: str) -> str:
        """The value of a parameter as a text has it."""
        words = self._words(name, False, False)
        return " ".join(text for _, text in words).replace("( ", "(").replace(" )", ")").replace("- ", "-")

    def _lexed(self, text: str) -> Iterator[Token]:
        """The tokens, with one for each parameter."""
        done = 0
        for place in _parameters_of(text):
            yield from self._lexed_from(text[: place.start()], done)
            yield Token(_PARAMETER, place["name"], place.start(), end_pos=place.end())
            done = place.end()
        yield from self._lexed_from(text, done)

    def _lexed_from(self, text: str, start: int) -> Iterator[Token]:
        # Blanks instead of what has been read keep the places, and begin no token.
        return self._parser.lex(" " * start + text[start:]) if start < len(text) else iter(())

    def _words(self, name: str, behind_in: bool, in_list: bool) -> list[Word]:
        value = self._values[name]
        if not _is_list(value):
            words = words_of(value)
        elif behind_in or in_list:
            words = [word for v in _ordered(value) for word in [("COMMA", ","), *words_of(v)]][1:]
        else:
            words = [_MISPLACED]
        return [("LPAR", "("), *words, ("RPAR", ")")] if behind_in else words


_PARAMETER = "$PARAMETER"


class _Unwritable(Exception):
    """Raised for a value that no literal has."""


def check_parameters(text: str, values: Mapping[str, Any]) -> bool:
    """Whether a text has parameters. Raises one QueryError for all that have no value, or one that no literal has.

    >>> check_parameters("x.v > $least", {"last": 3})
    Traceback (most recent call last):
    ensue.errors.QueryError: error: the parameter $least has no value
      line 1, column 7
        x.v > $least
              ^^^^^^
      hint: did you mean 'last'?
    """
    places = list(_parameters_of(text)) if "$" in text else []
    problems = []
    for place in places:
        name, span = place["name"], Span(*place.span())
        if name not in values:
            hint = did_you_mean(name, values) or f"hand it over: params={{'{name}': 3}}"
            problems.append(Problem(ProblemKind.NAME, f"the parameter ${name} has no value", span, hint))
        else:
            problems += _problems_of_value(name, values[name], span)
    if problems:
        raise QueryError(text, problems)
    unused = [f"${name}" for name in values if name not in {place["name"] for place in places}]
    if unused:
        raise TypeError(f"params: the query has no {', '.join(unused)}")
    return bool(places)


def _problems_of_value(name: str, value: Any, span: Span) -> Iterator[Problem]:
    listed = _ordered(value) if _is_list(value) else [value]
    if not listed:
        message = f"the list ${name} is empty, and IN takes a value at least"
        yield Problem(ProblemKind.TYPE, message, span, "leave the condition out: nothing is in an empty list")
    for v in listed:
        try:
            words_of(v)
        except _Unwritable as e:
            yield Problem(ProblemKind.TYPE, f"the parameter ${name} {e}", span)
            return


def _parameters_of(text: str) -> Iterator[re.Match[str]]:
    return (place for place in _PLACES.finditer(text) if place["name"])


# ---------------------------------------------------------------- values as tokens


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | AnySet) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1)


def _ordered(value: Any) -> list[Any]:
    """The values of a list; those of a set in an order that is the same in every process."""
    if isinstance(value, AnySet):
        return sorted(value, key=lambda v: (type(v).__name__, repr(v)))
    return list(value.tolist() if hasattr(value, "tolist") else value)


def words_of(value: Any) -> list[Word]:
    """The tokens of the literal that has this value."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("M", "m"):
        raise _Unwritable(f"is a {type(value).__name__} of NumPy: it can be a datetime or a timedelta of Python")
    if kind and not isinstance(value, str):
        value = value.item()
    match value:
        case None:
            return [("NULL", "NULL")]
        case bool():
            return [(str(value).upper(), str(value).upper())]
        case str():
            return [("STRING", _quoted(value))]
        case datetime.date() | datetime.timedelta() if value != value:
            raise _Unwritable("is no time: for a missing value, give None")
        case datetime.datetime():
            return _timestamp(value.isoformat(" "))
        case datetime.date():
            return _timestamp(value.isoformat())
        case datetime.timedelta():
            return _duration(value)
        case Integral():
            return _signed(value < 0, [("INTEGER", str(abs(int(value))))])
        case Decimal() if value.is_finite():
            return _signed(value < 0, [("DECIMAL", _with_point(f"{abs(value):f}"))])
        case Real() if math.isfinite(value):
            return _signed(value < 0, [("DECIMAL", _with_point(repr(abs(float(value)))))])
        case Real() | Decimal():
            of_float = [("NAME", "float"), ("RPAR", ")")]
            return [("CAST", "CAST"), ("LPAR", "("), ("STRING", _quoted(str(value))), ("AS", "AS"), *of_float]
    raise _Unwritable(
        f"is of type {type(value).__name__}: it can be a number, a text, a truth value, a time, or a list"
    )


def _with_point(digits: str) -> str:
    return digits if re.search(r"[.e]", digits) else f"{digits}.0"


def _signed(negative: bool, words: list[Word]) -> list[Word]:
    return [("LPAR", "("), ("MINUS", "-"), *words, ("RPAR", ")")] if negative else words


def _timestamp(text: str) -> list[Word]:
    return [("NAME", "timestamp"), ("LPAR", "("), ("STRING", _quoted(text)), ("RPAR", ")")]


def _duration(value: datetime.timedelta) -> list[Word]:
    """The length in the largest unit of which it is a whole number."""
    nanoseconds = value // _MICROSECOND * 1000 + getattr(value, "nanoseconds", 0)  # pandas has these besides
    unit = next(u for u, n in sorted(NANOSECONDS.items(), key=lambda of: -of[1]) if nanoseconds % n == 0)
    unit = unit if nanoseconds else "s"
    amount = abs(nanoseconds) // NANOSECONDS[unit]
    return _signed(nanoseconds < 0, [("INTEGER", str(amount)), ("NAME", unit)])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
