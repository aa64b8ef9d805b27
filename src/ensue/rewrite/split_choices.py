"""`p FILTER f OR g` is `(p FILTER f) OR (p FILTER g AND not f)`, where the events of each are looked up.

    A AS x ; B AS y FILTER x.id = y.id OR x.ip = y.ip

For `f OR g` all open partial matches are asked; an equality, or a condition that keeps values near each other, finds
those that may pass in an order, which is another one for each of the two. No match is of both patterns.
"""

from __future__ import annotations

from functools import partial

from ensue.data.schema import Schema
from ensue.language import ast
from ensue.logic.classify import conjunction, conjuncts_of
from ensue.logic.comparisons import comparison, with_conjuncts
from ensue.logic.formula import formula_between
from ensue.logic.narrowing import looked_up
from ensue.logic.scope import singles, variables_of
from ensue.rewrite.bottom_up import bottom_up
from ensue.rewrite.query_parts import QueryParts

#: More alternatives, or a larger pattern, would make a large automaton of a short text.
_ALTERNATIVES, _NODES = 3, 30


def split_choices(parts: QueryParts) -> QueryParts:
    """The query with patterns in the place of such filters."""
    return parts.with_pattern(split(parts.pattern, parts.checked.schema))


def split(p: ast.Pattern, schema: Schema | None = None) -> ast.Pattern:
    """The pattern with patterns in the place of such filters.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_expression, print_pattern
    >>> either = split(parse_pattern("A AS x ; B AS y FILTER x.v = y.v OR x.w = y.w"))
    >>> print_pattern(either.left), print_pattern(either.right.body)
    ('A AS x ; B AS y FILTER x.v = y.v', 'A AS x ; B AS y')
    >>> print_expression(either.right.condition)
    'x.w = y.w AND ((x.v = y.v) IS NULL OR NOT x.v = y.v)'
    """
    return bottom_up(p, partial(_split, schema=schema))


def _split(p: ast.Pattern, schema: Schema | None) -> ast.Pattern:
    if not isinstance(p, ast.Filter) or sum(1 for _ in ast.walk(p.body)) > _NODES:
        return p
    conjuncts = conjuncts_of(p.condition)
    for c in conjuncts:
        alternatives = _alternatives(c)
        if 1 < len(alternatives) <= _ALTERNATIVES and _is_worth_it(c, alternatives, p.body, schema):
            rest = with_conjuncts(p, [other for other in conjuncts if other is not c])
            return _either(rest or p.body, alternatives)
    return p


def _alternatives(c: ast.Expression) -> list[ast.Expression]:
    if isinstance(c, ast.Binary) and c.operator == "OR":
        return [*_alternatives(c.left), *_alternatives(c.right)]
    if isinstance(c, ast.InList) and not c.negated:
        return [ast.Binary("=", c.operand, option, span=c.span) for option in c.options]
    return [c]


def _is_worth_it(
    c: ast.Expression, alternatives: list[ast.Expression], body: ast.Pattern, schema: Schema | None
) -> bool:
    """Whether the alternatives are looked up and the whole is not; the events of a set may choose each for itself."""
    used = variables_of(c)
    if len(used) != 2 or not used <= singles(body) or formula_between(c, schema) is None:
        return False
    return not _is_looked_up(c, schema) and all(
        variables_of(a) == used and _is_looked_up(a, schema) for a in alternatives
    )


def _is_looked_up(c: ast.Expression, schema: Schema | None) -> bool:
    found = comparison(c, schema)
    return (found is not None and found.operator == "=") or all(looked_up(c, schema).values())


def _either(p: ast.Pattern, alternatives: list[ast.Expression]) -> ast.Pattern:
    first, *others = alternatives
    made: ast.Pattern = ast.Filter(p, first, span=p.span)
    before = [_is_not_true(first)]
    for other in others:
        made = ast.Or(made, ast.Filter(p, conjunction([other, *before]), span=p.span), span=p.span)
        before.append(_is_not_true(other))
    return made


def _is_not_true(c: ast.Expression) -> ast.Expression:
    return ast.Binary("OR", ast.IsNull(c, negated=False), ast.Unary("NOT", c), span=c.span)
