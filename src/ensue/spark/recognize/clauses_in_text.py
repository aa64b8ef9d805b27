"""Finds the clauses MATCH_RECOGNIZE in a text of Spark's SQL, of which nothing else is understood here.

Outside of a clause the words are Spark's: strings have backslashes, and double quotes make strings. Inside they are the
standard's, and the reader of `row_patterns` reads them. So this only pairs parentheses, and notes two things on the
way: where the table before a clause begins, and which queries WITH has named so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SPACE = r"(?P<space>\s+|--(?!\})[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)"
_REST = r"(?P<name>[^\W\d][\w$]*|`(?:[^`]|``)+`)|(?P<mark>.)"
_OF_SPARK = re.compile(rf"""{_SPACE}|(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|{_REST}""", re.DOTALL)
_OF_THE_CLAUSE = re.compile(rf"""{_SPACE}|(?P<string>'(?:[^']|'')*'|"(?:[^"]|"")+")|{_REST}""", re.DOTALL)
_CLAUSE = "MATCH_RECOGNIZE"


@dataclass(frozen=True)
class Word:
    """A name in capitals, a mark, or a string."""

    text: str
    kind: str
    begin: int
    end: int


@dataclass(frozen=True)
class ClauseInText:
    """The places of a clause and of the table before it, with its alias; and of the queries that the table may name."""

    table: tuple[int, int]
    clause: tuple[int, int]
    named: tuple[str, ...]  # the lists behind WITH, the outermost first


@dataclass
class _Level:
    """What is between two parentheses, as far as it is read."""

    table: int | None = None  # where the last table of FROM begins
    query_begins: bool = True
    defining: int | None = None  # where the query begins that WITH is naming
    names: int | None = None  # where the list behind WITH begins
    named_to: int = 0  # and where its last whole query ends


def words_of(text: str, begin: int = 0, *, of_clause: bool = False) -> Iterator[Word]:
    """The words from a place on, without spaces and comments."""
    pattern = _OF_THE_CLAUSE if of_clause else _OF_SPARK
    for match in pattern.finditer(text, begin):
        if match.lastgroup != "space":
            yield Word(match.group().upper(), str(match.lastgroup), match.start(), match.end())


def first_clause(text: str) -> ClauseInText | None:
    """The first clause of the text, or None.

    >>> text = "WITH x AS (SELECT 1) SELECT * FROM u JOIN (SELECT * FROM x) AS y MATCH_RECOGNIZE (PATTERN (A)) z"
    >>> found = first_clause(text)
    >>> text[slice(*found.table)], text[slice(*found.clause)], found.named
    ('(SELECT * FROM x) AS y', 'MATCH_RECOGNIZE (PATTERN (A))', ('x AS (SELECT 1)',))
    """
    levels = [_Level()]
    words = list(words_of(text))
    for i, word in enumerate(words):
        level = levels[-1]
        if word.text == "(":
            levels.append(_Level(word.end))
        elif word.text == ")":
            if len(levels) > 1:
                levels.pop()
            _closed(levels[-1], word, words[i + 1] if i + 1 < len(words) else None)
        elif word.kind == "name":
            follows = words[i + 1] if i + 1 < len(words) else None
            if word.text == _CLAUSE and follows is not None and follows.text == "(":
                named = tuple(text[w.names : w.named_to] for w in levels if w.names is not None and w.named_to)
                table = word.begin if level.table is None else level.table
                return ClauseInText(_trimmed(text, table, word.begin), (word.begin, _end(text, word)), named)
            if word.text == "WITH" and level.query_begins and follows is not None:
                level.names = level.defining = follows.begin
            elif word.text in ("FROM", "JOIN"):
                level.table = word.end
            elif word.text == "SELECT":
                level.table = None
            level.query_begins = False
        elif word.text == "," and level.table is not None:
            level.table = word.end
    return None


def _closed(level: _Level, word: Word, follows: Word | None) -> None:
    """Notes the end of a query that WITH names: a parenthesis with no AS behind it, which a list of columns has."""
    if level.defining is None or (follows is not None and follows.text == "AS"):
        return
    level.named_to = word.end
    if follows is None or follows.text != ",":
        level.defining = None


def _end(text: str, clause: Word) -> int:
    """The place behind the clause's closing parenthesis; the end of the text if there is none."""
    depth = 0
    for word in words_of(text, clause.end, of_clause=True):
        depth += (word.text == "(") - (word.text == ")")
        if not depth:
            return word.end
    return len(text)


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    part = text[begin:end]
    return end - len(part.lstrip()), begin + len(part.rstrip())


def name_of_table(text: str) -> str | None:
    """By which name the columns of a table in FROM may be called: its alias, or its own name.

    >>> [name_of_table(t) for t in ("a.ticks", "ticks AS t (x, y)", "(SELECT 1) s", "(VALUES (1))")]
    ['ticks', 't', 's', None]
    """
    words = list(words_of(text))
    if words and words[-1].text == ")":
        depth = 0
        while words:
            word = words.pop()
            depth += (word.text == ")") - (word.text == "(")
            if not depth:
                break
    if not words or words[-1].kind != "name":
        return None
    return text[words[-1].begin : words[-1].end].strip("`")
