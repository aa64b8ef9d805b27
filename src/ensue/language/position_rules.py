"""The tree of formulas over positions."""

from __future__ import annotations

from typing import Any as Anything

from lark import Token, Transformer_NonRecursive, v_args
from lark.tree import Meta

from ensue.errors import Span
from ensue.language import ast
from ensue.language.expression_rules import over_attributes
from ensue.language.position_logic import (
    Bound,
    Compared,
    Connected,
    EventIs,
    Formula,
    FromTo,
    IsIn,
    Negated,
    Place,
    Quantified,
)
from ensue.language.rule_support import span_of, token_span, whole_number

_Named = tuple[str, Span]


@v_args(inline=True, meta=True)
class PositionRules(Transformer_NonRecursive):  # type: ignore[type-arg]
    """One method for each rule of the formulas of section 3 of the language page."""

    def defined_span(
        self, meta: Meta, begin: _Named, _t: Token, end: _Named, _w: Token, formula: Formula
    ) -> ast.Pattern:
        return FromTo(begin[0], end[0], formula, span=span_of(meta))

    def formula_group(self, _meta: Meta, formula: Formula) -> Formula:
        return formula

    def connected(self, meta: Meta, left: Formula, operator: Token, right: Formula) -> Formula:
        return Connected(operator.upper(), left, right, span=span_of(meta))

    def negated(self, meta: Meta, _not: Token, body: Formula) -> Formula:
        return Negated(body, span=span_of(meta))

    def quantified(self, meta: Meta, word: Token, *parts: Anything) -> Formula:
        *over, body = parts
        return Quantified(word.upper() == "FORALL", tuple(over), body, span=span_of(meta))

    def bound_position(self, meta: Meta, name: _Named, *within: Anything) -> Bound:
        low, high = within[1:] if within else (None, None)
        return Bound(name[0], low=low, high=high, span=span_of(meta))

    def bound_set(self, meta: Meta, _set: Token, name: _Named) -> Bound:
        return Bound(name[0], is_set=True, span=span_of(meta))

    def place(self, meta: Meta, name: _Named, *moved: Token) -> Place:
        later = whole_number(moved[1]) if moved else 0
        return Place(name[0], -later if moved and moved[0] == "-" else later, span=span_of(meta))

    def places(self, meta: Meta, left: Place, operator: Token, right: Place) -> Formula:
        return Compared(left, {"!=": "<>"}.get(operator.value, operator.value), right, span=span_of(meta))

    def event_satisfies(self, meta: Meta, name: _Named, condition: ast.Expression) -> Formula:
        event = ast.Satisfying(ast.Any(span=name[1]), over_attributes(condition), span=span_of(meta))
        return EventIs(name[0], event, span=span_of(meta))

    def event_is(self, meta: Meta, name: _Named, _is: Token, event: ast.Pattern) -> Formula:
        return EventIs(name[0], event, span=span_of(meta))

    def some_event(self, meta: Meta, event: Anything, *condition: ast.Expression) -> ast.Pattern:
        span = token_span(event) if isinstance(event, Token) else event[1]
        body: ast.Pattern = ast.Any(span=span) if isinstance(event, Token) else ast.Type(event[0], span=span)
        return ast.Satisfying(body, over_attributes(condition[0]), span=span_of(meta)) if condition else body

    def is_in(self, meta: Meta, name: _Named, *rest: Anything) -> Formula:
        found = IsIn(name[0], rest[-1][0], span=span_of(meta))
        return Negated(found, span=span_of(meta)) if len(rest) == 3 else found
