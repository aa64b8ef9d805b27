"""Writes conditions as clauses whose parts each concern one variable: the unary fragment (Grez, section 5.2)."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from ensue.language import ast
from ensue.logic.classify import conjuncts_of
from ensue.logic.scope import (
    aggregates_of,
    always_marked,
    bindings,
    chosen_variables,
    last_of_names,
    running_of,
    variables_of,
)

#: Conjunctive normal form can be exponentially long; no query that a person writes comes near this limit.
MAX_CLAUSES = 200


@dataclass(frozen=True)
class Part:
    """Says that every event of the variable satisfies the condition, over bare names; with `exists`, that some does."""

    variable: str
    condition: ast.Expression
    exists: bool = False


Clause = frozenset[Part]
_FALSE = ast.Literal(False, ast.LiteralType.BOOLEAN)


class NotUnary(Exception):
    """Raised for a condition that relates several events, or that concerns no event of the filter's own pattern."""

    def __init__(self, part: ast.Expression, what: str) -> None:
        self.part = part
        self.what = what
        super().__init__(what)


def clauses_of_condition(c: ast.Expression) -> list[Clause]:
    """The clauses of a condition by itself: each of its variables may mark nothing, and then a clause holds."""
    used = variables_of(c)
    clauses = [_merged(raw) for raw in _conjunctive(c, used, negated=False)]
    return [clause | {Part(x, _FALSE) for x in used - {part.variable for part in clause}} for clause in clauses]


def clauses_of(p: ast.Filter) -> list[Clause]:
    """The clauses of the filter's condition, all of which must hold.

    >>> from ensue.language.parser import parse_pattern
    >>> f = parse_pattern("A AS x ; B AS y FILTER x.v > 1 AND (x.w = 2 OR y.w = 3)")
    >>> [sorted(part.variable for part in clause) for clause in clauses_of(f)]
    [['x'], ['x', 'y']]
    """
    return [clause for conjunct in conjuncts_of(p.condition) for clause in _of_conjunct(conjunct, p.body)]


def _of_conjunct(conjunct: ast.Expression, body: ast.Pattern) -> list[Clause]:
    clauses = [_merged(c) for c in _conjunctive(conjunct, bindings(body), negated=False)]
    # If a variable marks nothing, the conjunct holds: the part "FALSE for each of its events" expresses this.
    may_be_empty = chosen_variables(conjunct) - always_marked(body)
    return [c | {Part(x, _FALSE) for x in may_be_empty - {part.variable for part in c}} for c in clauses]


_Raw = list[tuple[Part, bool]]  # the parts of a clause, each with True if it tests one chosen event, unlike x[g]


def _conjunctive(e: ast.Expression, own: Container[str], *, negated: bool) -> list[_Raw]:
    match e:
        case ast.Unary(operator="NOT"):
            return _conjunctive(e.operand, own, negated=not negated)
        case ast.Binary(operator="AND" | "OR") if _splits(e):
            left = _conjunctive(e.left, own, negated=negated)
            right = _conjunctive(e.right, own, negated=negated)
            if (e.operator == "AND") != negated:
                return left + right
            if len(left) * len(right) > MAX_CLAUSES:
                raise NotUnary(e, "a condition with too many clauses")
            return [a + b for a in left for b in right]
        case ast.Each():
            _known(e, e.variable, own)
            condition = ast.Unary("NOT", e.condition) if negated else e.condition
            return [[(Part(e.variable, condition, exists=negated), False)]]
    return [[(_part(e, own, negated), True)]]


def _splits(e: ast.Binary) -> bool:
    """Whether AND and OR must be taken apart: a condition on one chosen event stays one test."""
    return len(variables_of(e)) != 1 or any(ast.find(e, ast.Each))


def _part(e: ast.Expression, own: Container[str], negated: bool) -> Part:
    variables = variables_of(e)
    if aggregates_of(e):
        raise NotUnary(e, "an aggregate in a filter")
    if last_of_names(e):
        raise NotUnary(e, "LASTOF")
    if running_of(e):
        raise NotUnary(e, "RUNNING")
    if len(variables) != 1:
        what = "a condition that relates several events" if variables else "a condition that concerns no event"
        raise NotUnary(e, what)
    (x,) = variables
    _known(e, x, own)
    test = bare(e)
    return Part(x, ast.Unary("NOT", test) if negated else test)


def _known(e: ast.Expression, variable: str, own: Container[str]) -> None:
    if variable not in own:
        raise NotUnary(e, "a condition on an event outside the filter's own pattern")


def _merged(raw: _Raw) -> Clause:
    """Joins the parts about the same chosen event into one test of that event."""
    tests: dict[str, ast.Expression] = {}
    parts: set[Part] = set()
    for part, chosen in raw:
        if not chosen:
            parts.add(part)
        elif part.variable in tests:
            tests[part.variable] = ast.Binary("OR", tests[part.variable], part.condition)
        else:
            tests[part.variable] = part.condition
    return frozenset(parts | {Part(x, test) for x, test in tests.items()})


def bare(e: ast.Expression) -> ast.Expression:
    """The expression with `x.a` written as `a`, so that equal tests of different variables become one predicate."""
    return ast.replaced(e, lambda part: ast.Name(part.name) if isinstance(part, ast.Attribute | ast.LastOf) else None)
