"""All syntax errors of a query that do not depend on each other: after the first, each later part is read on its own.

Parts are the clauses, the items of SELECT, the steps of a pattern, and the conditions that AND joins. A part behind the
first error is read as if everything before it were right, so an error in it is one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from ensue.errors import Problem
from ensue.language.parameters import Parser
from ensue.language.syntax_errors import explain_character, explain_token

#: At most so many problems are told.
MOST = 10
_BAD = "$BAD"  # the type of a token that is none

#: A query up to the clause, and up to a later part of it.
_BEFORE_CLAUSE = {"SELECT": "", "FROM": "SELECT *", "WHERE": "SELECT * FROM s"}
_BEFORE_PART = {
    "SELECT": "SELECT x",
    "WHERE": "SELECT * FROM s WHERE t",
    "FILTER": "SELECT * FROM s WHERE t FILTER TRUE",
}
_BEHIND_PATTERN = "SELECT * FROM s WHERE t"
_SEPARATORS = {"SELECT": (",",), "WHERE": (";", ":", "->"), "FILTER": ("AND",)}


class _Part(NamedTuple):
    """Some tokens of a query, with the text that makes them a query of their own if it stands before them."""

    before: str
    first: int
    after: int


class _Wrong(Exception):
    """Raised for a token that cannot stand where it stands; `place` is its number."""

    def __init__(self, problem: Problem, place: int) -> None:
        self.problem = problem
        self.place = place
        super().__init__(problem)


def syntax_problems(
    parser: Parser, text: str, start: str, refusals: Callable[[Tree[Token]], list[Problem]]
) -> list[Problem]:
    """The problems of a text that cannot be parsed; `refusals` says what is wrong with a tree that can."""
    tokens = _tokens(parser, text)
    try:
        _fed(parser, text, start, "", tokens, 0, len(tokens))
    except _Wrong as e:
        found = [e.problem]
        place = e.place
    else:
        return []
    if start != "query_text":
        return found
    parts = list(_parts(tokens))
    if tokens and tokens[0].type == "AGGREGATE":
        parts = [
            p._replace(before=p.before.replace("SELECT *", "AGGREGATE x").replace("SELECT x", "AGGREGATE x"))
            for p in parts
        ]
    if place < parts[0].after and tokens[0].type not in ("SELECT", "AGGREGATE"):
        return found  # no query at all
    for part in parts:
        if part.first < place:
            continue  # read already
        if len(found) >= MOST:
            break
        try:
            tree = _fed(parser, text, start, part.before, tokens, part.first, part.after)
        except _Wrong as e:
            found.append(e.problem)
        else:
            found += [] if tree is None else refusals(tree)
    different = {p.span: p for p in reversed(found)}
    return sorted(different.values(), key=lambda p: p.span.start)[:MOST]


def clause_at(parser: Parser, text: str, start: int) -> str:
    """The clause in which this place of the text is, by its first keyword; none before SELECT."""
    clause = ""
    around: list[str] = []
    before = ""
    for token in _tokens(parser, text[:start]):
        word, before = before, token.type
        match token.type:
            case "BY" if word in ("ORDER", "GROUP"):
                clause = word
            case "AGGREGATE" if not clause and not word:
                clause = "SELECT"
            case "LPAR" | "LSQB":
                around.append(clause)
                clause = "WITHIN" if token.type == "LSQB" and clause == "WHERE" else clause
            case "RPAR" | "RSQB" if around:
                clause = around.pop()
            case "SEMICOLON" if clause == "WITHIN":
                clause = "WHERE"  # that was the time of an absence
            case "FROM" if around:
                pass  # extract(hour FROM t)
            case "SELECT" | "FROM" | "WHERE" | "FILTER" | "WITHIN" | "PARTITION" | "CONSUME" | "LIMIT":
                clause = token.type
    return clause


def _tokens(parser: Parser, text: str) -> list[Token]:
    """The tokens of the text. What is none is a token of its own."""
    found: list[Token] = []
    start = bad = 0
    while True:
        try:
            for token in parser.lex(text[start:]):
                assert token.start_pos is not None and token.end_pos is not None  # noqa: PT018
                token.start_pos += start
                token.end_pos += start
                found.append(token)
            return found
        except UnexpectedCharacters as e:
            at = start + (e.pos_in_stream or 0)
            # The tokens before it have been read already.
            found = [t for t in found if (t.start_pos or 0) < at]
            bad += 1
            start = _end_of_bad(text, at) if bad < MOST else len(text)
            found.append(Token(_BAD, text[at:start], at, end_pos=start))


def _end_of_bad(text: str, at: int) -> int:
    """Where what begins with a character that begins no token is over."""
    character = text[at]
    if character in "'`":
        return len(text)  # it is not closed
    closing = text.find('"', at + 1) if character == '"' else -1
    if closing >= 0:
        return closing + 1
    while at < len(text) and text[at] == character:
        at += 1
    return at


def _parts(tokens: Sequence[Token]) -> Iterator[_Part]:
    """The query in parts that can be read on their own."""
    clause, before, first = "", "", 0
    depth = 0
    absent = between = False  # whether a WITHIN belongs to NOT, an AND to BETWEEN
    for k, token in enumerate(tokens):
        new = _clause_from(tokens, k) if depth == 0 and not (absent and token.type == "WITHIN") else None
        if new == "WHERE" and clause not in ("", "SELECT", "FROM"):
            new = "FILTER"  # a second one: a condition is meant
        separates = depth == 0 and not between and token.upper() in _SEPARATORS.get(clause, ())
        if new is not None or separates:
            if k > first:
                yield _Part(before, first, k)
            clause = clause if new is None else new
            before = _BEFORE_PART[clause] if new is None else _BEFORE_CLAUSE.get(clause, _BEHIND_PATTERN)
            first = k
        depth = max(0, depth + _opened(token))
        absent = token.type == "NOT" or (absent and not (depth == 0 and token.type in ("WITHIN", "SEMICOLON")))
        between = token.type == "BETWEEN" or (between and token.type != "AND")
    yield _Part(before, first, len(tokens))


def _clause_from(tokens: Sequence[Token], k: int) -> str | None:
    """The clause that begins with the token of this number."""
    kind = tokens[k].type
    if k and tokens[k - 1].type in ("DOT", "COLON", "FROM", "AS"):
        return None  # a name is meant
    if kind in ("SELECT", "FROM", "WHERE", "FILTER", "WITHIN", "LIMIT"):
        return kind
    if kind == "AGGREGATE" and k == 0:
        return "SELECT"
    following = tokens[k + 1].type if k + 1 < len(tokens) else ""
    begins = (kind in ("PARTITION", "CONSUME", "ORDER", "GROUP") and following == "BY") or (
        kind == "EXPECT" and following == "LPAR"
    )
    return kind if begins else None


def _opened(token: Token) -> int:
    if token.type == "CASE" or token[-1:] in ("(", "[", "{"):
        return 1  # also :{ and ->{
    return -1 if token.type == "END" or token in (")", "]", "}") else 0


def _fed(
    parser: Parser, text: str, start: str, before: str, tokens: Sequence[Token], first: int, after: int
) -> Tree[Token] | None:
    """Reads some of the tokens behind a text; the next token must be able to follow. The tree, if they end a query."""
    state = parser.parse_interactive(None, start=start)
    for token in parser.lex(before):
        state.feed_token(token)
    for k in range(first, after):
        _feed(parser, text, state, tokens[k], k)
    end = Token.new_borrow_pos("$END", "", tokens[-1]) if tokens else Token("$END", "")
    if after == len(tokens):
        return _feed(parser, text, state, end, after)
    _feed(parser, text, state.copy(), tokens[after], after)  # type: ignore[no-untyped-call]
    try:
        tree: Tree[Token] | None = state.feed_token(end)
    except UnexpectedToken:
        return None
    return tree


def _feed(parser: Parser, text: str, state: InteractiveParser, token: Token, place: int) -> Tree[Token] | None:
    at = len(text) if token.type == "$END" else (token.start_pos or 0)
    if token.type == _BAD:
        raise _Wrong(explain_character(text, at, clause_at(parser, text, at)), place)
    try:
        found: Tree[Token] | None = state.feed_token(token)
    except UnexpectedToken as e:
        e.interactive_parser = state
        raise _Wrong(explain_token(parser, text, e, clause_at(parser, text, at)), place) from None
    return found
