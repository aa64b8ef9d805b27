"""The tree of windows: the clause WINDOW, the operators SPAN and AFTER, and `T[g]`."""

from __future__ import annotations

from typing import Any as Anything

from lark import Token, Transformer_NonRecursive, v_args
from lark.tree import Meta

from ensue.errors import Span
from ensue.language import ast
from ensue.language.expression_rules import over_attributes
from ensue.language.rule_support import span_of, token_span


@v_args(inline=True, meta=True)
class WindowRules(Transformer_NonRecursive):  # type: ignore[type-arg]
    """One method for each rule of section 3 of the language page that is about windows."""

    def windows(self, meta: Meta, _w: Token, name: tuple[str, Span], _as: Token, defined: ast.Pattern) -> ast.Pattern:
        return ast.SpanOf(defined, name[0], span=span_of(meta))

    def pair(self, meta: Meta, *parts: Anything) -> ast.Pattern:
        if len(parts) == 1:
            return parts[0]  # type: ignore[no-any-return]  # a formula
        *after, _is, pattern = parts
        return ast.After(pattern, after[1][0], span=span_of(meta)) if after else pattern

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
