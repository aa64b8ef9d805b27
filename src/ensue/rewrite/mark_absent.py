"""What must not occur, where later events decide about it: it is marked, and judged once the match is whole.

    A AS x ; NOT (B AS b FILTER b.v > z.v) ; C AS z

Whether a `B` ends a match is known at the `C` only. So every `B` between is marked with a variable of its own, which
stands for none or more of them, and the condition of a match is that no event of this set satisfies the filter. In an
iteration, that is a condition on each round.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import count

from ensue.language import ast
from ensue.logic.classify import conjunction, conjuncts_of, is_plain
from ensue.logic.scope import bindings, free, is_atom, nullable, variables_of
from ensue.rewrite.query_parts import Conditions, QueryParts

_NAME = "absent"


def mark_absent(parts: QueryParts) -> QueryParts:
    """The query with such events marked, unless something is decided before matches are judged, or among marks."""
    query = parts.query
    selects = query.selector is not ast.Selector.ALL or any(ast.find(parts.pattern, ast.Select))
    if selects or query.consume is not ast.Consume.NONE:
        return parts
    try:
        pattern, conditions = _Marking(parts.pattern).marked(parts.pattern, frozenset())
    except _Stays:
        return parts
    new = bindings(pattern).keys() - bindings(parts.pattern).keys()
    return parts if conditions or not new else replace(parts.with_pattern(pattern), marked=frozenset(new))


class _Stays(Exception):
    """An absence that is not of this form, or stands where its condition cannot be judged on the whole match."""


class _Marking:
    def __init__(self, pattern: ast.Pattern) -> None:
        used = {x for p in ast.find(pattern, ast.Pattern) for x in bindings(p)}
        self._names = (name for n in count() if (name := f"{_NAME}{n or ''}") not in used)

    def marked(self, p: ast.Pattern, before: frozenset[str]) -> tuple[ast.Pattern, Conditions]:
        """The pattern, and the conditions that do not have all their variables yet; `before` are bound by now."""
        conditions: Conditions = ()
        match p:
            case ast.Sequence() | ast.NotBetween():
                left, found = self.marked(p.left, before)
                known = before | bindings(p.left).keys()
                right, more = self.marked(p.right, known)
                made: ast.Pattern = replace(p, left=left, right=right)
                conditions = found + more
                if isinstance(made, ast.NotBetween) and not free(made.absent) <= known:
                    made, own = self._with_marks(made)
                    conditions += own
            case ast.Filter() | ast.Within():
                body, conditions = self.marked(p.body, before)
                made = replace(p, body=body)
            case ast.Iteration(absent=None):
                body, conditions = self.marked(p.body, before)
                inside = bindings(p.body).keys()
                if any(variables_of(c) & inside for c in conditions):
                    raise _Stays  # they speak of one round, and of what comes behind all rounds
                made = replace(p, body=body)
            case _:
                parts = [part for part in ast.children(p) if isinstance(part, ast.Pattern)]
                if any(self.marked(part, before)[0] != part for part in parts):
                    raise _Stays
                return p, ()
        here = [c for c in conditions if variables_of(c) <= bindings(made).keys()]
        for c in here:
            made = ast.Filter(made, c, span=c.span)
        return made, tuple(c for c in conditions if c not in here)

    def _with_marks(self, p: ast.NotBetween) -> tuple[ast.Pattern, Conditions]:
        event, asked = p.absent, list[ast.Expression]()
        while isinstance(event, ast.Filter):
            asked += conjuncts_of(event.condition)
            event = event.body
        own = bindings(event).keys()
        if p.gap is not None or not is_atom(event) or any(ast.find(event, ast.Filter)) or nullable(p.left):
            raise _Stays
        if nullable(p.right) or not all(map(is_plain, asked)):
            raise _Stays
        alone = [c for c in asked if variables_of(c) <= own]
        name = next(self._names)
        related = [_of(c, own, name) for c in asked if c not in alone]
        absent = ast.Filter(event, conjunction(alone), span=event.span) if alone else event
        marked = ast.Iteration(ast.Project((name,), ast.As(absent, name, span=p.span)), absent=absent, span=p.span)
        some = ast.NotBetween(ast.NotBetween(p.left, absent, marked), absent, p.right, span=p.span)
        none = replace(p, absent=absent)
        holds = conjunction(related)
        never = ast.Binary("OR", ast.IsNull(holds, negated=False), ast.Unary("NOT", holds), span=holds.span)
        return ast.Or(none, some, span=p.span), (never,)


def _of(c: ast.Expression, own: Collection[str], name: str) -> ast.Expression:
    """The condition with one variable in the place of those that stand for the same event."""

    def renamed(e: ast.Expression) -> ast.Expression | None:
        if isinstance(e, ast.Attribute) and e.variable in own:
            return replace(e, variable=name)
        return None

    return ast.replaced(c, renamed)
