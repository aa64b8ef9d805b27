"""Finds the conditions that compare one event with another: registers can check these.

    y.price > x.price * 1.05        one side uses only y, the other only x

Such a comparison is checked as soon as its second event arrives; only one value of the first event must be stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from ensue.data.schema import Kind, Schema
from ensue.language import ast
from ensue.logic.classify import conjuncts_of, is_plain
from ensue.logic.local_conditions import local_conditions
from ensue.logic.scope import (
    aggregates_of,
    bindings,
    last_of,
    last_of_names,
    running_of,
    singles,
    variables_of,
)
from ensue.logic.types import Typing
from ensue.logic.window import looks_back

#: Each operator, with the operator that means the same when the sides are exchanged.
MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Comparison:
    """`left operator right`, where each side uses exactly one variable and the two variables differ."""

    condition: ast.Expression
    left: ast.Expression
    operator: str
    right: ast.Expression

    @property
    def variables(self) -> tuple[str, str]:
        (x,), (y,) = variables_of(self.left), variables_of(self.right)
        return x, y

    def mirrored(self) -> Comparison:
        return Comparison(self.condition, self.right, MIRRORED[self.operator], self.left)


def comparison(e: ast.Expression, schema: Schema | None = None) -> Comparison | None:
    """The condition as a comparison that registers can check, or None."""
    if not (isinstance(e, ast.Binary) and e.operator in MIRRORED):
        return None
    sides = variables_of(e.left), variables_of(e.right)
    if any(len(variables) != 1 for variables in sides) or sides[0] == sides[1] or not is_plain(e):
        return None
    typing = Typing(schema)
    if not all(fits_a_register(side, typing, e.operator) for side in (e.left, e.right)):
        return None
    return Comparison(e, e.left, e.operator, e.right)


def fits_a_register(e: ast.Expression, typing: Typing, operator: str) -> bool:
    """Whether a register can hold the expression's value for a comparison; if the type is unknown, the answer is yes.

    A register holds a number. It cannot keep the order of strings, and not every unsigned 64-bit integer or long
    decimal fits into it.
    """
    type_ = typing.infer(e)
    if type_ is None:
        return True
    if type_.kind is Kind.STRING:
        return operator == "="
    return not type_.kind.nested and not pa.types.is_uint64(type_.arrow) and not typing.has_long_decimals(e)


def chains(body: ast.Pattern) -> tuple[ast.Pattern, list[Comparison], list[ast.Expression]]:
    """Takes the conditions that relate a round to the previous one out of an iteration's body.

    Returns the body without them, the comparisons, and the other such conditions. The left side of each comparison
    uses the previous round. Only conditions around the whole body are taken out: others may apply to a part of it.

    >>> from ensue.language.parser import parse_pattern
    >>> from ensue.language.printer import print_pattern
    >>> iteration = parse_pattern("(A AS y FILTER y.v > LASTOF(y).v AND y.w = 1)+")
    >>> body, found, _ = chains(iteration.body)
    >>> print_pattern(body), [(c.operator, c.variables[1]) for c in found]
    ('A AS y FILTER y.w = 1', [('<', 'y')])
    """
    if isinstance(body, ast.Within):
        inner, found, formulas = chains(body.body)
        return replace(body, body=inner), found, formulas
    if not isinstance(body, ast.Filter):
        return body, [], []
    inner, found, formulas = chains(body.body)
    kept = []
    for c in conjuncts_of(body.condition):
        chain = _chain(c, singles(body.body))
        if chain is not None:
            found.append(chain)
        elif _chains(c, body.body):
            formulas.append(c)
        else:
            kept.append(c)
    made = with_conjuncts(replace(body, body=inner), kept)
    return made or inner, found, formulas


def _chains(e: ast.Expression, body: ast.Pattern) -> bool:
    """Whether, of the iteration's events, the condition uses only `y` and `LASTOF(y)` for one single variable `y`."""
    if aggregates_of(e) or running_of(e) or looks_back(e) or any(ast.find(e, ast.Each)):
        return False
    return any(
        last_of_names(e) == {last_of(y)} and (variables_of(e) - {y, last_of(y)}).isdisjoint(bindings(body))
        for y in singles(body)
    )


def _chain(e: ast.Expression, singles: frozenset[str]) -> Comparison | None:
    if not (isinstance(e, ast.Binary) and e.operator in MIRRORED) or aggregates_of(e) or running_of(e) or looks_back(e):
        return None
    made = Comparison(e, e.left, e.operator, e.right)
    for c in (made, made.mirrored()):
        if any(variables_of(c.right) == {y} and variables_of(c.left) == {last_of(y)} for y in singles):
            return c
    return None


def split(p: ast.Filter) -> tuple[list[Comparison], list[ast.Expression], ast.Filter | None]:
    """Splits a filter: comparisons between events of its own pattern, other relations of events, and the rest."""
    conjuncts = conjuncts_of(p.condition)
    own = bindings(p.body).keys()
    found = {c: made for c in conjuncts if variables_of(c) <= own and (made := comparison(c)) is not None}
    related = [c for c in conjuncts if is_plain(c) and (len(variables_of(c)) > 1 or variables_of(c) - own)]
    local = local_conditions(p)
    formulas = [c for c in related if c not in found and not (variables_of(c) <= own and c in local)]
    rest = with_conjuncts(p, [c for c in conjuncts if c not in found and c not in formulas])
    return list(found.values()), formulas, rest


def with_conjuncts(p: ast.Filter, conjuncts: list[ast.Expression]) -> ast.Filter | None:
    """The filter with these conjuncts as its condition; None if there are none."""
    if not conjuncts:
        return None
    condition = conjuncts[0]
    for c in conjuncts[1:]:
        condition = ast.Binary("AND", condition, c, span=p.condition.span)
    return ast.Filter(p.body, condition, span=p.span)
