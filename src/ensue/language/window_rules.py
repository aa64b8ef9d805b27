"""The tree of windows: the clause WINDOW, the operators SPAN and AFTER, and `T[g]`."""

from __future__ import annotations

from typing import Any as Anything

from lark import Token, Transformer_NonRecursive, v_args
from lark.tree import Meta

from ensue.errors import Span
from ensue.language import ast
from ensue.language.expression_rules import over_attributes
from ensue.language.rule_support import Refused, span_of, token_span


@v_args(inline=True, meta=True)
class WindowRules(Transformer_NonRecursive):  # type: ignore[type-arg]
    """One method for each rule of section 3 of the language page that is about windows."""

    def windows(self, meta: Meta, _w: Token, name: tuple[str, Span], _as: Token, defined: ast.Pattern) -> ast.Pattern:
        return ast.SpanOf(defined, name[0], span=span_of(meta))

    def pair(self, meta: Meta, *parts: Anything) -> ast.Pattern:
        if len(parts) == 1:
            return parts[0]  # type: ignore[no-any-return]  # a formula
        until = parts[-1] if parts[-2].type == "UNTIL" else None
        *after, _is, pattern = parts[:-2] if until is not None else parts
        window = ast.After(pattern, after[1][0], span=span_of(meta)) if after else pattern
        return window if until is None else ast.Until(window, *closing_and_end(until), span=span_of(meta))

    def past(self, _meta: Meta, *pattern: ast.Pattern) -> tuple[ast.Pattern | None]:
        return (pattern[0] if pattern else None,)

    def window_span(self, meta: Meta, _s: Token, body: ast.Pattern, _as: Token, name: tuple[str, Span]) -> ast.Pattern:
        return ast.SpanOf(body, name[0], span=span_of(meta))

    def after_(self, meta: Meta, body: ast.Pattern, _a: Token, *past: ast.Pattern) -> ast.Pattern:
        return ast.After(body, past[0] if past else None, span=span_of(meta))

    def satisfying(self, meta: Meta, event: Anything, condition: ast.Expression) -> ast.Pattern:
        span = token_span(event) if isinstance(event, Token) else event[1]
        body = ast.Any(span=span) if isinstance(event, Token) else ast.Type(event[0], span=span)
        return ast.Satisfying(body, over_attributes(condition), span=span_of(meta))


def closing_and_end(until: ast.Pattern) -> tuple[ast.Pattern | None, bool]:
    """What stands behind UNTIL: the pattern, which may be none, and whether END stands there, alone or beside OR.

    END is a word of the language only here. So it has been read as a type; in backticks it is one.
    """
    closing, or_end = _without_end(until)
    for end in () if closing is None else filter(_is_end, ast.find(closing, ast.Type)):
        hint = "an event type of this name is written in backticks: `END`"
        raise Refused("behind UNTIL, END stands alone or beside OR", end.span, hint)
    return closing, or_end


def _without_end(p: ast.Pattern) -> tuple[ast.Pattern | None, bool]:
    if isinstance(p, ast.Type) and _is_end(p):
        return None, True
    if not isinstance(p, ast.Or):
        return p, False
    (left, in_left), (right, in_right) = _without_end(p.left), _without_end(p.right)
    if left is None or right is None:
        return left or right, True
    return ast.Or(left, right, span=p.span), in_left or in_right


def _is_end(p: ast.Type) -> bool:
    return p.name.upper() == "END" and len(p.name) == p.span.end - p.span.start
