"""Parses query text into an AST. No object or error of the parser library leaves the package `language`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any as Anything

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken, VisitError
from lark.tree import Meta

from ensue.errors import Problem, ProblemKind, QueryError, Span
from ensue.language import ast
from ensue.language.expression_rules import ExpressionRules
from ensue.language.parameters import Parser, WithParameters, check_parameters
from ensue.language.pattern_rules import PatternRules
from ensue.language.position_rules import PositionRules
from ensue.language.query_rules import QueryRules
from ensue.language.rule_support import Refused
from ensue.language.syntax_errors import KEYWORDS, WORDS_IN_PLACE
from ensue.language.syntax_recovery import syntax_problems
from ensue.language.window_rules import WindowRules

#: The maximum nesting of a query: far above what a person writes, far below what would overflow Python's stack.
MAX_DEPTH = 200
_HERE = Path(__file__).parent
_OPENING = frozenset(("LPAR", "LSQB", "LBRACE"))
_CLOSING = frozenset(("RPAR", "RSQB", "RBRACE"))


def parse_query(text: str | bytes, params: Mapping[str, Anything] | None = None) -> ast.Query:
    """The AST of a whole query; `params` are the values of what it writes as `$name`.

    >>> parse_query("SELECT * FROM S WHERE A AS x ; B").pattern
    Sequence(left=As(body=Type(name='A'), variable='x'), right=Type(name='B'), link=<Link.THEN: ';'>, gap=None)
    """
    node = _parse(text, "query_text", params)
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


def _parse(text: str | bytes, start: str, params: Mapping[str, Anything] | None = None) -> ast.Node:
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
    parser: Parser = _lark(start)
    with_parameters = check_parameters(text, params or {})
    if with_parameters:
        parser = WithParameters(parser, params or {})
    try:
        _check_nesting(parser, text)
        tree = _tree_of(parser, text, start) if with_parameters else _lark(start).parse(text, start=start)
    except (UnexpectedToken, UnexpectedCharacters):
        raise QueryError(text, syntax_problems(parser, text, start, lambda tree: _made(tree)[1])) from None
    node, refused = _made(tree)
    if refused:
        raise QueryError(text, refused)
    assert isinstance(node, ast.Node)
    _check_depth(text, node)
    return node


def _tree_of(parser: Parser, text: str, start: str) -> Tree[Token]:
    """The tree of the tokens that the parser makes of the text."""
    reading = parser.parse_interactive(start=start)
    last = Token("$END", "")
    for last in parser.lex(text):
        reading.feed_token(last)
    tree: Tree[Token] = reading.feed_token(Token.new_borrow_pos("$END", "", last))
    return tree


def _made(tree: Tree[Token]) -> tuple[Anything, list[Problem]]:
    """The AST of a tree, and what the grammar accepts in it and the language does not."""
    transformer = _ToAst()
    try:
        return transformer.transform(tree), transformer.refused
    except VisitError as e:
        raise e.orig_exc from None


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


def _check_nesting(parser: Parser, text: str) -> None:
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


#: Stands for the AST of what is refused, and of all around it.
_NO_AST = object()


class _ToAst(QueryRules, WindowRules, PositionRules, PatternRules, ExpressionRules):
    """Builds the AST, with one method for each grammar rule; it does not recurse, so deep trees are harmless."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[Problem] = []

    def _call_userfunc(self, tree: Tree[Token], new_children: list[Anything] | None = None) -> Anything:
        """What is refused is noted, and so is the tree around it; the other parts are looked at as well."""
        if new_children is not None and any(c is _NO_AST for c in new_children):
            return _NO_AST
        try:
            return super()._call_userfunc(tree, new_children)  # type: ignore[no-untyped-call]
        except VisitError as e:
            if not isinstance(e.orig_exc, Refused):
                raise
            self.refused.append(e.orig_exc.problem)
            return _NO_AST

    def __default__(self, data: str, children: list[Anything], meta: Meta) -> Tree[Token]:
        raise AssertionError(f"the grammar's rule {data} has no AST")
