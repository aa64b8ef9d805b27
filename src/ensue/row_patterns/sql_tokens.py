"""The words of SQL text, each with its place, and a reader that goes through them.

SQL has too many keywords to reserve them all: `match`, `first`, `row` and `time` are columns of somebody. So there are
only words here, and the readers know from the place which ones mean something (decision 0021).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from ensue.errors import Problem, ProblemKind, QueryError, Span

T = TypeVar("T")

_TOKEN = re.compile(
    r"""(?P<space>\s+|--(?!\})[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
    |(?P<string>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")+"|`(?:[^`]|``)+`)
    |(?P<decimal>\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    |(?P<integer>\d+)
    |(?P<name>[^\W\d][\w$]*)
    |(?P<mark>\{-|-\}|<=|>=|<>|!=|\|\||::|[-+*/%=<>(),.;?|{}^$\[\]])""",
    re.VERBOSE,
)
_UNCLOSED = {"'": "the string has no closing quote", '"': 'the name has no closing "', "`": "the name has no closing `"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a mark or a literal. `text` is as it is written, and `word` in capitals if it is an unquoted name."""

    kind: str
    text: str
    span: Span
    word: str

    @property
    def value(self) -> str:
        """A string or a quoted name without its quotes; anything else as it is written."""
        if self.kind in ("string", "quoted"):
            quote = self.text[0]
            return self.text[1:-1].replace(quote * 2, quote)
        return self.text

    @property
    def is_name(self) -> bool:
        return self.kind in ("name", "quoted")


def tokens_of(text: str) -> list[Token]:
    """The tokens, and one at the end that stands for the end."""
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            character = text[at]
            message = f"'{character}' begins nothing that SQL has"
            problem = Problem(ProblemKind.SYNTAX, message, Span(at, at + 1), _UNCLOSED.get(character))
            raise QueryError(text, [problem])
        at = match.end()
        kind = str(match.lastgroup)
        if kind != "space":
            word = match.group() if kind == "mark" else match.group().upper() if kind == "name" else ""
            found.append(Token(kind, match.group(), Span(match.start(), at), word))
    end = len(text.rstrip())
    return [*found, Token("end", "", Span(end, end), "")]


class TokenReader:
    """Goes through the tokens of a text; what it does not expect is a QueryError with the place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens_of(text)
        self._at = 0

    @property
    def here(self) -> Token:
        return self._tokens[self._at]

    def ahead(self, steps: int = 1) -> Token:
        return self._tokens[min(self._at + steps, len(self._tokens) - 1)]

    def step(self) -> Token:
        token = self.here
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def sees(self, *words: str) -> bool:
        """Whether these words, or marks, come next."""
        return all(self.ahead(i).word == w for i, w in enumerate(words))

    def sees_one_of(self, words: Iterable[str]) -> bool:
        return self.here.word in words

    def took(self, *words: str) -> bool:
        """Takes these words if they come next."""
        if not self.sees(*words):
            return False
        self._at += len(words)
        return True

    def take(self, *words: str, hint: str | None = None) -> Token:
        """Takes these words, which must come next."""
        token = self.here
        for word in words:
            token = self.here
            if not self.took(word):
                self.unexpected(f"'{word}'" if not word[0].isalpha() else word, hint)
        return token

    def name(self, what: str = "a name") -> Token:
        if not self.here.is_name:
            self.unexpected(what)
        return self.step()

    def split(self, token: Token, length: int) -> Token:
        """The first characters of the word that was just taken; each of the others comes next as a mark."""
        begin, text = token.span.start, token.text
        head = Token(token.kind, text[:length], Span(begin, begin + length), token.word[:length])
        places = range(begin + length, token.span.end)
        marks = [Token("mark", m, Span(at, at + 1), m) for at, m in zip(places, text[length:], strict=True)]
        self._tokens[self._at - 1 : self._at] = [head, *marks]
        return head

    def span_from(self, start: Token) -> Span:
        """The place from a token to the last one that was taken."""
        return Span(start.span.start, max(start.span.end, self._tokens[self._at - 1].span.end))

    def several(self, read: Callable[[], T]) -> tuple[T, ...]:
        """What is read, one or more times, with commas between."""
        found = [read()]
        while self.took(","):
            found.append(read())
        return tuple(found)

    def unexpected(self, wanted: str, hint: str | None = None) -> NoReturn:
        token = self.here
        shown = token.text if len(token.text) <= 40 else token.text[:37] + "..."
        message = f"'{shown}' cannot stand here: expected {wanted}"
        if token.kind == "end":
            message = f"the text ends too early: expected {wanted}"
        self.refuse(message, token.span, hint)

    def refuse(
        self, message: str, span: Span, hint: str | None = None, kind: ProblemKind = ProblemKind.SYNTAX
    ) -> NoReturn:
        raise QueryError(self.text, [Problem(kind, message, span, hint)])


def variable_of(token: Token) -> str:
    """The name of a variable or of a table: in capitals, unless it is quoted."""
    return token.value if token.kind == "quoted" else token.word
