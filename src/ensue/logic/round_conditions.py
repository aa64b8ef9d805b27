"""Conditions on one round of an iteration, where registers do not check them, as conditions on whole matches.

    (A AS x ; B AS y FILTER y.name LIKE x.name)+

Every round marks one `x` and one `y`, and a round begins after the one before has ended. So the first `y` of a match is
in one round with its first `x`, the second with the second, and so on, however the match is cut into rounds.
"""

from __future__ import annotations

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.language.printer import print_expression
from ensue.logic.formula import NoInstruction, formula_of
from ensue.logic.scope import (
    aggregated_in,
    aggregates_of,
    bindings,
    has_rounds,
    names_in,
    running_of,
    singles,
    variables_of,
)
from ensue.logic.stored_values import Register, stored_in
from ensue.logic.window import looks_back

#: The aggregates that registers add up.
_ADDED_UP = ("count", "sum", "min", "max", "first", "last", "avg")
_NUMBER = ast.Literal(0.0, ast.LiteralType.FLOAT)


def speaks_of_rounds(c: ast.Expression) -> bool:
    """Whether it speaks of other rounds, and of whole sets or earlier events in no other way."""
    if aggregates_of(c) or looks_back(c) or any(ast.find(c, ast.Each)):
        return False
    return bool(running_of(c)) or any(ast.find(c, ast.LastOf))


def each_round(c: ast.Expression, p: ast.Iteration) -> ast.EachRound | None:
    """The condition, which every round of `p` has to satisfy, outside of `p`; None where marks do not tell the rounds.

    >>> from ensue.language.parser import parse_expression, parse_pattern
    >>> iteration = parse_pattern("(A AS x ; B AS y)+")
    >>> each_round(parse_expression("y.name LIKE x.name"), iteration).variables
    ('x', 'y')
    """
    if not has_rounds(p):
        return None
    told = {e.variable for e in ast.find(c, ast.LastOf)}.union(*(aggregated_in(r.aggregate) for r in running_of(c)))
    last = {e.variable for e in ast.find(c, ast.LastOf)}
    own = (names_in(c) | told) & bindings(p.body).keys()
    sets = own - singles(p.body)
    if sets and not speaks_of_rounds(c):
        return _of_set(c, own - sets, sets, p.body)
    if sets or not last <= own:
        return None
    if any(len(aggregated_in(r.aggregate) & own) != 1 for r in running_of(c)):
        return None  # rounds of another iteration
    return ast.EachRound(c, tuple(sorted(own)), span=c.span)


def _of_set(c: ast.Expression, own: frozenset[str], sets: frozenset[str], body: ast.Pattern) -> ast.EachRound | None:
    """The condition on a set of each round, whose events come before another event of it."""
    behind = next((y for y in sorted(singles(body)) if all(_is_before(body, x, y) for x in sets)), None)
    if len(sets) > 1 or behind is None:
        return None
    return ast.EachRound(c, tuple(sorted({*own, behind})), min(sets), behind, span=c.span)


def _is_before(p: ast.Pattern, x: str, y: str) -> bool:
    """Whether every event of `x` comes before the event of `y`."""
    if x not in bindings(p):
        return True
    match p:
        case ast.Sequence() | ast.NotBetween():
            if x not in bindings(p.right):
                return y in bindings(p.right) or _is_before(p.left, x, y)
            return x not in bindings(p.left) and y not in bindings(p.left) and _is_before(p.right, x, y)
        case ast.Or():
            return _is_before(p.left, x, y) and _is_before(p.right, x, y)
        case ast.Filter() | ast.Within() | ast.Unless():
            return _is_before(p.body, x, y)
    return False


def may_leave(c: ast.EachRound, p: ast.Pattern) -> bool:
    """Whether it means the same outside of `p` as in its body."""
    match p:
        case ast.SpanOf():
            return False
        case ast.As():
            return p.variable not in names_in(c)
        case ast.Iteration():  # rounds of rounds come one after the other, too
            others = names_in(c) - {*c.variables, c.set_}
            return not speaks_of_rounds(c.condition) and others.isdisjoint(bindings(p.body))
    return True


def has_instructions(c: ast.Expression, schema: Schema | None) -> bool:
    """Whether the kernels could compute it from what registers hold.

    >>> from ensue.language.parser import parse_expression
    >>> texts = ("y.v > LASTOF(y).v + 1", "y.s LIKE LASTOF(y).s", "RUNNING sum(y.v) < 3", "RUNNING median(y.v) < 3")
    >>> [has_instructions(parse_expression(text), None) for text in texts]
    [True, False, True, False]
    """
    stored: dict[Register, ast.Expression] = {}

    def in_register(e: ast.Expression) -> ast.Expression | None:
        if not isinstance(e, ast.Running) and (len(variables_of(e)) != 1 or running_of(e)):
            return None
        name = print_expression(e)
        stored[name] = _added_up(e) if isinstance(e, ast.Running) else ast.replaced(e, _bare)
        return stored_in(name)

    try:
        formula_of(ast.replaced(c, in_register), stored, schema)
    except NoInstruction:
        return False
    return True


def _added_up(r: ast.Running) -> ast.Expression:
    """A value of the kind that the aggregate has."""
    a = r.aggregate
    if a.own is not None or a.function not in _ADDED_UP:
        raise NoInstruction(r, a.shown)
    return _NUMBER if a.function in ("count", "avg") else ast.replaced(a.arguments[0], _bare)


def _bare(e: ast.Expression) -> ast.Expression | None:
    return ast.Name(e.name) if isinstance(e, ast.Attribute | ast.LastOf) else None
